"""Finding the format, and bad bytes for every reader."""

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import get_args

import pytest

from nearspan.cli.options import Format as FormatOption
from nearspan.document import Document
from nearspan.errors import CorpusError
from nearspan.formats import known_formats, read, source, write
from nearspan.formats.markup import parse, render

Put = Callable[..., Path]

# The same document in every format: a word of two bytes, then an entity.
SAMPLES = {
    "conll": "é\tO\nOslo\tB-LOC\n",
    "jsonl": '{"id": "1", "text": "é Oslo", "entities": [[2, 6, "LOC"]]}\n{"text": "x"}\n',
    "pubtator": "1|t|é Oslo\n1\t2\t6\tOslo\tLOC\n",
    "indexed": "é Oslo\n1,1 LOC\n\n",
    "conllu": "# text = é Oslo\n1\té\t_\t_\t_\t_\t_\t_\t_\t_\n2\tOslo\t_\t_\t_\t_\t_\t_\t_\tEntity=(1-LOC)\n",
    "csv": "id,text,start,end,label\n1,é Oslo,2,6,LOC\n",
    "tsv": "id\ttext\tstart\tend\tlabel\n1\té Oslo\t2\t6\tLOC\n",
    "bioc": """<collection><document><id>1</id><passage><offset>0</offset><text>é Oslo</text>
<annotation id="T1"><infon key="type">LOC</infon><location offset="2" length="4"/></annotation>
</passage></document></collection>""",
    "bioc-json": """[{"id": "1", "bioctype": "BioCDocument", "passages": [{"offset": 0, "text": "é Oslo",
"annotations": [{"infons": {"type": "LOC"}, "locations": [{"offset": 2, "length": 4}]}]}]}]""",
    "ner-tags": '{"id": "1", "tokens": ["é", "Oslo"], "ner_tags": ["O", "B-LOC"]}\n',
    "langextract": '{"extractions": [{"extraction_class": "LOC", "extraction_text": "Oslo", "char_interval": '
    '{"start_pos": 2, "end_pos": 6}}], "text": "é Oslo", "document_id": "1"}\n',
    "gliner": '{"tokenized_text": ["é", "Oslo"], "ner": [[1, 1, "LOC"]]}\n',
    "dygie": '{"doc_key": "1", "sentences": [["é", "Oslo"]], "ner": [[[1, 1, "LOC"]]]}\n',
    "prodigy": '{"text": "é Oslo", "spans": [{"start": 2, "end": 6, "label": "LOC"}], "answer": "accept"}\n',
    "doccano": '{"id": 1, "text": "é Oslo", "label": [[2, 6, "LOC"]], "Comments": []}\n',
    "spacy-json": '{"text": "é Oslo", "ents": [{"start": 2, "end": 6, "label": "LOC"}]}\n',
    "argilla": '{"fields": {"text": "é Oslo"}, "responses": {"span": [{"value": '
    '[{"label": "LOC", "start": 2, "end": 6}]}]}}\n',
    "label-studio": '{"data": {"text": "é Oslo"}, "annotations": [{"result": [{"type": "labels", "value": '
    '{"start": 2, "end": 6, "labels": ["LOC"]}}]}]}\n',
    "label-studio-min": '{"text": "é Oslo", "annotator": 1, "annotation_id": 1, "label": '
    '[{"start": 2, "end": 6, "labels": ["LOC"]}]}\n',
}
WHOLE = {"bioc", "bioc-json", "csv", "tsv"}  # what is none of these has no line that could be read


def test_every_single_file_format_has_a_sample():
    assert set(SAMPLES) == {name for name, part in known_formats().items() if not (part.folder or part.binary)}


@pytest.mark.parametrize("name", SAMPLES)
def test_the_format_is_found_from_the_content(put: Put, name: str):
    corpus = read(put("data.txt", SAMPLES[name]))
    assert corpus.format == name
    assert render(corpus.documents[0]) == "é [Oslo](LOC)"
    assert corpus.problems == ()


@pytest.mark.parametrize("name", SAMPLES)
def test_a_byte_order_mark_is_no_text(put: Put, name: str):
    corpus = read(put("data", b"\xef\xbb\xbf" + SAMPLES[name].encode()))
    assert (corpus.format, render(corpus.documents[0])) == (name, "é [Oslo](LOC)")


@pytest.mark.parametrize("name", ["conll", "pubtator", "indexed"])
def test_a_byte_order_mark_before_another_line_is_listed(put: Put, name: str):
    mark = "\ufeff"
    corpus = read(put("data", mark + SAMPLES[name] + mark + SAMPLES[name]), name)
    line = SAMPLES[name].count("\n") + 1
    assert [(problem.kind, problem.line) for problem in corpus.problems][:1] == [("byte order mark", line)]


@pytest.mark.parametrize("name", SAMPLES)
def test_a_file_may_be_compressed(put: Put, name: str):
    corpus = read(put("data.gz", gzip.compress(SAMPLES[name].encode())))
    assert (corpus.format, render(corpus.documents[0]), corpus.problems) == (name, "é [Oslo](LOC)", ())
    assert [document.id for document in corpus] == [document.id for document in read(put("data", SAMPLES[name]))]


@pytest.mark.parametrize("ending", [".jsonl", ".json", ".conll", ".pubtator"])
def test_a_file_whose_name_ends_in_gz_is_written_compressed(tmp_path: Path, ending: str):
    path, documents = tmp_path / f"out{ending}.gz", [parse("é [Oslo](LOC)")] * 2
    write(documents, path)
    write(documents, tmp_path / f"out{ending}")
    assert gzip.decompress(path.read_bytes()) == (tmp_path / f"out{ending}").read_bytes()


def test_a_damaged_compressed_file_is_an_error(put: Put):
    with pytest.raises(CorpusError, match="damaged gzip file"):
        read(put("data.gz", gzip.compress(b"Oslo\tB-LOC\n")[:-9]))


def test_a_file_that_unpacks_beyond_measure_is_refused(put: Put, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(source, "_MOST_UNPACKED", 1000)
    monkeypatch.setattr(source, "_MOST_RATIO", 2)
    with pytest.raises(CorpusError, match=r"unpacks to more than 1,000 bytes from \d+, as no text does"):
        read(put("data.gz", gzip.compress(b"Oslo\tB-LOC\n" * 1000)))


@pytest.mark.parametrize("name", SAMPLES)
def test_crlf_ends_lines(put: Put, name: str):
    corpus = read(put("data", SAMPLES[name].replace("\n", "\r\n")))
    assert (corpus.format, render(corpus.documents[0]), corpus.problems) == (name, "é [Oslo](LOC)", ())


@pytest.mark.parametrize("name", ["conll", "pubtator", "indexed"])
def test_more_carriage_returns_are_listed_and_left_out(put: Put, name: str):
    corpus = read(put("data", SAMPLES[name].replace("\n", "\r\r\n")))
    assert (corpus.format, render(corpus.documents[0])) == (name, "é [Oslo](LOC)")
    assert {problem.kind for problem in corpus.problems} == {"malformed"}


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize("bad", [b"\xe9", b"\xff", b"\xc3"])
def test_broken_utf8_is_listed_and_offsets_stay(put: Put, name: str, bad: bytes):
    corpus = read(put("data", SAMPLES[name].encode().replace("é".encode(), bad)))
    assert render(corpus.documents[0]) == "\ufffd [Oslo](LOC)"
    line = SAMPLES[name].partition("é")[0].count("\n") + 1
    assert {(problem.kind, problem.line) for problem in corpus.problems[:1]} == {("broken UTF-8", line)}
    assert {problem.kind for problem in corpus.problems} == {"broken UTF-8"}


@pytest.mark.parametrize("name", SAMPLES)
def test_a_surrogate_in_the_bytes_is_broken_utf8(put: Put, name: str):
    corpus = read(put("data", SAMPLES[name].encode().replace("é".encode(), b"\xed\xa0\x80")))
    assert "broken UTF-8" in [problem.kind for problem in corpus.problems]


@pytest.mark.parametrize("name", ["conll", "pubtator", "indexed"])
def test_a_nul_byte_is_listed_and_kept(put: Put, name: str):
    corpus = read(put("data", SAMPLES[name].replace("é", "\0")))
    assert render(corpus.documents[0]) == "\0 [Oslo](LOC)"
    assert [(problem.kind, problem.line) for problem in corpus.problems] == [("NUL byte", 1)]


def test_a_nul_byte_in_json_is_listed(put: Put):
    corpus = read(put("data", SAMPLES["jsonl"].replace("é", "\0")))
    assert [problem.kind for problem in corpus.problems] == ["NUL byte", "malformed"]


@pytest.mark.parametrize("name", [None, *SAMPLES])
@pytest.mark.parametrize("content", ["", "\n \n", b"\xef\xbb\xbf"])
def test_an_empty_file_is_an_error(put: Put, name: str | None, content: str):
    with pytest.raises(CorpusError, match="is empty"):
        read(put("data", content), name)


@pytest.mark.parametrize("name", [None, *known_formats()])
def test_a_missing_file_is_an_error(tmp_path: Path, name: str | None):
    with pytest.raises(CorpusError, match="does not exist"):
        read(tmp_path / "nothing", name)


@pytest.mark.parametrize("name", SAMPLES)
def test_a_folder_is_no_file(tmp_path: Path, name: str):
    with pytest.raises(CorpusError, match="is a folder"):
        read(tmp_path, name)


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize("other", SAMPLES)
def test_another_format_ends_in_problems_or_documents(put: Put, name: str, other: str):
    try:
        corpus = read(put("data", SAMPLES[other]), name)
    except CorpusError:
        assert name in WHOLE
    else:
        assert corpus.problems or corpus.documents


@pytest.mark.parametrize("name", sorted(SAMPLES.keys() - {"bioc", "bioc-json"}))
@pytest.mark.parametrize("filler", ["x", "x ", "x\t", "[", "1|t|"])
def test_a_line_of_50_megabytes(put: Put, name: str, filler: str):
    size = 50_000_000 if filler == "x" else 2_000_000
    corpus = read(put("data", SAMPLES[name] + filler * (size // len(filler)) + "\n"), name)
    assert render(corpus.documents[0]).startswith("é [Oslo](LOC)")
    assert all(len(problem.message) < 500 for problem in corpus.problems)


def test_an_unknown_format_names_the_nearest(put: Put):
    with pytest.raises(CorpusError, match="did you mean 'conll'"):
        read(put("a", "a O\n"), "conl")


@pytest.mark.parametrize("content", ["just some text\nand more\n", b"\x00\x01\x02\xff" * 50, "a,b\n1,2\n"])
def test_content_of_no_known_format_is_an_error(put: Put, content: str | bytes):
    with pytest.raises(CorpusError, match=f"name it with `format`: {', '.join(known_formats())}"):
        read(put("data", content))


@pytest.mark.parametrize("order", ["le", "be"])
@pytest.mark.parametrize("name", ["UTF-16", "UTF-32"])
def test_utf16_and_utf32_are_errors_that_say_what_to_do(put: Put, name: str, order: str):
    with pytest.raises(CorpusError, match=f"is {name}; .*iconv -f {name} "):
        read(put("data", "\ufeffa O\n".encode(f"{name}-{order}")))


def test_several_files_are_one_corpus(put: Put):
    corpus = read([put("a", SAMPLES["conll"]), str(put("b", SAMPLES["pubtator"]))])
    assert (len(corpus), corpus.format) == (2, "mixed")
    with pytest.raises(CorpusError, match="no file"):
        read([])


def test_columns_are_for_conll_only(put: Put):
    with pytest.raises(
        CorpusError, match="a is pubtator, which has no label columns; `columns` can be named for conll"
    ):
        read(put("a", SAMPLES["pubtator"]), columns=[1])
    with pytest.raises(CorpusError, match="pubtator has no label columns"):
        read(put("a", SAMPLES["pubtator"]), "pubtator", columns=[1])
    assert read(put("b", SAMPLES["conll"]), columns=[-1]).documents[0].entities


def test_a_word_that_looks_like_json_does_not_hide_columns(put: Put):
    assert read(put("a", "[ O\nOslo B-LOC\n] O\n")).format == "conll"


@pytest.mark.parametrize(
    ("name", "format"), [("a.jsonl", "jsonl"), ("a.JSON", "jsonl"), ("a.iob2", "conll"), ("a", "brat")]
)
def test_the_ending_says_what_to_write(tmp_path: Path, name: str, format: str):
    write([parse("[Ada](PER) wrote")], tmp_path / name)
    assert read(tmp_path / name).format == format


def test_an_ending_is_that_of_one_format():
    endings = [ending for format in known_formats().values() for ending in format.endings]
    assert len(endings) == len(set(endings))


def test_the_option_names_every_format():
    help = get_args(FormatOption)[1].help
    assert all(name in help for name in known_formats())


def test_an_ending_that_says_nothing_is_an_error(tmp_path: Path):
    writable = ", ".join(name for name, format in known_formats().items() if format.write)
    with pytest.raises(CorpusError, match=f"name it with `format`: {writable}"):
        write([Document("a")], tmp_path / "a.xyz")


def test_a_format_that_is_only_read_is_not_written(tmp_path: Path):
    with pytest.raises(CorpusError, match="not written"):
        write([Document("a")], tmp_path / "a", "indexed")


def test_a_name_that_is_no_unicode_can_be_shown(tmp_path: Path):
    path = tmp_path / "a\udcff"
    with pytest.raises(CorpusError) as caught:
        read(path)
    str(caught.value).encode()


@pytest.mark.parametrize("name", ["conll", "jsonl", "pubtator"])
def test_a_text_that_begins_with_a_mark_keeps_it(tmp_path: Path, name: str):
    marked = parse("\ufeffOslo [now](TIME)")
    write([Document(marked.text, marked.entities, "\ufeff1", ((0, 5), (6, 9)))], tmp_path / "out", name)
    assert render(read(tmp_path / "out", name).documents[0]) == "\ufeffOslo [now](TIME)"


@pytest.mark.parametrize(
    ("text", "format"),
    [
        ('{"id": "9", "text": "P(s|t|x) is", "entities": [[0, 1, "P"]]}\n', "jsonl"),
        ("x|t|y O\nOslo B-LOC\n", "conll"),
        ("x|t|y\tO\nOslo\tB-LOC\n", "conll"),
        ("1|t|A title\n\n2|t|Another\n", "pubtator"),
        ("[1]|t|A title\n[1]\t0\t1\tA\tX\n", "pubtator"),
    ],
)
def test_bars_in_a_text_make_it_no_pubtator(put: Put, text: str, format: str):
    corpus = read(put("data", text))
    assert (corpus.format, corpus.problems) == (format, ())


@pytest.mark.parametrize("name", [*SAMPLES, "brat"])
def test_a_file_name_that_is_not_utf8_leaves_ids_that_can_be_written(put: Put, tmp_path: Path, name: str):
    path = put("n\udcff.txt", SAMPLES.get(name, "é Oslo"))
    path.with_suffix(".ann").write_text("")
    write(read(path, name), tmp_path / "out.jsonl")
    assert "\udcff" not in (tmp_path / "out.jsonl").read_text(encoding="utf-8")


def test_columns_of_a_brat_folder_are_an_error(put: Put):
    put("a.ann", "")
    folder = put("a.txt", "Oslo").parent
    with pytest.raises(CorpusError, match="is brat, which has no label columns; `columns` can be named for conll only"):
        read(folder, columns=[1])
