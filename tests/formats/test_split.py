import logging
from itertools import chain
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nearspan import split
from nearspan.document import Document, Entity, Span
from nearspan.errors import CorpusError
from nearspan.formats import Corpus, read, write
from nearspan.formats.markup import parse


def labelled(*labels: str) -> list[Document]:
    """A document for each label, or without any for an empty one."""
    return [
        Document("Oslo", (Entity.of(0, 4, label),) if label else (), id=str(number))
        for number, label in enumerate(labels)
    ]


def labels_of(part: Corpus) -> list[str]:
    return sorted(entity.label for document in part for entity in document.entities)


THIRDS = {"train": None, "dev": 0.25, "test": 0.25}


def test_each_document_is_in_one_part_and_in_order():
    documents = labelled(*"AABBAABBAABB", *[""] * 8)
    parts = split(documents, THIRDS, seed=7)
    assert [len(part) for part in parts.values()] == [10, 5, 5]
    ids = [[int(document.id) for document in part] for part in parts.values()]
    assert all(part == sorted(part) for part in ids)
    assert sorted(chain.from_iterable(ids)) == list(range(20))


def test_labels_are_as_frequent_in_every_part():
    parts = split(labelled(*"A" * 40, *"B" * 20), {"train": 0.8, "dev": 0.2})
    assert labels_of(parts["dev"]) == ["A"] * 8 + ["B"] * 4


def test_the_size_of_documents_is_balanced_too():
    large = [parse("[a](X) " * 9, id=f"large {number}") for number in range(10)]
    small = [parse("[a](X)", id=f"small {number}") for number in range(10)]
    assert len(labels_of(split(large + small, {"train": 0.5, "dev": 0.5})["dev"])) == 50


def test_a_rare_label_is_in_every_part():
    parts = split(labelled("RARE", "RARE", "RARE", *"A" * 30), {"train": 0.8, "dev": 0.1, "test": 0.1})
    assert all("RARE" in labels_of(part) for part in parts.values())


def test_the_only_document_of_a_label_is_trained_on():
    assert "RARE" in labels_of(split(labelled("RARE", *"A" * 30))["train"])


def test_the_seed_decides():
    documents = labelled(*"AB" * 20)
    assert split(documents, seed=1) == split(documents, seed=1)
    assert split(documents, seed=1) != split(documents, seed=2)


def test_a_file_of_one_document_is_cut_at_sentences(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    path = tmp_path / "all.conll"
    path.write_text("".join(f"Ada{number} B-PER\nslept O\n\n" for number in range(10)))
    with caplog.at_level(logging.WARNING, "nearspan"):
        parts = split(path, {"train": 8, "dev": 2})
    assert "fewer than 10 documents (1): they are cut at sentences" in caplog.text
    write(parts["dev"], tmp_path / "dev.conll")
    assert "DOCSTART" not in (tmp_path / "dev.conll").read_text()
    again = read(tmp_path / "dev.conll")
    assert again[0].text == parts["dev"][0].text
    assert [entity.text[:3] for entity in again[0].entities] == ["Ada", "Ada"]
    assert len(again[0].sentences or ()) == 2


def test_sentences_that_share_an_entity_stay_together():
    document = parse("One. [Two. Three](X). Four. [Five](Y). Six.")
    parts = split([document], {"train": 0.5, "dev": 0.5}, by="sentences")
    texts = {entity.text for part in parts.values() for entity in part[0].entities}
    assert texts == {"Two. Three", "Five"}


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"train": 0.8, "dev": 0.1}, "do not add up to the 20 documents: train 0.8, dev 0.1"),
        ({"train": None, "dev": 20}, "do not add up"),
        ({"train": None, "dev": None}, "do not add up"),
        ({"train": None, "dev": 2.5}, "'dev' is 2.5; give a share such as 0.1"),
        ({"train": None, "dev": 0}, "'dev' is 0"),
        ({str(number): 1 for number in range(21)}, "20 documents cannot be divided into 21 parts"),
    ],
)
def test_parts_that_cannot_be_are_refused(parts: dict[str, float | None], message: str):
    with pytest.raises(CorpusError, match=message):
        split(labelled(*"A" * 20), parts)


def test_no_part_is_empty():
    assert [len(part) for part in split(labelled(*"A" * 10), {"train": 0.98, "dev": 0.02}).values()] == [9, 1]


@given(st.lists(st.lists(st.sampled_from("ABC"), max_size=4), min_size=3, max_size=30), st.integers(0, 9))
def test_nothing_is_lost(documents: list[list[str]], seed: int):
    texts = ["".join(f"[w{index}]({label}) sleeps. " for index, label in enumerate(row)) + "So." for row in documents]
    corpus = Corpus(tuple(parse(text, id=str(number)) for number, text in enumerate(texts)))
    for by in ("documents", "sentences"):
        parts = split(corpus, {"train": None, "dev": 1, "test": 1}, seed=seed, by=by)
        assert sorted(label for part in parts.values() for label in labels_of(part)) == labels_of(corpus)
        words = sorted(word for part in parts.values() for document in part for word in document.text.split())
        assert words == sorted(word for document in corpus for word in document.text.split())


def test_entities_keep_their_attributes():
    entities = tuple(Entity(Span.of(at, at + 3), "X", attributes={"concept": at}) for at in (0, 5, 10))
    parts = split([Document("One. Two. Six.", entities)], {"train": None, "dev": 1}, by="sentences")
    kept = [entity.attributes["concept"] for part in parts.values() for entity in part[0].entities]
    assert sorted(kept) == [0, 5, 10]
