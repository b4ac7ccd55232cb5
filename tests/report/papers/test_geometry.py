import math
from itertools import combinations, product

import pytest
import torch
from torch import nn

from nearspan.model import Model
from nearspan.report.papers.geometry import Cosine, geometry, templates

LABELS = ["A", "B", "A", "C", "B", "A"]


def cosine(one: list[float], other: list[float]) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True)) / math.hypot(*one) / math.hypot(*other)


def approximately(values: list[float]) -> Cosine:
    return Cosine(pytest.approx(sum(values) / len(values)), len(values))


def vectors(count: int) -> torch.Tensor:
    return torch.randn(count, 5, generator=torch.Generator().manual_seed(count)) + 0.5


def test_norms_and_cosines_are_means_over_all_pairs(classifier: Model):
    own, others = vectors(6), vectors(4)
    rows, negatives = own.tolist(), others.tolist()
    pairs = list(combinations(range(6), 2))
    found = geometry(classifier, own, LABELS, others)
    assert found.norm == pytest.approx(sum(math.hypot(*row) for row in rows) / 6)
    assert found.within == approximately([cosine(rows[i], rows[j]) for i, j in pairs if LABELS[i] == LABELS[j]])
    assert found.between == approximately([cosine(rows[i], rows[j]) for i, j in pairs if LABELS[i] != LABELS[j]])
    assert found.against == approximately([cosine(one, other) for one, other in product(rows, negatives)])
    assert (found.spans, found.negatives) == (6, 4)


def test_what_has_no_pairs_has_no_mean(classifier: Model):
    one_label = geometry(classifier, vectors(3), ["A"] * 3, vectors(0))
    assert one_label.within.pairs == 3
    assert one_label.between == one_label.against == Cosine(None, 0)
    single = geometry(classifier, vectors(1), ["A"], vectors(2))
    assert single.within == single.between == Cosine(None, 0)
    assert single.against.pairs == 2
    nothing = geometry(classifier, vectors(0), [], vectors(2))
    assert nothing.norm is None
    assert nothing.within == nothing.against == Cosine(None, 0)


def test_a_vector_of_zeros_is_like_no_other(classifier: Model):
    found = geometry(classifier, torch.zeros(3, 5), ["A", "A", "B"], vectors(2))
    assert [found.norm, found.within.mean, found.between.mean, found.against.mean] == [0, 0, 0, 0]


def test_templates_are_the_rows_of_the_classifier(classifier: Model):
    rows = classifier.network.head.weight.tolist()
    found = templates(classifier)
    assert found is not None
    assert len(rows) == len(classifier.labels) - 1
    assert found.norm == pytest.approx(sum(math.hypot(*row) for row in rows) / len(rows))
    assert found.cosine == approximately([abs(cosine(one, other)) for one, other in combinations(rows, 2)])
    assert found.null == Cosine(None, 0)


def test_a_row_for_null_stands_apart(classifier: Model):
    head = nn.Linear(4, len(classifier.labels))  # null is the first label
    classifier.network.head = head
    null, *rows = head.weight.tolist()
    found = templates(classifier)
    assert found is not None
    assert found.cosine == approximately([abs(cosine(one, other)) for one, other in combinations(rows, 2)])
    assert found.null == approximately([abs(cosine(row, null)) for row in rows])


def test_other_heads_have_no_templates(instance: Model, classifier: Model):
    assert templates(instance) is None
    for weight in (torch.ones(len(classifier.labels) + 1, 4), torch.ones(len(classifier.labels), 4, 4)):
        classifier.network.head = nn.Module()
        classifier.network.head.weight = nn.Parameter(weight)
        assert templates(classifier) is None
