"""The table of formats in docs/reference/formats.md, made from a sample of each and compared with the page.

    python tests/formats/test_format_table.py

writes the table anew. A sample is made by the tool's own library where it has one that is at hand, otherwise by hand.
"""

import json
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from nearspan.document import Document, Entity, Span
from nearspan.errors import CorpusError
from nearspan.formats import Corpus, known_formats, read, write
from nearspan.formats.source import Source

PAGE = Path(__file__).parents[2] / "docs/reference/formats.md"
BEGIN, END = "<!-- table made by tests/formats/test_format_table.py -->", "<!-- end of the table -->"

WORDS = ["Ada", "Lovelace", "wrote", "in", "London", "."]
TEXT = "Ada Lovelace wrote in London."


class Sample(NamedTuple):
    """A file of a format, and what made it."""

    format: str
    make: Callable[[Path], Path]
    made_by: str
    title: str = ""
    is_kept: bool = True  # whether all that it says is written again


def text_file(content: str, name: str = "sample") -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        (folder / name).write_text(content, encoding="utf-8")
        return folder / name

    return make


def json_file(*records: Any) -> Callable[[Path], Path]:
    return text_file("".join(json.dumps(record) + "\n" for record in records))


def make_brat(folder: Path) -> Path:
    (folder / "a.txt").write_text(TEXT)
    (folder / "a.ann").write_text("T1\tPER 0 12\tAda Lovelace\nT2\tLOC 22 28\tLondon\n")
    return folder


def make_doc(kb_id: str = "Q7259") -> Any:
    spacy = pytest.importorskip("spacy")
    doc = spacy.blank("en")(TEXT)
    doc.ents = [doc.char_span(0, 12, "PER", kb_id=kb_id), doc.char_span(22, 28, "LOC")]
    for token in doc:
        token.is_sent_start = token.i == 0
    doc.spans["sc"] = [doc.char_span(0, 12, "PER"), doc.char_span(0, 3, "FIRST")]
    return doc


def make_docbin(folder: Path) -> Path:
    doc = make_doc()
    pytest.importorskip("spacy.tokens").DocBin(docs=[doc]).to_disk(folder / "sample")
    return folder / "sample"


def make_doc_json(folder: Path) -> Path:
    return json_file(make_doc().to_json())(folder)


def make_docs_to_json(folder: Path) -> Path:
    doc = make_doc(kb_id="")  # which it could not write
    document = pytest.importorskip("spacy.training").docs_to_json([doc], 0)
    (folder / "sample").write_text(json.dumps([document], indent=2))
    return folder / "sample"


def make_dataset() -> Any:
    datasets = pytest.importorskip("datasets")
    names = ["O", "B-LOC", "I-LOC", "B-PER", "I-PER"]
    tags = [datasets.ClassLabel(names=names)]
    features = {"id": datasets.Value("string"), "tokens": [datasets.Value("string")], "ner_tags": tags}
    row = {"id": ["0"], "tokens": [WORDS], "ner_tags": [[3, 4, 0, 0, 1, 0]]}
    return datasets.Dataset.from_dict(row, features=datasets.Features(features))


def make_parquet(folder: Path) -> Path:
    make_dataset().to_parquet(folder / "sample")
    return folder / "sample"


def make_dataset_folder(folder: Path) -> Path:
    make_dataset().save_to_disk(folder / "sample")
    return folder / "sample"


def make_dataset_dict(folder: Path) -> Path:
    pytest.importorskip("datasets").DatasetDict({"train": make_dataset()}).save_to_disk(folder / "sample")
    return folder / "sample"


PRODIGY = {
    "text": TEXT,
    "_input_hash": 1,
    "_task_hash": 2,
    "tokens": [{"text": "Ada", "start": 0, "end": 3, "id": 0, "ws": True}],
    "spans": [{"start": 0, "end": 12, "label": "PER", "token_start": 0, "token_end": 1}],
    "answer": "accept",
    "_timestamp": 1700000000,
}
LABEL_STUDIO = {
    "id": 1,
    "data": {"text": TEXT},
    "annotations": [
        {
            "id": 5,
            "completed_by": 1,
            "was_cancelled": False,
            "ground_truth": False,
            "result": [
                {
                    "id": "Dx_aB91ISN",
                    "from_name": "label",
                    "to_name": "text",
                    "type": "labels",
                    "origin": "manual",
                    "value": {"start": 0, "end": 12, "text": "Ada Lovelace", "labels": ["PER"]},
                }
            ],
        }
    ],
    "predictions": [],
    "drafts": [],
    "project": 1,
}
LABEL_STUDIO_MIN = {
    "text": TEXT,
    "id": 1,
    "label": [{"start": 0, "end": 12, "text": "Ada Lovelace", "labels": ["PER"]}],
    "annotator": 1,
    "annotation_id": 5,
    "created_at": "2026-01-01T00:00:00.000000Z",
    "updated_at": "2026-01-01T00:00:00.000000Z",
    "lead_time": 4.2,
}
ARGILLA = {
    "id": "7",
    "fields": {"text": TEXT},
    "metadata": {},
    "suggestions": {"span": {"value": [{"label": "PER", "start": 0, "end": 3}], "score": [0.9], "agent": "m"}},
    "responses": {
        "span": [
            {"value": [{"label": "PER", "start": 0, "end": 12}], "user_id": "00000000-0000-0000-0000-000000000001"}
        ]
    },
    "vectors": {},
    "status": "completed",
    "_server_id": None,
}
ARGILLA_FLAT = {
    "id": "7",
    "status": "completed",
    "_server_id": None,
    "text": TEXT,
    "span.responses": [[{"label": "PER", "start": 0, "end": 12}]],
    "span.responses.users": ["00000000-0000-0000-0000-000000000001"],
    "span.responses.status": ["submitted"],
}
ARGILLA_1 = {
    "id": "7",
    "text": TEXT,
    "tokens": WORDS,
    "prediction": None,
    "prediction_agent": None,
    "annotation": [["PER", 0, 12]],
    "annotation_agent": "ada",
    "status": "Validated",
    "metadata": {},
}
DOCCANO = {"id": 1, "text": TEXT, "label": [[0, 12, "PER"]], "Comments": []}
DOCCANO_RELATIONS = {
    "id": 1,
    "text": TEXT,
    "entities": [
        {"id": 7, "label": "PER", "start_offset": 0, "end_offset": 12},
        {"id": 8, "label": "LOC", "start_offset": 22, "end_offset": 28},
    ],
    "relations": [{"id": 3, "from_id": 7, "to_id": 8, "type": "in"}],
    "Comments": [],
}
ROW = {"id": "0", "tokens": WORDS, "ner_tags": ["B-PER", "I-PER", "O", "O", "B-LOC", "O"]}
GLINER = {"tokenized_text": WORDS, "ner": [[0, 1, "PER"], [0, 0, "FIRST"]]}
DYGIE = {
    "doc_key": "1",
    "dataset": "scierc",
    "sentences": [WORDS, ["She", "wrote", "notes"]],
    "ner": [[[0, 1, "PER"], [0, 0, "FIRST"]], [[8, 8, "WORK"]]],
    "relations": [[], []],
    "clusters": [],
}

LANGEXTRACT = {
    "extractions": [
        {
            "extraction_class": "PER",
            "extraction_text": "Ada Lovelace",
            "char_interval": {"start_pos": 0, "end_pos": 12},
            "alignment_status": "match_exact",
            "extraction_index": 1,
            "group_index": 0,
            "description": None,
            "attributes": {"born": "1815"},
        }
    ],
    "text": TEXT,
    "document_id": "letter",
}


def make_bioc(library: str) -> Callable[[Path], Path]:
    """A collection of one passage, as XML or JSON."""

    def make(folder: Path) -> Path:
        bioc = pytest.importorskip("bioc")
        annotation, passage, document = bioc.BioCAnnotation(), bioc.BioCPassage(), bioc.BioCDocument()
        annotation.id, annotation.text = "T1", "Ada Lovelace"
        annotation.infons = {"type": "PER", "identifier": "Q7259"}
        annotation.add_location(bioc.BioCLocation(0, 12))
        passage.text, passage.annotations = TEXT, [annotation]
        document.id, document.passages = "1", [passage]
        collection = bioc.BioCCollection()
        collection.add_document(document)
        (folder / "sample").write_text(pytest.importorskip(f"bioc.{library}").dumps(collection))
        return folder / "sample"

    return make


def make_cas(name: str) -> Callable[[Path], Path]:
    """A text with words and entities, with the type system of DKPro Core."""

    def make(folder: Path) -> Path:
        cassis = pytest.importorskip("cassis")
        types = cassis.load_dkpro_core_typesystem()
        cas = cassis.Cas(types, sofa_string=TEXT)
        package = "de.tudarmstadt.ukp.dkpro.core.api"
        cas.add(types.get_type(f"{package}.segmentation.type.Token")(begin=0, end=3))
        cas.add(types.get_type(f"{package}.ner.type.NamedEntity")(begin=0, end=12, value="PER", identifier="Q7259"))
        (folder / name).write_text(cas.to_xmi() if name.endswith(".xmi") else cas.to_json())
        return folder / name

    return make


WEBANNO = f"""#FORMAT=WebAnno TSV 3.3
#T_SP=de.tudarmstadt.ukp.dkpro.core.api.ner.type.NamedEntity|identifier|value
#T_SP=webanno.custom.Name|kind


#Text={TEXT}
1-1\t0-3\tAda\tQ7259[1]\tPER[1]\tgiven\t
1-2\t4-12\tLovelace\tQ7259[1]\tPER[1]\t_\t
1-3\t13-18\twrote\t_\t_\t_\t
1-4\t19-21\tin\t_\t_\t_\t
1-5\t22-28\tLondon\t*\tLOC\t_\t
1-6\t28-29\t.\t_\t_\t_\t
"""
CONLLU = (
    "# global.Entity = GRP-etype-infstat\n# newdoc id = 1\n# text = Ada Lovelace\n"
    "1\tAda\t_\t_\t_\t_\t_\t_\t_\tEntity=(1-person-new(2-given)\n"
    "2\tLovelace\t_\t_\t_\t_\t_\t_\t_\tEntity=1)\n"
)
UNER = "# sent_id = 1\n# text = Ada wrote\n1\tAda\tB-PER\t-\ta\n2\twrote\tO\t-\ta\n"

# One line a sample; several of one format are told apart by their title.
SAMPLES = [
    Sample("conll", text_file("-DOCSTART- 1 O\n\nAda B-PER\nLovelace I-PER\nwrote O\n"), "hand"),
    Sample(
        "jsonl", json_file({"id": "1", "text": TEXT, "entities": [{"start": 0, "end": 12, "label": "PER"}]}), "hand"
    ),
    Sample("brat", make_brat, "hand"),
    Sample("pubtator", text_file("1|t|Ada wrote\n1\t0\t3\tAda\tPER\n"), "hand"),
    Sample("indexed", text_file("Ada wrote\n0,0 PER\n\n"), "hand"),
    Sample("datasets", make_dataset_folder, "datasets"),
    Sample("datasets", make_dataset_dict, "datasets", "of several parts"),
    Sample("parquet", make_parquet, "datasets"),
    Sample("ner-tags", json_file(ROW), "hand"),
    Sample("spacy", make_docbin, "spaCy"),
    Sample("spacy-json", make_doc_json, "spaCy"),
    Sample("spacy-json", make_docs_to_json, "spaCy", "of version 2"),
    Sample("spacy-json", text_file(json.dumps([[TEXT, {"entities": [[0, 12, "PER"]]}]])), "hand", "tuples"),
    Sample("prodigy", json_file(PRODIGY), "hand"),
    Sample("label-studio", text_file(json.dumps([LABEL_STUDIO])), "hand"),
    Sample("label-studio-min", text_file(json.dumps([LABEL_STUDIO_MIN], indent=2)), "hand"),
    Sample("argilla", text_file(json.dumps([ARGILLA])), "hand"),
    Sample("argilla", json_file(ARGILLA_FLAT), "hand", "flat"),
    Sample("argilla", json_file(ARGILLA_1), "hand", "of version 1", is_kept=False),
    Sample("doccano", json_file(DOCCANO), "hand"),
    Sample("doccano", json_file(DOCCANO_RELATIONS), "hand", "with relations"),
    Sample("gliner", text_file(json.dumps([GLINER])), "hand"),
    Sample("dygie", json_file(DYGIE), "hand"),
    Sample("langextract", json_file(LANGEXTRACT), "hand"),
    Sample("bioc", make_bioc("biocxml"), "bioc"),
    Sample("bioc-json", make_bioc("biocjson"), "bioc"),
    Sample("cas", make_cas("sample.xmi"), "dkpro-cassis"),
    Sample("cas-json", make_cas("sample.json"), "dkpro-cassis"),
    Sample("webanno", text_file(WEBANNO, "sample.tsv"), "hand"),
    Sample("conllu", text_file(CONLLU), "hand"),
    Sample("conllu", text_file(UNER), "hand", "of Universal NER"),
    Sample("csv", text_file("id,text,start,end,label\n1,Ada wrote,0,3,PER\n"), "hand"),
    Sample(
        "csv", text_file('id,text,entities\n1,Ada,"[{""start"":0,""end"":3,""label"":""X""}]"\n'), "hand", "of texts"
    ),
    Sample("tsv", text_file("id\ttext\tstart\tend\tlabel\n1\tAda wrote\t0\t3\tPER\n"), "hand"),
]

BARE = "Ada Lovelace wrote in London"
BARE_WORDS = ((0, 3), (4, 12), (13, 18), (19, 21), (22, 28))

# What a format may be unable to hold: a document that has it, and the keys in which it must come back as it was.
PROBES = {
    "nested": (Document(BARE, (Entity.of(0, 3, "FIRST"), Entity.of(0, 12, "PER"))), ["text", "entities"]),
    "discontinuous": (Document(BARE, (Entity(Span(((0, 3), (22, 28))), "PER"),)), ["text", "entities"]),
    "parts of words": (Document(BARE, (Entity.of(0, 2, "X"),), words=BARE_WORDS), ["text", "entities"]),
    "other blanks": (Document("Ada  wrote", (Entity.of(5, 10, "ACT"),)), ["text", "entities"]),
    "words": (Document("Ada-Lou wrote", words=((0, 7), (8, 13))), ["text", "words"]),
    "sentences": (
        Document("Yes\nAda wrote", words=((0, 3), (4, 7), (8, 13)), sentences=((0, 3), (4, 13))),
        ["sentences"],
    ),
    "scores": (Document(BARE, (Entity.of(0, 3, "FIRST", 0.5),)), ["entities"]),
    "attributes": (Document(BARE, (Entity(Span.of(0, 3), "FIRST", attributes={"note": "x"}),)), ["entities"]),
    "ids": (Document(BARE, (), "7 b"), ["id"]),
}


def target(folder: Path, name: str) -> Path:
    """Where a format is written to: a new folder, or a file with its ending."""
    part = known_formats()[name]
    return folder / f"again{next(iter(part.endings), '')}"


def comes_back(name: str, documents: Sequence[Document], folder: Path) -> bool:
    """Whether documents are the same when they are read again, without a word of what was changed.

    Words and sentences of documents that had none do not count.
    """
    path = target(folder, name)
    changes = write(documents, path, name)
    before = [document.to_dict() for document in documents]
    after = [document.to_dict() for document in read(path)]
    same = [{key: again.get(key) for key in record} for record, again in zip(before, after, strict=True)]
    return not changes and same == before


def fate(name: str, probe: str, folder: Path) -> str:
    """What becomes of what a probe has: it is kept, refused, said to be changed, or lost without a word."""
    document, keys = PROBES[probe]
    path = target(folder, name)
    try:
        changes = write([document], path, name)
    except CorpusError:
        return "refused"
    before, after = document.to_dict(), read(path, name)[0].to_dict()
    if all(says(after.get(key), before[key]) for key in keys):
        return "kept"
    return "changed" if changes else "lost"


def says(value: Any, expected: Any) -> bool:
    """Whether a JSON value is another one, or its objects have further keys."""
    if isinstance(expected, dict):
        return isinstance(value, dict) and all(says(value.get(key), part) for key, part in expected.items())
    if isinstance(expected, list):
        return isinstance(value, list) and len(value) == len(expected) and all(map(says, value, expected))
    return type(value) is type(expected) and value == expected


def row(name: str) -> str:
    """A line of the table."""
    part = known_formats()[name]
    written = part.write is not None
    made_by = sorted({sample.made_by for sample in SAMPLES if sample.format == name} - {"hand"})
    with tempfile.TemporaryDirectory() as folder:
        missing = [probe for probe in PROBES if written and fate(name, probe, new(folder, probe)) != "kept"]
        kept = [sample for sample in SAMPLES if sample.format == name and sample.is_kept and written]
        equal = [
            comes_back(name, read(sample.make(new(folder, f"{number}"))), new(folder, f"{number} again"))
            for number, sample in enumerate(kept)
        ]
    is_found = all(read_sample(sample).format == name for sample in SAMPLES if sample.format == name)
    endings = ["a folder"] * part.folder + [f"`{ending}`" for ending in part.endings if ending]
    as_written = ("one by one" if part.streams else "yes") if written else "no"
    cells = [f"`{name}`", "yes" if is_found else "no", as_written]
    cells += [("yes" if all(equal) else "no") if written else ""]
    cells += [
        " ".join(endings),
        ", ".join(missing) or ("nothing" if written else ""),
        ", ".join(made_by) or "hand",
    ]
    return f"| {' | '.join(cells)} |"


def read_sample(sample: Sample) -> Corpus:
    with tempfile.TemporaryDirectory() as folder:
        return read(sample.make(Path(folder)))


def new(folder: str, name: str) -> Path:
    path = Path(folder, name)
    path.mkdir()
    return path


def table() -> list[str]:
    names = ["name", "found from content, read", "written", "read again: equal", "endings", "cannot hold", "sample by"]
    return [f"| {' | '.join(names)} |", "|---" * len(names) + "|", *map(row, known_formats())]


def ids(samples: list[Sample]) -> list[str]:
    return [f"{sample.format} {sample.title}".strip() for sample in samples]


def test_every_format_has_a_sample():
    assert {sample.format for sample in SAMPLES} == set(known_formats())


@pytest.mark.parametrize("sample", SAMPLES, ids=ids(SAMPLES))
def test_a_sample_is_found_from_its_content(sample: Sample, tmp_path: Path):
    path = sample.make(tmp_path)
    corpus = read(path)
    assert (corpus.format, len(corpus)) == (sample.format, 1)
    assert corpus[0].entities
    assert not [problem for problem in corpus.problems if problem.kind != "left out"]


@pytest.mark.parametrize("sample", SAMPLES, ids=ids(SAMPLES))
def test_a_sample_is_of_no_other_format_but_the_most_general(sample: Sample, tmp_path: Path):
    source = Source(sample.make(tmp_path))
    part = known_formats()[sample.format]
    kinds = [other for other in known_formats().values() if (other.folder, other.binary) == (part.folder, part.binary)]
    detected = [other.name for other in kinds if other.detect(source)]
    assert detected in ([sample.format], [sample.format, "jsonl"], ["datasets", "brat"])


WRITABLE = [sample for sample in SAMPLES if known_formats()[sample.format].write and sample.is_kept]


@pytest.mark.parametrize("sample", WRITABLE, ids=ids(WRITABLE))
def test_a_sample_is_written_and_read_again_as_it_was(sample: Sample, tmp_path: Path):
    assert comes_back(sample.format, read(sample.make(tmp_path)), new(str(tmp_path), "written"))


@pytest.mark.parametrize("probe", PROBES)
@pytest.mark.parametrize("name", [name for name, part in known_formats().items() if part.write])
def test_what_a_format_cannot_hold_is_refused_or_said(name: str, probe: str, tmp_path: Path):
    assert fate(name, probe, tmp_path) != "lost"


def test_the_page_has_the_table():
    for library in ("spacy", "datasets"):
        pytest.importorskip(library)
    page = PAGE.read_text(encoding="utf-8")
    lines = page.partition(BEGIN)[2].partition(END)[0].split("\n")
    assert [line for line in lines if line] == table()


if __name__ == "__main__":
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    after = rest.partition(END)[2]
    PAGE.write_text(f"{before}{BEGIN}\n" + "\n".join(table()) + f"\n{END}{after}", encoding="utf-8")
