import pytest
import torch

import nearspan
from nearspan.document import Document, Entity, Span
from nearspan.model import Model
from nearspan.report.explained_errors import reachable_entities
from nearspan.report.papers.retrieval import datastore
from nearspan.report.papers.spans import WordSpan, gold_spans, negative_spans, span_vectors
from nearspan.segment import split, windows
from nearspan.training.data import TrainingData


def test_vectors_of_training_spans_are_those_of_the_memory(instance: Model, documents: list[Document]):
    spans = list(gold_spans(instance, documents).values())
    vectors = span_vectors(instance, spans)
    memory = datastore(instance)
    for span, vector in zip(spans, vectors, strict=True):
        here = (memory.sentence == span.document) & (memory.first == span.first) & (memory.stop == span.stop)
        assert torch.allclose(vector, memory.rows(here.nonzero().flatten())[0], atol=1e-5)


def test_spans_that_are_no_candidates_are_left_out(instance: Model):
    discontinuous = Entity(Span(((0, 3), (8, 12))), "PERSON")
    twice = (Entity.of(0, 3, "PERSON"), Entity.of(0, 3, "PLACE"))
    wide = Entity.of(0, 36, "PLACE")
    crossing = Entity.of(30, 39, "PLACE")
    document = Document("Ada and Bobi and Eve and Moon went by. So did we.", (*twice, discontinuous, wide, crossing))
    assert [entity for _, entity in gold_spans(instance, [document])] == [twice[0]]
    assert reachable_entities(instance, document) == {twice[0]}


def test_wide_entities_are_no_candidates_but_in_reach_where_words_are_tagged(tiny, documents: list[Document]):
    recipe = tiny("hire")
    data = TrainingData.of(documents, recipe, split)
    model = Model.from_corpus(recipe, data.sentences, data.labels, entities=data.entities)
    wide, inner, other = Entity.of(0, 36, "PLACE"), Entity.of(4, 7, "PERSON"), Entity.of(43, 46, "PERSON")
    document = Document("The Ada and Bob and Eve and Moon bay by us Ada", (wide, inner, other))
    assert reachable_entities(model, document) == {wide, other}
    assert (0, wide) not in gold_spans(model, [document])


def test_a_very_long_sentence_is_read_in_windows(instance: Model, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(windows, "LONGEST", 12)
    monkeypatch.setattr(windows, "OVERLAP", 6)
    document = nearspan.markup(" ".join(["rain"] * 60) + " in [Oslo](PLACE)")
    (span,) = gold_spans(instance, [document]).values()
    assert len(span.sentence) <= 24  # twice what the windows share, which is twice the widest span
    assert span.span.text(span.sentence.text) == "Oslo"
    assert span_vectors(instance, [span]).shape[0] == 1


def test_no_spans_have_no_vectors(instance: Model):
    assert span_vectors(instance, []).shape == (0, instance.network.representation.size)


def place(span: WordSpan) -> tuple[str, int, int]:
    return span.sentence.text, span.first, span.stop


def test_negatives_are_the_candidates_that_are_no_entity(instance: Model, documents: list[Document]):
    some = [*documents, nearspan.markup("[A [b](X) c](Y) d")]
    expected = set()
    for document in some:
        for sentence in split(document):
            golds = {(entity.start, entity.end) for entity in document.entities}
            expected |= {
                (sentence.text, first, first + width)
                for width in (1, 2, 3)
                for first in range(len(sentence) - width + 1)
                if (sentence.words[first][0], sentence.words[first + width - 1][1]) not in golds
            }
    places = [place(span) for span in negative_spans(instance, some, widest=3, most=10_000)]
    assert len(places) == len(set(places))
    assert set(places) == expected


def test_negatives_are_a_sample_that_is_always_the_same(instance: Model, classifier: Model, documents: list[Document]):
    places = [place(span) for span in negative_spans(instance, documents, widest=6, most=20)]
    assert len(set(places)) == 20
    assert len({text for text, _, _ in places}) > 5
    assert places == [place(span) for span in negative_spans(classifier, documents, widest=6, most=20)]
    assert places != [place(span) for span in negative_spans(instance, documents, widest=6, most=20, seed=1)]


def test_negatives_may_be_few_or_none(instance: Model):
    assert [place(span)[1:] for span in negative_spans(instance, [nearspan.markup("[Ada](X) left")], 1, 9)] == [(1, 2)]
    assert negative_spans(instance, [nearspan.markup("[Ada](X)")], 6, 9) == []
    assert negative_spans(instance, [Document("")], 6, 9) == []


def test_negatives_of_a_very_long_sentence_lie_in_windows(instance: Model, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(windows, "LONGEST", 12)
    monkeypatch.setattr(windows, "OVERLAP", 6)
    document = Document(" ".join(f"w{number}" for number in range(60)))
    spans = negative_spans(instance, [document], widest=2, most=1000)
    assert len(spans) == 60 + 59
    assert len({span.sentence.span(span.first, span.stop) for span in spans}) == len(spans)
    assert max(len(span.sentence) for span in spans) <= 24
    assert len(span_vectors(instance, spans)) == len(spans)
