"""Span classification: spans are given, none is null, and the scores are never called recognition."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
import torch

import nearspan
from nearspan.config import Recipe
from nearspan.document import Document, Entity, Span
from nearspan.errors import ConfigError, EditError, NearspanError
from nearspan.memory.editor import Editor

QUICK = ("suggester.kind=given", "training.epochs=20", "training.learning_rate=0.02")
SNG = ("encoder.vectors.size=8", "representation.size=4", "training.batch=4", *QUICK)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, documents: Sequence[Document]) -> Path:
    """The folder of a model that knows the labels of its training data by heart."""
    out = tmp_path_factory.mktemp("typing") / "sng"
    nearspan.train(nearspan.recipe("sng").override(SNG), documents, documents, documents, out=out, device="cpu")
    return out


def test_a_model_learns_the_labels_of_given_spans(folder: Path, documents: Sequence[Document]):
    model = nearspan.load(folder, device="cpu")
    evaluation = nearspan.evaluate(model, documents)
    assert evaluation.scores.accuracy == 1.0
    assert evaluation.baseline is not None
    assert evaluation.baseline.accuracy == 1.0
    assert [document.entities for document in evaluation.predicted] == [document.entities for document in documents]


def test_the_record_of_a_run_has_no_score_of_recognition(folder: Path):
    result = json.loads((folder / "result.json").read_text())
    assert result["test"]["task"] == "span classification"
    assert "f1" not in result["test"]
    assert set(json.loads((folder / "metrics.jsonl").read_text().splitlines()[0])) == {
        "epoch",
        "loss",
        "seconds",
        "accuracy",
        "classification_macro_f1",
    }
    card = (folder / "README.md").read_text()
    assert "| accuracy |" in card
    assert "majority by string: accuracy" in card
    assert "| F1 |" not in card


def test_recognition_scores_are_refused(folder: Path, documents: Sequence[Document]):
    with pytest.raises(NearspanError, match="no precision, recall or F1"):
        _ = nearspan.evaluate(nearspan.load(folder, device="cpu"), documents).scores.f1


def test_documents_are_labelled_anew_and_bare_text_is_refused(folder: Path, documents: Sequence[Document]):
    model = nearspan.load(folder, device="cpu")
    wrong = [document.with_entities(Entity(e.span, "?") for e in document.entities) for document in documents]
    assert [document.entities for document in model.pipe(wrong)] == [document.entities for document in documents]
    with pytest.raises(NearspanError, match="spans that are given"):
        list(model.pipe(["Ada lives in Oslo"]))


def test_null_has_no_probability_and_the_datastore_holds_entities_alone(folder: Path, documents: Sequence[Document]):
    model = nearspan.load(folder, device="cpu")
    evidence = model.explain_span(documents[0], documents[0].entities[0].span)
    assert evidence.label == documents[0].entities[0].label
    assert evidence.probabilities[""] == 0
    assert model.datastore is not None
    assert len(model.datastore) == sum(len(document.entities) for document in documents)
    assert int(model.datastore.labels.min()) > 0


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("instance", ()),
        ("classifier", ("head.null=learned",)),
        ("classifier", ("representation.kind=endpoint_mean", "head.kind=sigmoid")),
        ("classifier", ("representation.kind=endpoint_mlp", "representation.end_size=6", "head.kind=biaffine")),
        ("classifier", ("representation.kind=pooling", "representation.projection.size=8", "bottleneck.size=6")),
        ("classifier", ("representation.kind=span_bilstm", "representation.size=4", "representation.context=true")),
        ("classifier", ("encoder.sentence_context.pooling=labels", "encoder.word_memory.similarity=dot")),
    ],
)
def test_any_span_head_can_classify_given_spans(
    name: str, settings, tiny: Callable[..., Recipe], documents, tmp_path: Path
):
    run = nearspan.train(tiny(name, *settings, *QUICK), documents, documents, out=tmp_path / "run", device="cpu")
    assert run.dev is not None
    assert run.dev.value > 0.9
    again = nearspan.load(tmp_path / "run", device="cpu")
    assert nearspan.evaluate(again, documents).scores == run.dev.scores


def test_a_discontinuous_entity_is_classified_by_its_fragments(tmp_path: Path):
    text = "pain in arms and legs"
    documents = [Document(text, (Entity(Span(((0, 7), (17, 21))), "ADR"), Entity.of(8, 12, "BODY")))] * 6
    run = nearspan.train(nearspan.recipe("sng").override(SNG), documents, documents, out=tmp_path / "run", device="cpu")
    assert run.dev is not None
    assert run.dev.value == 1.0
    assert run.dev.predicted[0].entities == documents[0].entities
    texts = [(evidence.text, evidence.label) for evidence in run.model.explain(documents[0])]
    assert texts == [("pain in", "ADR"), ("legs", "ADR"), ("arms", "BODY")]
    with pytest.raises(NearspanError, match="ask about each of them"):
        run.model.explain_span(documents[0], documents[0].entities[0].span)


def test_the_datastore_of_given_spans_is_interpolated_and_not_edited(folder: Path, documents: Sequence[Document]):
    model = nearspan.load(folder, device="cpu").interpolate(1.0, "neighbours=1")
    assert nearspan.evaluate(model, documents).scores.accuracy == 1.0
    evidence = model.explain_span(documents[0], documents[0].entities[0].span)
    assert evidence.weight == 1.0
    assert evidence.knn_probabilities[documents[0].entities[0].label] == pytest.approx(1.0)
    with pytest.raises(EditError, match="classifies spans that are given"):
        Editor.open(folder, device="cpu")


def test_documents_are_remembered_as_they_were_in_training(folder: Path, documents: Sequence[Document]):
    model = nearspan.load(folder, device="cpu")
    before = model.datastore
    after = model.build_datastore(model.label_documents(documents))
    assert before is not None
    assert after.sentences == before.sentences
    assert torch.equal(after.labels, before.labels)


def test_an_audit_is_refused(folder: Path, documents: Sequence[Document]):
    with pytest.raises(NearspanError, match="no opinion on what is an entity"):
        nearspan.audit(nearspan.load(folder, device="cpu"), documents)


def test_what_is_about_all_spans_is_refused(tiny, documents, tmp_path: Path):
    recipe = tiny("classifier", "suggester.kind=given", "losses.boundary_smoothing.epsilon=0.1")
    with pytest.raises(ConfigError, match=r"losses\.boundary_smoothing=none"):
        nearspan.train(recipe, documents, out=tmp_path / "run", device="cpu")
    words = tiny("classifier", "suggester.kind=given", "fragment_linker=none", "head.kind=crf")
    with pytest.raises(ConfigError, match="the crf head reads words"):
        nearspan.train(words, documents, out=tmp_path / "crf", device="cpu")
    with pytest.raises(ConfigError, match="F1 of recognition"):
        nearspan.tune(
            tiny("classifier", "suggester.kind=given"),
            documents,
            documents,
            space={"training.batch": "4|8"},
            out=tmp_path,
        )


# A batch of all sentences

STEADY = ("encoder.bilstm.dropout=0.0", "encoder.vectors.singletons=0", "training.epochs=2", "training.decay=0")


def test_a_batch_of_all_sentences_is_one_step_an_epoch(tiny, documents, tmp_path: Path, monkeypatch):
    """In parts or at once, the weights are the same."""
    weights = []
    for name, settings, part in (("all", ["training.batch=0"], 5), ("at once", ["training.batch=12"], 64)):
        monkeypatch.setattr("nearspan.training.trainer.PART", part)
        run = nearspan.train(tiny("classifier", *STEADY, *settings), documents, out=tmp_path / name, device="cpu")
        weights.append(torch.nn.utils.parameters_to_vector(run.model.network.parameters()))
    torch.testing.assert_close(weights[0], weights[1], rtol=1e-3, atol=1e-4)
