"""Concepts: identifiers by the spelling of the memory's entities."""

import math

import pytest

from nearspan.document import Document, Entity, Span
from nearspan.knn import Concepts, MemorySentence
from nearspan.knn.concepts import LEAD, LEAST, TEMPERATURE
from nearspan.segment import LabelledSpan


def sentence(*mentions: tuple[str, str, str]) -> MemorySentence:
    """Mentions of one word each, with labels and identifiers."""
    text, words, golds = "", [], []
    for number, (mention, label, identifier) in enumerate(mentions):
        start = len(text) + (number > 0)
        text += " " * (number > 0) + mention
        words.append((start, len(text)))
        golds.append(LabelledSpan(((number, number + 1),), label, identifier=identifier))
    return MemorySentence("paper", 0, text, tuple(words), tuple(golds))


def concepts(*sentences: MemorySentence) -> Concepts:
    built = Concepts.of(sentences, range(10, 10 + len(sentences)))
    assert built is not None
    return built


def test_a_memory_without_identifiers_has_no_concepts():
    assert Concepts.of([sentence(("Aspirin", "DRUG", ""))], [0]) is None


def test_a_mention_has_the_identifier_of_the_same_words_in_any_case():
    memory = concepts(sentence(("Aspirin", "DRUG", "D1"), ("Heparin", "DRUG", "D2")))
    assert [each for each, _ in memory.identify([("aspirin", "DRUG"), ("HEPARIN", "DRUG")])] == ["D1", "D2"]


def test_a_mention_that_is_new_has_the_identifier_of_like_words():
    memory = concepts(sentence(("hypertensive", "DISEASE", "D1"), ("hypotensive", "DISEASE", "D2")))
    assert [each for each, _ in memory.identify([("hypertension", "DISEASE")])] == ["D1"]


def test_a_mention_like_nothing_has_none():
    memory = concepts(sentence(("Aspirin", "DRUG", "D1")))
    [(identifier, share)] = memory.identify([("xylitol", "DRUG")])
    assert identifier == ""
    assert share > 0.9


def test_the_identifier_that_most_entities_have_wins():
    memory = concepts(sentence(("AD", "DISEASE", "D1"), ("AD", "DISEASE", "D2")), sentence(("AD", "DISEASE", "D2")))
    [(identifier, share)] = memory.identify([("AD", "DISEASE")])
    assert identifier == "D2"
    assert share == pytest.approx(2 / 3, abs=1e-3)


def test_entities_of_the_label_lead():
    memory = concepts(sentence(("Paris", "PLACE", "Q90"), ("Paris", "PERSON", "Q167")))
    mentions = [("Paris", "PLACE"), ("Paris", "PERSON")]
    assert [each for each, _ in memory.identify(mentions)] == ["Q90", "Q167"]


def test_shares_are_the_softmax_of_the_equation():
    memory = concepts(sentence(("Paris", "PLACE", "Q90"), ("Paris", "PERSON", "Q167")))
    weights = [math.exp(value / TEMPERATURE) for value in (1 + LEAD, 1, LEAST + LEAD)]
    ranked = memory.rank(("Paris", "PLACE"))
    assert list(ranked) == ["Q90", "Q167", ""]
    assert list(ranked.values()) == pytest.approx([weight / sum(weights) for weight in weights], abs=1e-6)


def test_the_shares_of_linked_spans_add_up_to_those_of_the_identifiers():
    memory = concepts(
        sentence(("renal", "DISEASE", "D1"), ("adrenal", "DISEASE", "D2")),
        sentence(("renal", "DISEASE", "D1"), ("renal", "ORGAN", "D3")),
    )
    spans = memory.linked_spans(("renals", "DISEASE"), 10)
    for identifier, share in memory.rank(("renals", "DISEASE")).items():
        if identifier:
            assert sum(s.share for s in spans if s.gold.identifier == identifier) == pytest.approx(share, abs=1e-6)
    assert [each.sentence_id for each in spans[:2]] == [10, 11]


def test_no_more_spans_are_linked_than_are_asked_for():
    memory = concepts(*[sentence(("renal", "DISEASE", "D1"))] * 5)
    assert [each.sentence_id for each in memory.linked_spans(("renal", "DISEASE"), 3)] == [10, 11, 12]


def test_a_sentence_keeps_its_identifiers_as_json():
    gold = (LabelledSpan.of(0, 1, "DRUG"), LabelledSpan(((0, 1), (2, 3)), "DRUG", identifier="D7"))
    remembered = MemorySentence("paper", 0, "a b c", ((0, 1), (2, 3), (4, 5)), gold)
    assert remembered.to_dict()["identifiers"] == ["", "D7"]
    assert MemorySentence.from_dict(remembered.to_dict()).is_like(remembered)


def test_a_sentence_of_an_older_memory_has_no_identifiers():
    content = sentence(("Aspirin", "DRUG", "")).to_dict()
    assert "identifiers" not in content
    assert MemorySentence.from_dict(content).identifiers == ("",)


@pytest.mark.parametrize(("given", "identifier"), [(" D1 ", "D1"), ("-1", ""), ("-", ""), (["D1"], ""), (7, "")])
def test_what_files_write_for_no_identifier_is_none(given, identifier):
    entity = Entity(Span.of(0, 1), "DRUG", attributes={"identifier": given})
    assert Document("a", (entity,)).entities[0].identifier == identifier
