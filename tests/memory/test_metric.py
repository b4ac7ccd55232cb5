"""A metric fitted in closed form on a memory of new labels: its equations, exact evidence, and edits."""

import shutil
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest
import torch

import nearspan
from nearspan.heads import Query
from nearspan.memory import Editor
from nearspan.model import Model, metric
from nearspan.spans.metric import word_features

DOCUMENTS = [
    nearspan.markup(f"[{name}](DRUG) {verb} my [{organ}](ORGAN) well")
    for (name, verb), organ in product((("Aspirin", "helped"), ("Valium", "hurt")), ("head", "arm", "leg", "knee"))
]


@pytest.fixture
def editor(folders, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Editor:
    """A memory with a metric, whether it reads better so or not."""
    best = metric.best_vote
    monkeypatch.setattr(metric, "best_vote", lambda *given: (best(*given)[0], 2.0))
    shutil.copytree(folders["instance"], tmp_path / "model")
    editor = Editor.open(tmp_path / "model", device="cpu")
    editor.model.network.head.fits_metric = True
    editor.build(DOCUMENTS, labels_from=DOCUMENTS)
    return editor


def query_of(model: Model, text: str) -> Query:
    corpus = model.encode(model.split(nearspan.Document(text)))
    return Query(model.network, corpus.batch(torch.tensor([0])), model.datastore)


@torch.inference_mode()
def test_spans_are_mapped_as_the_equation_says(editor: Editor):
    query = query_of(editor.model, "Codeine helped my arm")
    fitted = editor.model.datastore.metric
    words = word_features(query.encoded)[0].double()
    nothing = torch.zeros_like(words[0])
    for row, (first, stop) in enumerate(zip(query.candidates.first, query.candidates.stop, strict=True)):
        inside = [words[place] for place in range(first, stop)]
        before = words[first - 1] if first else nothing
        after = words[stop] if stop < len(words) else nothing
        parts = [sum(inside) / len(inside), inside[0], inside[-1], before, after, query.span_vectors[row].double()]
        mapped = torch.cat(parts) @ fitted.weights.double() + fitted.bias.double()
        expected = fitted.sharpness**0.5 * mapped / mapped.norm()
        assert torch.allclose(query.vectors[row].double(), expected, atol=1e-4)


@torch.inference_mode()
def test_the_map_solves_penalised_least_squares_without_the_sentence_that_it_maps(editor: Editor):
    model, datastore = editor.model, editor.model.datastore
    corpus = model.encode(model.label_documents(DOCUMENTS).sentences)
    queries = [Query(model.network, batch) for batch in corpus.reading_batches()]
    fit = metric._Fit.of(datastore, datastore.sentence, queries)
    for left_out in range(-1, len(DOCUMENTS)):
        seen = fit.group != left_out
        roots = fit.weights[seen, None].double().sqrt()
        inputs, targets = fit.inputs[seen].double() * roots, fit.targets[seen].double() * roots
        penalty = (metric.PENALTY * fit.weights.sum().double()).sqrt() * torch.eye(inputs.shape[1], dtype=torch.double)
        penalty = penalty[:-1]
        padded = torch.cat([targets, torch.zeros(len(penalty), targets.shape[1], dtype=torch.double)])
        solved = torch.linalg.lstsq(torch.cat([inputs, penalty]), padded).solution
        weights = solved[:-1] / fit.deviation[:, None].double()
        assert torch.allclose(fit.metric(left_out).weights.double(), weights, atol=1e-3)
        if left_out >= 0:
            keys = datastore.vectors[datastore.sentence == left_out]
            [query] = [each for each in queries if left_out in each.batch.ids]
            rows = (query.batch.ids[query.candidates.sentence] == left_out).nonzero().flatten()
            mapped = fit.metric(left_out).project(query.encoded, query.candidates, query.span_vectors, rows)
            assert torch.allclose(keys, mapped, atol=1e-4)


@torch.inference_mode()
def test_a_probability_is_the_sum_of_its_evidence(editor: Editor):
    model = editor.model.set_search("whole")
    query, datastore = query_of(model, "Codeine helped my arm"), model.datastore
    probabilities = model.network.predict_proba(query)
    votes, temperature = datastore.vote.label_weights(datastore.names), datastore.vote.temperature
    sharpness = datastore.metric.sharpness
    for row in range(len(probabilities)):
        mapped = query.vectors[row].double()
        weights = [
            votes[label].double() * ((mapped @ key.double() + sharpness**0.5 * mapped[label]) / temperature).exp()
            for key, label in zip(datastore.vectors, datastore.labels, strict=True)
        ]
        naive = torch.zeros(len(datastore.names), dtype=torch.double)
        naive.index_add_(0, datastore.labels, torch.stack(weights) / sum(weights))
        contributions = model.network.head.contributions(query, row)
        shares = torch.zeros_like(naive)
        shares.index_add_(0, datastore.labels[contributions.rows], contributions.weights)
        assert torch.allclose(shares, naive, atol=1e-6)
        assert torch.allclose(probabilities[row].double(), naive, atol=1e-5)


def test_a_metric_is_kept_in_the_folder_and_maps_what_is_added(editor: Editor, tmp_path: Path):
    document, span = nearspan.Document("Morphine calmed my back"), nearspan.Span.of(0, 8)
    before = editor.model.explain_span(document, span).probabilities
    editor.add("[Morphine](DRUG) calmed my [back](ORGAN)", weight=100.0)
    after = editor.model.explain_span(document, span).probabilities
    assert after != pytest.approx(before)
    editor.model.save(tmp_path / "copy")
    for folder in (editor.folder, tmp_path / "copy"):
        loaded = nearspan.load(folder, device="cpu")
        assert torch.equal(loaded.datastore.metric.weights, editor.model.datastore.metric.weights)
        read = loaded.explain_span(document, span).probabilities
        assert read == pytest.approx(after, abs=1e-5)
    editor.undo()
    undone = editor.model.explain_span(document, span).probabilities
    assert undone == pytest.approx(before, abs=1e-5)


def test_another_memory_of_the_same_model_is_compared_without_it(editor: Editor):
    model, fitted = editor.model, editor.model.datastore
    query = query_of(model, "Codeine helped my arm")
    plain = replace(fitted, metric=None, vectors=torch.zeros(len(fitted), model.network.span_size))
    assert query.vectors.shape[1] == fitted.metric.size
    assert torch.equal(query.with_datastore(plain).vectors, query.span_vectors)
    assert query.with_datastore(fitted).vectors is query.vectors


def test_labels_that_training_knew_are_compared_as_training_left_them(editor: Editor):
    documents = [nearspan.markup(f"[Oslo](PLACE) is cold {word}") for word in ("now", "today", "again", "here", "too")]
    editor.build(documents)
    assert editor.model.datastore.metric is None
    assert editor.model.network.metric is None


def test_entities_of_new_labels_overlap_as_the_memory_has_them(editor: Editor):
    model = editor.model
    model.trained_overlap = "any"
    editor.build(DOCUMENTS, labels_from=DOCUMENTS)
    assert model.overlap == "flat"
    nested = nearspan.Document(
        "Aspirin helped",
        (nearspan.Entity(nearspan.Span.of(0, 7), "DRUG"), nearspan.Entity(nearspan.Span.of(0, 14), "ACT")),
    )
    editor.add(nested, weight=1)
    assert model.overlap == "nested"
    editor.add("[Oslo](PLACE) is cold", weight=1)
    assert model.overlap == "any"
