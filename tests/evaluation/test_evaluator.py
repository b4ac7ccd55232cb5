"""The evaluator: what documents may be, and which scores a model gets."""

from pathlib import Path

import torch

import nearspan
from nearspan.evaluation import ClassificationScores, Evaluator, Scores


def test_documents_may_be_a_file_a_corpus_a_list_or_a_generator(classifier, documents, tmp_path: Path):
    path = tmp_path / "gold.jsonl"
    nearspan.write(documents, path)
    expected = nearspan.evaluate(classifier, documents)
    for gold in (path, str(path), nearspan.read(path), (document for document in documents)):
        evaluation = nearspan.evaluate(classifier, gold)
        assert evaluation.scores == expected.scores
        assert evaluation.coverage == expected.coverage


def test_a_model_that_finds_entities_is_scored_by_f1(classifier, documents):
    evaluation = nearspan.evaluate(classifier, documents)
    assert type(evaluation.scores) is Scores
    assert (evaluation.measure, evaluation.value) == ("F1", evaluation.scores.f1)
    assert "task" not in evaluation.to_dict()
    score = f"{100 * evaluation.value:.2f}"
    assert repr(evaluation) == f"Evaluation(F1 {score}, 22 entities in 12 sentences; all reachable)"


def test_a_model_of_given_spans_is_scored_by_accuracy_beside_the_majority_by_string(tiny, documents, tmp_path: Path):
    run = nearspan.train(tiny("classifier", "suggester.kind=given"), documents, out=tmp_path / "m", device="cpu")
    evaluation = nearspan.evaluate(run.model, documents)
    assert isinstance(evaluation.scores, ClassificationScores)
    assert (evaluation.measure, evaluation.value) == ("accuracy", evaluation.scores.accuracy)
    assert evaluation.baseline is not None
    assert evaluation.to_dict()["baseline"]["accuracy"] == evaluation.baseline.accuracy == 1.0
    assert [[entity.span for entity in document.entities] for document in evaluation.predicted] == [
        [entity.span for entity in document.entities] for document in documents
    ]


def test_an_evaluator_scores_the_model_as_it_is_now(classifier, documents):
    evaluator = Evaluator(classifier, documents)
    before = evaluator.evaluate()
    with torch.no_grad():
        for weight in classifier.network.parameters():
            weight.zero_()
    assert evaluator.evaluate().value < before.value
    assert evaluator.evaluate().coverage == before.coverage
