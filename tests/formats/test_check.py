import json
from pathlib import Path

import pytest

from nearspan.document import Document, Entity
from nearspan.formats import Corpus, statistics
from nearspan.formats.files import read_source
from nearspan.formats.markup import parse
from nearspan.formats.source import Source


def count(*texts: str):
    return statistics(Corpus(tuple(parse(text, str(number)) for number, text in enumerate(texts))))


def test_the_keys():
    assert set(count("a")) == {
        *("documents", "sentences", "tokens", "entities", "types", "nested", "overlapping", "discontinuous"),
        *("widths", "problems", "docstarts", "format", "lost"),
    }


def test_the_counts():
    counts = count("[University of [Oslo](PLACE)](ORG) opened .", "[pain in](S#1) arms and [legs](S#1)")
    assert (counts["documents"], counts["sentences"], counts["tokens"], counts["entities"]) == (2, 2, 10, 3)
    assert counts["types"] == {"ORG": 1, "PLACE": 1, "S": 1}
    assert (counts["nested"], counts["overlapping"], counts["discontinuous"]) == (1, 0, 1)
    assert counts["widths"] == {1: 1, 3: 2}
    assert counts["problems"] == []


def test_docstarts_count_as_sentences_but_not_as_tokens():
    counts = statistics(read_source(Source(Path("a"), "-DOCSTART- O\n\na O\nb O\n\n-DOCSTART- O\n\nc O\n"), "conll"))
    assert (counts["documents"], counts["sentences"], counts["tokens"], counts["docstarts"]) == (2, 4, 3, 2)


@pytest.mark.parametrize("unseen", "\u200b\u200c\u200d\u00ad\ufeff")
def test_a_name_with_an_unseen_character_begins_and_ends_where_words_do(unseen: str):
    counts = count(f"so [Ma{unseen}rie Curie](PER) wrote")
    assert (counts["widths"], counts["tokens"], counts["problems"]) == ({2: 1}, 4, [])


def test_two_labels_on_one_span_are_nested():
    assert count("[[Oslo](PLACE)](ORG)")["nested"] == 2


def test_crossing_entities_overlap():
    counts = statistics(Corpus((Document("a b c", (Entity.of(0, 3, "X"), Entity.of(2, 5, "Y"))),)))
    assert (counts["nested"], counts["overlapping"]) == (0, 2)


def test_an_annotation_given_twice_counts_twice():
    line = '{"text": "Oslo", "entities": [[0, 4, "LOC"], [0, 4, "LOC"]]}'
    counts = statistics(read_source(Source(Path("a.jsonl"), line), "jsonl"))
    assert (counts["entities"], counts["types"], counts["widths"]) == (2, {"LOC": 2}, {1: 2})
    assert [problem["kind"] for problem in counts["problems"]] == ["duplicate"]
    assert counts["lost"] == 0


@pytest.mark.parametrize("line", ['{"text": "Oslo", "entities": [[0, 9, "LOC"]]}', '{"text": "Oslo", "entities"'])
def test_what_cannot_be_read_is_counted_as_lost(line: str):
    counts = statistics(read_source(Source(Path("a.jsonl"), line), "jsonl"))
    assert (counts["lost"], len(counts["problems"])) == (1, 1)


def test_an_entity_that_ends_inside_a_word_is_misaligned_with_file_and_line():
    line = '{"id": "d", "text": "Norwegians", "entities": [[0, 9, "X"]]}'
    counts = statistics(read_source(Source(Path("a.jsonl"), "\n" + line), "jsonl"))
    [problem] = counts["problems"]
    assert (problem["kind"], problem["file"], problem["line"]) == ("misaligned", "a.jsonl", 2)
    assert counts["widths"] == {1: 1}


def test_an_entity_of_white_space_is_misaligned():
    counts = statistics(Corpus((Document("a  b", (Entity.of(1, 3, "X"),)),)))
    assert [problem["kind"] for problem in counts["problems"]] == ["misaligned"]
    assert counts["widths"] == {0: 1}


def test_the_counts_are_json():
    assert json.loads(json.dumps(count("[a](X)")))["widths"] == {"1": 1}


@pytest.mark.parametrize("text", ["", "\n\n", " "])
def test_a_document_without_words_has_no_sentences(text: str):
    assert (count(text)["sentences"], count(text)["tokens"]) == (0, 0)


def test_what_was_rejected_is_not_lost():
    task = {"text": "Ada wrote", "spans": [{"start": 0, "end": 3, "label": "PER"}], "_input_hash": 1}
    text = "\n".join(json.dumps(task | {"answer": answer}) for answer in ("accept", "reject"))
    counts = statistics(read_source(Source(Path("a"), text), "prodigy"))
    problems = [problem["kind"] for problem in counts["problems"]]
    assert (counts["entities"], counts["lost"], problems) == (1, 0, ["not gold"])
