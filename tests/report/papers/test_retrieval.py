import pytest
import torch

from nearspan.document import Document, Entity
from nearspan.model import Model
from nearspan.report.papers import retrieval
from nearspan.report.papers.retrieval import agreement, datastore, nearest_neighbours, nearest_rows, sample_queries
from nearspan.report.papers.spans import gold_spans, span_vectors


def test_the_instance_head_is_searched_by_inner_product(instance: Model, corpus: list[Document]):
    spans = list(gold_spans(instance, corpus).values())
    vectors = span_vectors(instance, spans)
    scores, _ = nearest_rows(instance, spans, vectors, 3)
    assert torch.allclose(scores, (vectors @ datastore(instance).rows(slice(None)).T).topk(3).values, atol=1e-4)


def test_another_head_is_searched_by_cosine(classifier: Model, corpus: list[Document], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(retrieval, "BUDGET", 1)  # one query at a time
    spans = list(gold_spans(classifier, corpus).values())
    vectors = span_vectors(classifier, spans)
    scores, _ = nearest_rows(classifier, spans, vectors, 3)
    cosine = torch.nn.functional.cosine_similarity(
        vectors[:, None], datastore(classifier).rows(slice(None))[None], dim=2
    )
    assert torch.allclose(scores, cosine.topk(3).values, atol=1e-4)


def test_a_training_span_does_not_find_its_own_sentence(instance: Model, documents: list[Document]):
    spans = list(gold_spans(instance, documents).values())
    for span, group in zip(spans, nearest_neighbours(instance, spans, span_vectors(instance, spans)), strict=True):
        assert len(group) == 5
        assert span.sentence.text not in [near.sentence for near in group]


def test_shares_of_agreement_add_up(instance: Model, corpus: list[Document]):
    spans = list(gold_spans(instance, corpus).values())
    shares = agreement(instance, spans, span_vectors(instance, spans))
    rows = nearest_neighbours(instance, spans, span_vectors(instance, spans))
    right = sum(
        row.label == span.entity.label for span, rows_of_span in zip(spans, rows, strict=True) for row in rows_of_span
    )
    assert shares.same == pytest.approx(right / (5 * len(spans)))
    assert shares.same + shares.other + shares.null == pytest.approx(1)


def test_queries_are_drawn_from_all_labels():
    keys = [(0, Entity.of(i, i + 1, "COMMON" if i else "RARE")) for i in range(50)]
    queries = sample_queries(keys, 4)
    assert [entity.label for _, entity in queries] == ["COMMON"] * 3 + ["RARE"]
    assert queries == sample_queries(keys, 4)
