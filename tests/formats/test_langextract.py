"""LangExtract's files of extractions, as its version 1.7.1 writes them."""

import json
from collections.abc import Callable
from pathlib import Path

from nearspan.document import Document, Entity, Span
from nearspan.formats import read, write

Put = Callable[..., Path]

# What its `save_annotated_documents` writes for three extractions, of which it has found two in the text.
LINE = (
    '{"extractions": ['
    '{"extraction_class": "PER", "extraction_text": "Ada Lovelace", "char_interval": {"start_pos": 0, "end_pos": 12}, '
    '"alignment_status": "match_exact", "extraction_index": 1, "group_index": 0, "description": null, '
    '"attributes": {"born": "1815", "names": ["Ada", "Lovelace"]}}, '
    '{"extraction_class": "LOC", "extraction_text": "london city", "char_interval": {"start_pos": 22, "end_pos": 28}, '
    '"alignment_status": "match_fuzzy", "extraction_index": 2, "group_index": 1, "description": "a town", '
    '"attributes": null}, '
    '{"extraction_class": "LOC", "extraction_text": "Paris", "char_interval": null, '
    '"alignment_status": null, "extraction_index": 3, "group_index": 2, "description": null, '
    '"attributes": null}], "text": "Ada Lovelace wrote in London.", "document_id": "letter"}\n'
    '{"extractions": null, "text": "Nothing here.", "document_id": "doc_5362e31a"}\n'
)


def changed(**values: object) -> str:
    """The first line, of which the first extraction has other values."""
    record = json.loads(LINE.split("\n")[0])
    record["extractions"] = [record["extractions"][0] | values]
    return json.dumps(record)


def test_extractions_are_entities_with_their_attributes(put: Put):
    corpus = read(put("a", LINE))
    assert (corpus.format, [document.id for document in corpus]) == ("langextract", ["letter", "doc_5362e31a"])
    person, place = corpus[0].entities
    assert (person.label, person.text) == ("PER", "Ada Lovelace")
    assert person.to_dict()["attributes"] == {"born": "1815", "names": ["Ada", "Lovelace"]}
    assert place.text == "London"
    assert place.attributes == {
        "extraction_text": "london city",
        "alignment_status": "match_fuzzy",
        "description": "a town",
    }


def test_an_extraction_without_a_place_is_listed(put: Put):
    [problem] = read(put("a", LINE)).problems
    assert problem.message == "the extraction 'Paris' has no place in the text; not read"
    assert problem.lost == 1


def test_what_was_read_is_written_as_it_was(put: Put, tmp_path: Path):
    assert write(read(put("a", LINE)), tmp_path / "b", "langextract") == ()
    [first, second] = map(json.loads, (tmp_path / "b").read_text().splitlines())
    before = json.loads(LINE.split("\n")[0])
    assert first == before | {"extractions": before["extractions"][:2]}
    assert second == {"extractions": [], "text": "Nothing here.", "document_id": "doc_5362e31a"}


def test_another_text_than_that_of_its_place_is_listed_where_the_file_calls_it_exact(put: Put):
    [problem] = read(put("a", changed(extraction_text="Bob"))).problems
    assert problem.kind == "misaligned"


def test_extractions_of_one_group_and_two_descriptions_are_left_out(put: Put):
    corpus = read(put("a", changed(description="a", attributes={"description": "b"}) + "\n" + LINE.replace("1,", "0,")))
    assert corpus[0].entities[0].attributes == {"description": "b"}
    assert {problem.message for problem in corpus.problems if problem.kind == "left out"} == {
        "'description' of an extraction, beside an attribute of that name: 1",
        "groups of extractions: 1",
    }


def test_what_it_cannot_hold_is_said(tmp_path: Path):
    document = Document("Ada wrote", (Entity(Span.of(0, 3), "PER", 0.5),), words=((0, 3), (4, 9)))
    changes = write([document], tmp_path / "b", "langextract")
    assert [change.message for change in changes] == [
        "langextract keeps no word and sentence boundaries; documents that had some: 1",
        "scores not kept: 1",
    ]
