"""The bundled sample corpus keeps the promises of its README."""

import json
from pathlib import Path

import pytest

from nearspan.document import Document, Entity, Span
from nearspan.formats import sample

LABELS = {"PERSON", "PLACE", "ORG", "WORK", "SYMPTOM", "BODY", "DRUG"}


def entity(record: dict) -> Entity:
    fragments = record.get("fragments") or [[record["start"], record["end"]]]
    return Entity(Span(tuple((start, end) for start, end in fragments)), record["label"])


def load(split: str) -> list[Document]:
    lines = sample.path(split).read_text(encoding="utf-8").splitlines()
    records = [json.loads(line) for line in lines]
    return [Document(r["text"], tuple(entity(e) for e in r["entities"]), r["id"]) for r in records]


@pytest.fixture(scope="module")
def splits() -> dict[str, list[Document]]:
    return {split: load(split) for split in sample.SPLITS}


@pytest.mark.parametrize("split", sample.SPLITS)
def test_offsets_are_in_range_and_on_word_edges(splits, split):
    for document in splits[split]:  # Document itself refuses an entity that ends after the text
        text = document.text
        for entity in document.entities:
            for start, end in entity.span.fragments:
                piece = text[start:end]
                assert piece == piece.strip(), (document.id, piece)
                assert not text[max(start - 1, 0) : start].isalnum(), (document.id, piece)
                assert not text[end : end + 1].isalnum(), (document.id, piece)


def test_the_files_are_in_the_short_form():
    for split in sample.SPLITS:
        for line in sample.path(split).read_text(encoding="utf-8").splitlines():
            record = json.loads(line)
            assert set(record) == {"id", "text", "entities"}
            starts = [entity(e).start for e in record["entities"]]
            assert starts == sorted(starts), record["id"]
            for e in record["entities"]:
                if "fragments" in e:
                    assert set(e) == {"fragments", "label"}
                    assert len(e["fragments"]) > 1
                else:
                    assert set(e) == {"start", "end", "label"}


def test_at_least_400_sentences(splits):
    assert sum(len(documents) for documents in splits.values()) >= 400  # a document has one sentence or more


def test_no_text_twice_and_identifiers_are_unique(splits):
    documents = [document for split in splits.values() for document in split]
    assert len({document.text for document in documents}) == len(documents)
    assert len({document.id for document in documents}) == len(documents)


@pytest.mark.parametrize("split", sample.SPLITS)
def test_every_label_occurs(splits, split):
    assert {e.label for document in splits[split] for e in document.entities} == LABELS


@pytest.mark.parametrize("split", sample.SPLITS)
def test_nested_discontinuous_and_empty_occur(splits, split):
    documents = splits[split]
    assert any(
        a != b and a.span != b.span and a.span.covers(b.span)
        for document in documents
        for a in document.entities
        for b in document.entities
    )
    assert any(e.span.discontinuous for document in documents for e in document.entities)
    assert any(not document.entities for document in documents)


@pytest.mark.parametrize("split", sample.SPLITS)
def test_no_entity_twice_and_one_label_a_span(splits, split):
    for document in splits[split]:
        spans = [e.span for e in document.entities]
        assert len(set(spans)) == len(spans), document.id


def test_few_entities_are_wider_than_six_words(splits):
    texts = [e.span.text(d.text) for split in splits.values() for d in split for e in d.entities]
    assert sum(len(text.split()) > 6 for text in texts) < 0.02 * len(texts)


def test_an_unknown_split_is_refused():
    with pytest.raises(ValueError, match="choose train, dev or test"):
        sample.path("validation")


def test_the_readme_travels_with_the_data():
    assert "CC0" in Path(sample.__file__).with_name("README.md").read_text(encoding="utf-8")
