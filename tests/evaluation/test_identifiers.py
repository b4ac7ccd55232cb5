"""Scores of identifiers."""

from dataclasses import replace

import nearspan
from nearspan.document import Document, Entity, Span
from nearspan.evaluation.identifiers import IdentifierScores, score_identifiers
from nearspan.knn import Concepts, MemorySentence
from nearspan.segment import LabelledSpan

GOLD = Document("Aspirin or heparin", (), "paper")


def entity(start: int, end: int, identifier: str = "") -> Entity:
    return Entity(Span.of(start, end), "DRUG", attributes={"identifier": identifier} if identifier else {})


def concepts(text: str, identifier: str) -> Concepts:
    gold = LabelledSpan(((0, 1),), "DRUG", identifier=identifier)
    built = Concepts.of([MemorySentence("d", 0, text, ((0, len(text)),), (gold,))], [0])
    assert built is not None
    return built


def test_mentions_count_that_are_found_and_those_that_are_given():
    gold = GOLD.with_entities([entity(0, 7, "D1"), entity(11, 18, "D2")])
    predicted = GOLD.with_entities([entity(11, 18, "D2")])
    scores = score_identifiers([gold], [predicted], concepts("aspirin", "D1"))
    assert scores == IdentifierScores(gold=2, given_correct=1, found=1, found_correct=1)
    assert "100.00% right of the 1 mentions found, 50.00% of all 2" in str(scores)


def test_several_identifiers_of_a_mention_are_a_set():
    gold = GOLD.with_entities([entity(0, 7, "D2|D1")])
    scores = score_identifiers([gold], [GOLD.with_entities([entity(0, 7, "D1|D2")])], concepts("aspirin", "D1 | D2"))
    assert scores == IdentifierScores(gold=1, given_correct=1, found=1, found_correct=1)


def test_gold_documents_without_identifiers_are_not_scored():
    assert score_identifiers([GOLD.with_entities([entity(0, 7)])], [GOLD], concepts("aspirin", "D1")) is None


def test_an_evaluation_has_them_where_the_memory_has(instance, documents):
    gold = [
        document.with_entities(replace(each, attributes={"identifier": each.text}) for each in document.entities)
        for document in documents
    ]
    assert nearspan.evaluate(instance, gold).identifiers is None
    instance.build_datastore(instance.label_documents(gold))
    scores = nearspan.evaluate(instance, gold).identifiers
    assert scores is not None
    assert (scores.given_accuracy, scores.found_accuracy) == (1.0, 1.0)
    assert nearspan.evaluate(instance, gold).to_dict()["identifiers"]["gold"] == scores.gold
