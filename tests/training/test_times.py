"""How often the spans of entities count, fitted on development data at the end of a training."""

from copy import copy
from dataclasses import replace
from types import SimpleNamespace

import pytest

import nearspan
from nearspan.evaluation import Evaluator
from nearspan.evaluation.scores import Counts, Scores
from nearspan.knn import AS_TRAINED
from nearspan.training import thresholds
from nearspan.training.thresholds import fit_times


class Scorer:
    """Scores a model by how often the spans of its entities count."""

    def __init__(self, model, f1: dict[float, float]) -> None:
        self.model, self.f1 = model, f1

    def evaluate(self):
        return SimpleNamespace(value=self.f1[self.model.datastore.vote.known_times])


@pytest.mark.parametrize(
    ("f1", "times"),
    [
        ({1.0: 0.5, 1.4: 0.6, 2.0: 0.7, 2.8: 0.6}, 2.0),
        ({1.0: 0.5, 1.4: 0.5}, 1.0),  # no better, and no further
        ({1.0: 0.5, 1.4: 0.6, 2.0: 0.6, 2.8: 0.9}, 1.4),
    ],
)
def test_numbers_are_tried_as_long_as_f1_rises(run, f1, times):
    model = copy(run.model)
    model.datastore = replace(model.datastore, vote=AS_TRAINED)
    scores = fit_times(Scorer(model, f1), SimpleNamespace(value=f1[1.0]))
    assert scores.value == f1[times]
    assert model.datastore.vote.known_times == times
    assert model.datastore.vote == AS_TRAINED or model.datastore.vote.known == {"PERSON", "PLACE"}


@pytest.fixture(scope="module")
def run(tiny, documents, tmp_path_factory):
    """A training that knows half of its development sentences, after which entities count 2.5 times."""
    recipe = tiny("instance", "head.tune_times=true", "training.epochs=4", "training.learning_rate=0.02")
    folder = tmp_path_factory.mktemp("runs") / "m"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(thresholds, "TIMES", (2.5,))
        patch.setattr(Evaluator, "evaluate", _best_with_2_5(Evaluator.evaluate))
        return nearspan.train(recipe, documents[:8], documents, out=folder, device="cpu")


def _best_with_2_5(evaluate):
    def score(evaluator):
        times = evaluator.model.datastore.vote.known_times
        scores = Counts(1, 1, 1) if times == 2.5 else Counts(0, 1, 1)
        return replace(evaluate(evaluator), scores=Scores({"PERSON": scores}))

    return score


def test_the_training_keeps_what_is_best(run):
    assert run.model.datastore.vote.known_times == 2.5
    assert run.dev.value == 1


def test_a_saved_model_and_its_edits_keep_the_number(run, tmp_path):
    model = nearspan.load(run.model.path)
    fitted = run.model.datastore.vote
    assert model.datastore.vote == fitted
    model.memory.add("[Vienna](PLACE) is cold")
    assert model.datastore.vote == fitted
    model.memory.add("[Aspirin](DRUG) helped [Eve](PERSON)")
    assert model.datastore.vote.known_times == fitted.known_times
    model.memory.undo()
    model.memory.undo()
    assert nearspan.load(run.model.path).datastore.vote == fitted


def test_without_the_setting_every_span_counts_once(tiny, documents, tmp_path):
    run = nearspan.train(tiny("instance"), documents, documents[:4], out=tmp_path / "m", device="cpu")
    assert run.model.datastore.vote == AS_TRAINED
