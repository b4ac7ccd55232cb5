"""Sentences of a memory as people read them, look for them and put them together again."""

import pytest

from nearspan.document import Document, Entity, Span
from nearspan.knn import MemorySentence
from nearspan.memory.edits import read_document, write_document
from nearspan.memory.receipts import sentence_line
from nearspan.memory.sentences import SentenceView, as_document, by_document, matching
from nearspan.segment import LabelledSpan, split

ADA = MemorySentence(
    "a", 0, "Ada met Bob", ((0, 3), (4, 7), (8, 11)), (LabelledSpan.of(0, 1, "PERSON"), LabelledSpan.of(2, 3, "PERSON"))
)
OSLO = MemorySentence("b", 0, "Oslo is cold", ((0, 4), (5, 7), (8, 12)), (LabelledSpan.of(0, 1, "PLACE"),))
PAIN = MemorySentence("b", 1, "Pain in legs", ((0, 4), (5, 7), (8, 12)), (LabelledSpan(((0, 1), (2, 3)), "ADR"),))
SENTENCES = {0: ADA, 4: OSLO, 5: PAIN}


@pytest.mark.parametrize(
    ("options", "ids"),
    [
        ({}, [0, 4, 5]),
        ({"document": "b"}, [4, 5]),
        ({"label": "PLACE"}, [4]),
        ({"label": "ADR"}, [5]),
        ({"text": "pAIN"}, [5]),
        ({"text": "o", "document": "b"}, [4]),
        ({"label": "RIVER"}, []),
    ],
)
def test_sentences_are_found_by_document_label_and_text(options: dict[str, str], ids: list[int]):
    assert [number for number, _ in matching(SENTENCES, **options)] == ids


def test_a_sentence_says_what_it_is():
    assert sentence_line(0, ADA) == "sentence 0 of 'a': 'Ada met Bob' ('Ada' PERSON, 'Bob' PERSON)"
    assert sentence_line(5, PAIN) == "sentence 5 of 'b': 'Pain in legs' ('Pain legs' ADR)"
    many = MemorySentence("c", 0, "So", ((0, 2),), (), weight=2.5)
    assert sentence_line(7, many) == "sentence 7 of 'c': 'So' (no entities), weight 2.5"


def test_words_become_characters():
    weighed = MemorySentence(
        "a", 0, ADA.text, ADA.words, ADA.entities, removed=((1, 2),), weight=3.0, span_weights=((1, 3, 2.0),)
    )
    assert SentenceView.of(0, weighed).to_dict() == {
        "id": 0,
        "text": "Ada met Bob",
        "entities": [
            {"text": "Ada", "label": "PERSON", "start": 0, "end": 3, "fragments": ((0, 3),), "score": None},
            {"text": "Bob", "label": "PERSON", "start": 8, "end": 11, "fragments": ((8, 11),), "score": None},
        ],
        "removed": [{"start": 4, "end": 7}],
        "document": "a",
        "weight": 3.0,
        "entity_weight": 1.0,
        "span_weights": [{"start": 4, "end": 11, "weight": 2.0}],
        "carried": [],
    }


def test_a_document_ends_where_another_begins_or_where_it_begins_anew():
    assert by_document([ADA, OSLO, PAIN, OSLO, OSLO]) == [[ADA], [OSLO, PAIN], [OSLO], [OSLO]]
    assert by_document([]) == []


def test_sentences_of_a_document_are_put_together_with_a_space():
    words = ((0, 4), (5, 7), (8, 12), (13, 17), (18, 20), (21, 25))
    expected = Document("Oslo is cold Pain in legs", (), "b", words, ((0, 12), (13, 25)))
    assert as_document([OSLO, PAIN], "words") == expected
    assert as_document([OSLO, PAIN], "pieces").words is None


def test_a_document_is_read_again_as_it_was():
    document = Document("Ada left. Oslo is cold", (Entity(Span.of(0, 3), "PERSON"),), "d")
    fixed = read_document(write_document(document, split(document)))
    assert fixed.words == ((0, 3), (4, 8), (8, 9), (10, 14), (15, 17), (18, 22))
    assert fixed.sentences == ((0, 9), (10, 22))
    assert (fixed.text, fixed.entities, fixed.id) == (document.text, document.entities, "d")
