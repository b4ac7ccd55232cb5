import pytest
import torch

import nearspan
from nearspan.analysis.vectors import gold_spans, span_vectors
from nearspan.document import Document, Entity, Span
from nearspan.model import Model
from nearspan.text import reading


def test_vectors_of_training_spans_are_those_of_the_memory(instance: Model, documents: list[Document]):
    spans = list(gold_spans(instance, documents).values())
    vectors = span_vectors(instance, spans)
    memory = instance.memory
    assert memory is not None
    for span, vector in zip(spans, vectors, strict=True):
        own = (memory.sentence == span.document) & (memory.first == span.first) & (memory.stop == span.stop)
        assert torch.allclose(vector, memory.rows(own.nonzero().flatten())[0], atol=1e-5)


def test_spans_that_are_no_candidates_are_left_out(instance: Model):
    discontinuous = Entity(Span(((0, 3), (8, 12))), "PERSON")
    twice = (Entity.of(0, 3, "PERSON"), Entity.of(0, 3, "PLACE"))
    wide = Entity.of(0, 36, "PLACE")
    crossing = Entity.of(30, 39, "PLACE")
    document = Document("Ada and Bobi and Eve and Moon went by. So did we.", (*twice, discontinuous, wide, crossing))
    assert [entity for _, entity in gold_spans(instance, [document])] == [twice[0]]


def test_a_very_long_sentence_is_read_in_windows(instance: Model, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(reading, "LONGEST", 12)
    monkeypatch.setattr(reading, "OVERLAP", 6)
    document = nearspan.markup(" ".join(["rain"] * 60) + " in [Oslo](PLACE)")
    (span,) = gold_spans(instance, [document]).values()
    assert len(span.sentence) <= 24  # twice what the windows share, which is twice the widest span
    assert span.span.text(span.sentence.text) == "Oslo"
    assert span_vectors(instance, [span]).shape[0] == 1


def test_no_spans_have_no_vectors(instance: Model):
    assert span_vectors(instance, []).shape == (0, instance.network.representation.size)
