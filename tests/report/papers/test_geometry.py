import math
from itertools import combinations, product

import pytest
import torch
from torch import nn

from nearspan.model import Model
from nearspan.report.papers.geometry import Cosine, geometry, templates

LABELS = ["A", "B", "A", "C", "B", "A"]


def cosine(left: list[float], right: list[float]) -> float:
    return sum(a * b for a, b in zip(left, right, strict=True)) / math.hypot(*left) / math.hypot(*right)


def approximately(values: list[float]) -> Cosine:
    return Cosine(pytest.approx(sum(values) / len(values)), len(values))


def vectors(count: int) -> torch.Tensor:
    return torch.randn(count, 5, generator=torch.Generator().manual_seed(count)) + 0.5


def test_norms_and_cosines_are_means_over_all_pairs(classifier: Model):
    entities, others = vectors(6), vectors(4)
    rows, negatives = entities.tolist(), others.tolist()
    pairs = list(combinations(range(6), 2))
    measured = geometry(classifier, entities, LABELS, others)
    assert measured.norm == pytest.approx(sum(math.hypot(*row) for row in rows) / 6)
    assert measured.within == approximately([cosine(rows[i], rows[j]) for i, j in pairs if LABELS[i] == LABELS[j]])
    assert measured.between == approximately([cosine(rows[i], rows[j]) for i, j in pairs if LABELS[i] != LABELS[j]])
    assert measured.against == approximately([cosine(left, right) for left, right in product(rows, negatives)])
    assert (measured.spans, measured.negatives) == (6, 4)


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
    measured = geometry(classifier, torch.zeros(3, 5), ["A", "A", "B"], vectors(2))
    assert [measured.norm, measured.within.mean, measured.between.mean, measured.against.mean] == [0, 0, 0, 0]


def test_templates_are_the_rows_of_the_classifier(classifier: Model):
    rows = classifier.network.head.weight.tolist()
    measured = templates(classifier)
    assert measured is not None
    assert len(rows) == len(classifier.labels) - 1
    assert measured.norm == pytest.approx(sum(math.hypot(*row) for row in rows) / len(rows))
    assert measured.cosine == approximately([abs(cosine(left, right)) for left, right in combinations(rows, 2)])
    assert measured.null == Cosine(None, 0)


def test_a_row_for_null_stands_apart(classifier: Model):
    head = nn.Linear(4, len(classifier.labels))  # null is the first label
    classifier.network.head = head
    null, *rows = head.weight.tolist()
    measured = templates(classifier)
    assert measured is not None
    assert measured.cosine == approximately([abs(cosine(left, right)) for left, right in combinations(rows, 2)])
    assert measured.null == approximately([abs(cosine(row, null)) for row in rows])


def test_other_heads_have_no_templates(instance: Model, classifier: Model):
    assert templates(instance) is None
    for weight in (torch.ones(len(classifier.labels) + 1, 4), torch.ones(len(classifier.labels), 4, 4)):
        classifier.network.head = nn.Module()
        classifier.network.head.weight = nn.Parameter(weight)
        assert templates(classifier) is None
