"""`nearspan annotate`: any input, exact offsets, nothing lost."""

import json
import sys
from pathlib import Path

import pytest

import nearspan
from nearspan.cli.annotate import annotate as annotate_command
from nearspan.errors import ConfigError

TEXT = "Ada lives in Oslo"


@pytest.fixture
def annotate(nearspan_command, folders):
    def run(*arguments, stdin: bytes = b"", model: str = "instance"):
        return nearspan_command("annotate", folders[model], *arguments, "--device", "cpu", stdin=stdin)

    return run


def documents_of(ran) -> list[dict]:
    assert ran.code == 0, ran.err
    return [json.loads(line) for line in ran.out.splitlines()]


def spans(document: dict) -> list[tuple[str, str]]:
    text = document["text"]
    return [(text[entity["start"] : entity["end"]], entity["label"]) for entity in document["entities"]]


EXPECTED = [("Ada", "PERSON"), ("Oslo", "PLACE")]


@pytest.mark.parametrize("arguments", [[], ["-"]])
def test_lines_of_standard_input(annotate, arguments: list[str]):
    documents = documents_of(annotate(*arguments, stdin=f"{TEXT}\n\n{TEXT}\r\n   \n{TEXT}".encode()))
    assert [document["text"] for document in documents] == [TEXT, "", TEXT, "   ", TEXT]
    assert [spans(document) for document in documents] == [EXPECTED, [], EXPECTED, [], EXPECTED]
    assert len({document["id"] for document in documents}) == 5


def test_no_input_is_no_output(annotate):
    assert documents_of(annotate(stdin=b"")) == []


def test_other_line_separators_are_part_of_a_text(annotate):
    [document] = documents_of(annotate(stdin=f"{TEXT}\u2028Bob\x0b\x0cleft\x85\n".encode()))
    assert document["text"] == f"{TEXT}\u2028Bob\x0b\x0cleft\x85"


def test_a_cluster_needs_its_extra(annotate, tmp_path: Path, monkeypatch):
    for name in [name for name in sys.modules if name.startswith("nearspan.integrations.ray")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "ray.data", None)
    monkeypatch.setitem(sys.modules, "ray", None)
    ran = annotate(tmp_path / "a.jsonl", "--out", tmp_path / "out", "--ray", "local")
    assert ran.code == 2
    assert "pip install 'nearspan[ray]'" in ran.err


@pytest.mark.parametrize("arguments", [["a.jsonl"], ["--out", "out"], ["a.txt", "--out", "out", "--to", "conll"]])
def test_a_cluster_reads_files_and_writes_a_folder(annotate, arguments: list[str]):
    ran = annotate(*arguments, "--ray", "local")
    assert ran.code == 2
    assert "--ray reads files or addresses and writes JSON lines to a folder" in ran.err


def test_each_text_of_a_folder_is_one_document(annotate, tmp_path: Path):
    (tmp_path / "old").mkdir()
    for name in ("10.txt", "9.txt", "old/1.txt"):
        (tmp_path / name).write_text(TEXT)
    documents = documents_of(annotate(tmp_path))
    assert [(document["id"], spans(document)) for document in documents] == [
        ("9", EXPECTED),
        ("10", EXPECTED),
        ("old/1", EXPECTED),
    ]


@pytest.mark.parametrize(
    "content",
    [TEXT, TEXT + "\n", "\ufeff" + TEXT, "Hello.\r\n\r\n" + TEXT + ".\r\nBob left.\r\n"],
    ids=["plain", "newline", "BOM", "CRLF"],
)
def test_a_text_file_is_one_document(annotate, tmp_path: Path, content: str):
    (tmp_path / "a.txt").write_bytes(content.encode())
    [document] = documents_of(annotate(tmp_path / "a.txt"))
    assert document["text"] == content.removeprefix("\ufeff")
    assert document["id"] == "a"
    assert set(EXPECTED) <= set(spans(document))


@pytest.mark.parametrize("content", [b"", b"\xef\xbb\xbf\r\n"])
def test_an_empty_text_file_is_a_document_and_said_to_be_empty(annotate, tmp_path: Path, content: bytes):
    (tmp_path / "a.txt").write_bytes(content)
    ran = annotate(tmp_path / "a.txt")
    [document] = documents_of(ran)
    assert (document["text"].strip(), document["entities"]) == ("", [])
    assert "a.txt is empty" in ran.err


def test_a_byte_order_mark_before_standard_input_is_no_text(annotate):
    documents = documents_of(annotate(stdin=f"\ufeff{TEXT}\r\n\ufeff{TEXT}\n".encode()))
    assert [document["text"] for document in documents] == [TEXT, "\ufeff" + TEXT]
    assert spans(documents[0]) == EXPECTED


def test_a_text_file_that_is_not_utf8_is_refused(annotate, tmp_path: Path):
    (tmp_path / "a.txt").write_bytes(b"Ada lives in \xd8slo")
    ran = annotate(tmp_path / "a.txt")
    assert ran.code == 2
    assert "not UTF-8 at byte 13" in ran.err


def test_standard_input_that_is_not_utf8_is_read_with_a_warning(annotate):
    ran = annotate(stdin=b"Ada lives in \xd8slo\n" + TEXT.encode() + b"\n")
    documents = documents_of(ran)
    assert [document["text"] for document in documents] == ["Ada lives in \ufffdslo", TEXT]
    assert "UTF-8" in ran.err
    assert "line 1" in ran.err


def test_corpora_in_any_format_and_several_files(annotate, documents, tmp_path: Path):
    nearspan.write(documents[:2], tmp_path / "a.jsonl")
    (tmp_path / "b.conll").write_text("Ada O\nlives O\nin O\nOslo O\n\n")
    (tmp_path / "c.txt").write_text(TEXT)
    annotated = documents_of(annotate(tmp_path / "a.jsonl", tmp_path / "b.conll", tmp_path / "c.txt"))
    assert [document["text"] for document in annotated[:2]] == [document.text for document in documents[:2]]
    assert len(annotated) == 4
    assert spans(annotated[3]) == EXPECTED


def test_problems_of_a_corpus_are_shown(annotate, tmp_path: Path):
    (tmp_path / "a.conll").write_text("Ada B-PERSON\nleft Q-X\nOslo O\n\n")
    ran = annotate(tmp_path / "a.conll")
    assert len(documents_of(ran)) == 1
    assert "a.conll:2" in ran.err


def test_a_format_that_cannot_be_written_is_refused_with_those_that_can(annotate):
    for name in ("indexed", "jsnl"):
        ran = annotate("--to", name, stdin=TEXT.encode())
        assert (ran.code, ran.out) == (2, "")
        message = ran.err.replace("\n", " ")
        assert f"found '{name}'; known: argilla, bioc" in message
        assert {"brat,", "conll,", "jsonl,", "pubtator,"} <= set(message.split())


@pytest.mark.parametrize("name", ["out.jsonl", "out.json", "out.conll", "out", "out.pubtator"])
def test_the_ending_says_the_format_and_every_output_can_be_read_back(annotate, tmp_path: Path, name: str):
    out = tmp_path / name
    ran = annotate("--out", out, stdin=f"{TEXT}\nBob Stone left.\n".encode())
    assert (ran.code, ran.out) == (0, "")
    assert out.is_dir() == (name == "out")
    assert (name == "out.json") == (out.is_file() and out.read_text().startswith("["))
    corpus = nearspan.read(out)
    assert corpus.format == {"out": "brat", "out.json": "jsonl"}.get(name, name[4:])
    assert list(corpus.problems) == []
    texts = {entity.span.text(document.text) for document in corpus.documents for entity in document.entities}
    assert {"Ada", "Oslo"} <= texts


def test_a_format_can_be_named_where_the_ending_is_another(annotate, tmp_path: Path):
    assert annotate("--to", "conll", "--out", tmp_path / "out.txt", stdin=TEXT.encode()).code == 0
    assert (tmp_path / "out.txt").read_text().endswith("Oslo\tB-PLACE\n\n")
    ran = annotate("--out", tmp_path / "out.odd", stdin=TEXT.encode())
    assert ran.code == 2
    assert "the ending of" in ran.err
    assert "name it with --to" in ran.err.replace("\n", " ")


def test_a_device_is_no_folder_for_brat_though_its_name_has_no_ending(annotate):
    assert annotate("--out", "/dev/null", stdin=TEXT.encode()).code == 0


def test_what_a_format_cannot_hold_needs_an_out(annotate):
    assert "--drop and --flatten need --out" in annotate("--flatten", stdin=TEXT.encode()).err


@pytest.mark.parametrize(
    ("format", "out", "expected"),
    [
        ("brat", "taken", "taken exists already"),
        ("brat", "none/out", "there is no folder"),
        ("conll", "taken", "taken is a folder; name a file"),
        ("conll", "none/out.conll", "there is no folder"),
    ],
)
def test_what_cannot_be_written_is_said_before_anything_is_read(annotate, tmp_path: Path, format, out, expected):
    (tmp_path / "taken" / "inside").mkdir(parents=True)
    ran = annotate(tmp_path / "absent.txt", "--to", format, "--out", tmp_path / out)
    assert ran.code == 2
    assert expected in ran.err.replace("\n", "")
    assert "absent.txt" not in ran.err


def test_a_format_is_for_files(annotate):
    ran = annotate("-", "--format", "jsonl", stdin=b'{"text": "Ada lives in Oslo"}\n')
    assert (ran.code, ran.out) == (2, "")
    assert "--format is for files" in ran.err


def test_a_model_that_joins_fragments_says_before_it_reads_that_columns_cannot_hold_them(
    nearspan_command, tiny, tmp_path: Path
):
    model, out = tmp_path / "model", tmp_path / "out.conll"
    documents = [nearspan.markup("[pain in](S#1) arms and [legs](S#1)"), nearspan.markup("[fever](S) again")]
    nearspan.train(tiny("classifier", "training.epochs=1"), documents, out=model, device="cpu")
    absent = tmp_path / "absent.txt"  # reading it ends the command
    ran = nearspan_command("annotate", model, absent, "--to", "conll", "--out", out, "--device", "cpu")
    assert ran.code == 2
    assert "discontinuous entities, which conll cannot hold" in ran.err
    assert ran.err.index("discontinuous") < ran.err.index("cannot read")
    ran = nearspan_command("annotate", model, absent, "--to", "brat", "--out", out, "--device", "cpu")
    assert "discontinuous" not in ran.err
    ran = nearspan_command("annotate", model, absent, "--out", out, "--flatten", "--device", "cpu")
    assert "discontinuous" not in ran.err


def test_scores_are_in_the_json(annotate):
    [document] = documents_of(annotate(stdin=TEXT.encode()))
    assert all(0.3 < entity["score"] <= 1 for entity in document["entities"])


def test_an_out_that_cannot_be_written(annotate, tmp_path: Path):
    ran = annotate("--out", tmp_path / "absent" / "x.jsonl", stdin=TEXT.encode())
    assert ran.code == 2
    assert "Traceback" not in ran.err


@pytest.mark.parametrize(
    "text",
    [
        "عاشت Ada في Oslo",
        "👩‍🚀 Ada 🇳🇴 lives in Oslo 👍🏽",
        "e\u0301 Ada lives in Oslo e\u0301",
        "北京 Ada 住在 Oslo",
        "Yes: \ufeffAda lives in Oslo",
        "𝔸 Ada lives in Oslo",
    ],
)
def test_offsets_are_exact_in_any_script(annotate, text: str):
    [document] = documents_of(annotate(stdin=text.encode()))
    assert document["text"] == text
    assert {word for word, _ in spans(document)} <= set(text.split()) | {text.split("\ufeff")[-1]} | {"Ada", "Oslo"}
    assert {"Ada", "Oslo"} & {word for word, _ in spans(document)}


def test_lone_surrogates_do_not_end_the_stream(annotate, tmp_path: Path):
    lines = [json.dumps({"text": "Ada \ud800 Oslo"}), json.dumps({"text": TEXT, "entities": []})]
    (tmp_path / "a.jsonl").write_text("\n".join(lines) + "\n")
    ran = annotate(tmp_path / "a.jsonl")
    assert "Traceback" not in ran.err
    if ran.code == 0:
        assert spans(json.loads(ran.out.splitlines()[-1])) == EXPECTED
    else:
        assert ran.code == 2


def test_a_very_long_text_file(annotate, tmp_path: Path):
    (tmp_path / "a.txt").write_text((TEXT + ". ") * 5000)
    [document] = documents_of(annotate(tmp_path / "a.txt", model="classifier"))
    assert len(document["entities"]) == 10_000


@pytest.mark.parametrize("name", ["n\udcff.txt", "n\udcff.conll"])
def test_a_file_name_that_is_not_utf8_is_no_failure(annotate, tmp_path: Path, name: str):
    (tmp_path / name).write_text(TEXT if name.endswith(".txt") else TEXT.replace(" ", " O\n") + " O\n")
    [document] = documents_of(annotate(tmp_path / name))
    assert document["id"] == name.replace("\udcff", "?").removesuffix(".txt")
    assert spans(document) == EXPECTED


@pytest.mark.parametrize(("stream", "said"), [("stdin", "closed: name files"), ("stdout", "closed: say with --out")])
def test_a_closed_stream_is_an_error_that_says_what_to_do(folders, monkeypatch, stream: str, said: str):
    monkeypatch.setattr(sys, stream, None)
    with pytest.raises(ConfigError, match=said):
        annotate_command(folders["instance"])


def test_a_target_that_cannot_be_reached_is_one_line(annotate, tmp_path: Path):
    (tmp_path / "loop.jsonl").symlink_to("loop.jsonl")
    ran = annotate("--out", tmp_path / "loop.jsonl", stdin=b"Ada\n")
    assert ran.code == 2
    assert "loop.jsonl cannot be written" in ran.err
    assert "Traceback" not in ran.err
