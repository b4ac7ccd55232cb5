import math

import numpy as np
import pytest
import torch

import nearspan
from nearspan.errors import ModelError
from nearspan.report.papers.figures import losses, scatter, violins
from nearspan.report.papers.label_probabilities import LEAST, LabelProbabilities
from nearspan.report.papers.results import training_losses
from nearspan.report.papers.spans import gold_spans, label_probabilities


@pytest.mark.parametrize("name", ["instance", "classifier"])
def test_probabilities_are_those_of_the_evidence(name: str, folders, documents):
    model = nearspan.load(folders[name], device="cpu")
    spans = list(gold_spans(model, documents).values())
    probabilities = label_probabilities(model, spans)
    for span, row in zip(spans[:5], probabilities, strict=False):
        said = model.explain_span(documents[span.document], span.entity.span).probabilities
        torch.testing.assert_close(row, torch.tensor([said[label] for label in model.labels]), rtol=1e-3, atol=1e-3)


def test_spans_are_right_where_gold_is_the_likeliest_and_unknown_labels_are_left_out(classifier, documents):
    spans = list(gold_spans(classifier, [*documents, nearspan.markup("[Ada](ROBOT)")]).values())
    outputs = LabelProbabilities.of(classifier, spans)
    assert len(outputs.gold) == len(spans) - 1
    assert outputs.right.all()
    assert (outputs.discrepancy == 0).all()


def test_discrepancy_and_dispersion_are_as_the_page_defines_them():
    outputs = LabelProbabilities([], np.array([[0.0, 0.9, 0.1], [0.2, 0.2, 0.6], [1.0, 0.0, 0.0]]), np.array([1, 1, 2]))
    assert outputs.right.tolist() == [True, False, False]
    assert outputs.discrepancy.tolist() == pytest.approx([0, math.log2(3), math.log2(1 / LEAST)])
    variances = [np.var([0.0, 0.9, 0.1]), np.var([0.2, 0.2, 0.6]), np.var([1.0, 0, 0])]
    expected = [math.log10(v / p) for v, p in zip(variances, (0.9, 0.2, LEAST), strict=True)]
    assert outputs.dispersion.tolist() == pytest.approx(expected)


def test_losses_are_read_from_the_folder_of_a_model(folders, tmp_path):
    losses = training_losses(folders["classifier"])
    assert len(losses) == 25
    assert losses[-1] < losses[0]
    assert training_losses(None) == training_losses(tmp_path) == []
    (tmp_path / "metrics.jsonl").write_text("{}\n")
    with pytest.raises(ModelError, match="delete it"):
        training_losses(tmp_path)


def test_figures_of_extreme_values_are_drawn():
    assert "<svg" in losses([[0.0], [3.0, 1.0, 2.0]])
    right = np.array([True, False])
    picture = scatter(np.zeros((2, 2), np.float32), [0, 1], ["<one>", "two"], "name", ["x", "y"], right, line=1.0)
    assert "&lt;one&gt;" in picture
    none, single, same = np.array([]), np.array([0.3]), np.ones(5)
    assert "<svg" in violins({"A": [none, single], "B": [same, none]}, "violins")
