"""Tuning: the trials, which of them are pruned, the files they leave, and a process that is killed."""

import json
import multiprocessing
import os
import signal
import sys
import tomllib
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from rich.console import Console
from sqlalchemy import event
from sqlalchemy.engine import Engine

import nearspan
from nearspan.errors import ConfigError, NearspanError, ResourceError
from nearspan.formats import Synonyms
from nearspan.training.checkpoint import Progress
from nearspan.training.tuning import tuner

RATES = {"training.learning_rate": "1e-4..1e-1:log"}


def rows(folder: Path) -> list[dict]:
    return [json.loads(line) for line in (folder / "trials.jsonl").read_text().splitlines()]


def rows_without_times(folder: Path) -> list[dict]:
    return [{**row, "seconds": 0} for row in rows(folder) if row["state"] != "interrupted"]


def die(*_, **__) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def run_until_killed(work) -> None:
    process = multiprocessing.get_context("fork").Process(target=work)
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL


def rising_with_rate(recipe, epoch: int) -> float:
    """The higher the rate, the better from the first epoch on."""
    return min(1.0, recipe.training.learning_rate * 10) * epoch / recipe.training.epochs


@pytest.fixture(autouse=True)
def _quick_disk():
    """Do not wait for the disk: a kill loses nothing by it, only a power cut would."""

    def relax(connection, _):
        connection.execute("PRAGMA synchronous=OFF")

    event.listen(Engine, "connect", relax)
    yield
    event.remove(Engine, "connect", relax)


@pytest.fixture
def stub(monkeypatch):
    """Trainings that only follow a curve of development F1; the recipes that were trained."""

    def use(curve=rising_with_rate):
        trained = []

        def follow(recipe, train, dev, *, out, seed, device, callbacks, synonyms):
            trained.append(recipe)
            out.mkdir()
            (out / "half a model").write_text("x")
            (callback,) = callbacks
            callback.on_train_begin(recipe, None, out, None)
            for epoch in range(1, recipe.training.epochs + 1):
                scored = SimpleNamespace(value=curve(recipe, epoch))
                callback.on_epoch_end(Progress("", "", epoch=epoch, done=epoch == recipe.training.epochs), scored)

        monkeypatch.setattr(tuner, "train_recipe", follow)
        return trained

    return use


@pytest.fixture
def tune(tiny, documents, tmp_path: Path):
    def run(out: str = "t", *settings: str, space=RATES, trials: int = 4, **options):
        recipe = tiny("classifier", "training.epochs=3", *settings)
        options = {"train": documents, "dev": documents[:4], **options}
        return nearspan.tune(recipe, space=space, out=tmp_path / out, trials=trials, device="cpu", **options)

    return run


def test_the_better_of_two_obvious_values_is_found_and_its_recipe_trains(tune, documents, tmp_path: Path):
    space = {"training.learning_rate": [1e-7, 0.03], "training.batch": [2, 12]}
    result = tune("t", "training.epochs=8", space=space, trials=3, dev=documents)
    assert result.best.settings["training.learning_rate"] == 0.03
    assert result.recipe.training.learning_rate == 0.03
    best = nearspan.recipe(tmp_path / "t" / "best.toml")
    assert best == result.recipe
    assert best.name == "classifier-tuned"
    assert f"Tuned: trial {result.best.number} with seed 0, development F1" in best.about
    run = nearspan.train(best, documents, documents, out=tmp_path / "m", device="cpu")
    assert run.dev.scores.f1 == result.best.f1
    assert run.best_epoch == result.best.best_epoch
    left = sorted(path.name for path in (tmp_path / "t").iterdir())
    assert left == ["best.toml", "study.db", "trials.jsonl"]


def test_trials_learn_synonyms(tune, documents, monkeypatch):
    table, passed, train_recipe = Synonyms([("Ada", "Countess of Lovelace")]), [], tuner.train_recipe

    def watch(*arguments, synonyms, **options):
        passed.append(synonyms)
        return train_recipe(*arguments, synonyms=synonyms, **options)

    monkeypatch.setattr(tuner, "train_recipe", watch)
    settings = ("losses.generators.pretraining=0", "losses.generators.size=4", "training.epochs=1")
    assert tune("t", *settings, trials=1, dev=documents, synonyms=table).trials[0].state == "complete"
    assert passed == [table]


@pytest.mark.parametrize("name", ["instance", "classifier"])
def test_a_trial_scores_what_training_scores(tiny, documents, tmp_path: Path, name: str):
    recipe = tiny(name, "training.epochs=5", "training.learning_rate=0.05")
    space = {"training.batch": "3..4"}
    result = nearspan.tune(
        recipe, documents, documents, space=space, out=tmp_path / "t", trials=1, seed=3, device="cpu"
    )
    run = nearspan.train(result.recipe, documents, documents, out=tmp_path / "m", seed=3, device="cpu")
    epochs = [json.loads(line)["f1"] for line in (tmp_path / "m" / "metrics.jsonl").read_text().splitlines()]
    assert list(result.best.scores) == epochs
    assert run.dev.scores.f1 == result.best.f1 > 0


def test_the_same_tuning_tries_the_same(tune, stub, tmp_path: Path):
    stub()
    space = {**RATES, "training.batch": [2, 4], "suggester.max_width": "2..6:2", "training.clip": "1..5"}
    for out, seed, trials in (("a", 1, 12), ("b", 1, 12), ("c", 2, 1)):
        tune(out, space=space, trials=trials, seed=seed)
    assert rows_without_times(tmp_path / "a") == rows_without_times(tmp_path / "b")
    assert rows_without_times(tmp_path / "a")[:1] != rows_without_times(tmp_path / "c")


def test_draws_stay_in_the_space(tune, stub):
    trained = stub()
    space = {
        "representation.kind": ["lstm_minus", "endpoint_mlp"],
        "suggester.max_width": "2..6:2",
        "training.learning_rate": "1e-3..1e-2:log",
        "training.batch": "3..5",
        "encoder.vectors": "none | { size = 4 }",
    }
    tune(space=space, trials=12)
    assert {recipe.representation.kind for recipe in trained} == {"lstm_minus", "endpoint_mlp"}
    assert {recipe.suggester.max_width for recipe in trained} == {2, 4, 6}
    assert {recipe.training.batch for recipe in trained} == {3, 4, 5}
    assert {recipe.encoder.vectors is None for recipe in trained} == {True, False}
    assert all(1e-3 <= recipe.training.learning_rate <= 1e-2 for recipe in trained)


def test_a_trial_that_is_worse_than_the_median_is_pruned(tune, stub, tmp_path: Path):
    stub()
    result = tune("t", "training.epochs=9", trials=14)
    pruned = [trial for trial in result.trials if trial.state == "pruned"]
    assert pruned
    assert all(trial.number > 5 and 4 <= len(trial.scores) < 9 for trial in pruned)
    complete = [trial for trial in result.trials if trial.state == "complete"]
    assert all(len(trial.scores) == 9 for trial in complete)
    assert max(trial.f1 for trial in pruned) < result.best.f1
    assert not (tmp_path / "t" / "trial").exists()


def test_the_best_epoch_counts_not_the_last(tune, stub, tmp_path: Path):
    stub(lambda recipe, epoch: 0.9 if epoch == 2 else 0.1)
    result = tune(trials=1)
    assert (result.best.f1, result.best.best_epoch) == (0.9, 2)
    assert repr(result) == "TuningResult(classifier-tuned, trials: 1, best dev F1 90.00)"
    assert rows(tmp_path / "t") == [
        {
            "trial": 1,
            "state": "complete",
            "settings": result.best.settings,
            "f1": 0.9,
            "best_epoch": 2,
            "f1_by_epoch": [0.1, 0.9, 0.1],
            "seconds": round(result.best.seconds, 3),
        }
    ]


def test_settings_that_were_tried_are_not_trained_again(tune, stub, tmp_path: Path):
    trained = stub()
    result = tune(space={"training.batch": [2, 3]}, trials=6)
    assert len(trained) == 2
    assert len(result.trials) == 6
    again = [row for row in rows(tmp_path / "t") if "same_as" in row]
    assert len(again) == 4
    assert all(row["f1_by_epoch"] == rows(tmp_path / "t")[row["same_as"] - 1]["f1_by_epoch"] for row in again)


def failing_above_a_rate(recipe, epoch: int) -> float:
    if recipe.training.learning_rate > 3e-3:
        raise NearspanError("the loss is nan")
    if recipe.training.learning_rate > 1e-3:
        raise torch.cuda.OutOfMemoryError("out of memory")
    return rising_with_rate(recipe, epoch)


def test_a_trial_that_fails_does_not_end_the_tuning(tune, stub, tmp_path: Path):
    stub(failing_above_a_rate)
    result = tune(trials=12)
    errors = {trial.error for trial in result.trials if trial.state == "failed"}
    assert errors == {"the loss is nan", "out of memory"}
    assert result.best.settings["training.learning_rate"] <= 1e-3
    assert [row["trial"] for row in rows(tmp_path / "t")] == list(range(1, 13))


def test_a_loss_that_is_no_number_fails_the_trial(tune):
    with pytest.raises(NearspanError, match=r"all 2 trials failed; the last one: the loss is (nan|inf)"):
        tune("t", "training.epochs=20", space={"training.learning_rate": "1e30..1e31"}, trials=2)


def test_what_fails_in_every_trial_ends_the_tuning_and_can_be_resumed(tune, stub):
    def missing(recipe, epoch):
        raise ResourceError("no vectors")

    stub(missing)
    with pytest.raises(NearspanError, match="all 5 trials failed; the last one: no vectors"):
        tune(trials=100)
    stub()
    assert [trial.state for trial in tune(trials=7, resume=True).trials] == ["failed"] * 5 + ["complete"] * 2


def test_an_interrupted_tuning_keeps_what_is_there(tune, stub, tmp_path: Path):
    trained = stub(lambda recipe, epoch: rising_with_rate(recipe, epoch) if len(trained) < 3 else interrupt())

    def interrupt():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tune()
    assert [row["state"] for row in rows(tmp_path / "t")] == ["complete", "complete", "interrupted"]
    assert (tmp_path / "t" / "best.toml").exists()
    assert not (tmp_path / "t" / "trial").exists()


def test_killed_in_a_trial_and_resumed_it_tries_the_same(tune, stub, tmp_path: Path):
    trained = stub()
    tune("whole", trials=12)
    trained.clear()
    with_death = stub(
        lambda recipe, epoch: die() if len(with_death) == 4 and epoch == 2 else rising_with_rate(recipe, epoch)
    )
    run_until_killed(lambda: tune("cut", trials=12))
    assert (tmp_path / "cut" / "trial").exists()
    assert len(rows(tmp_path / "cut")) == 3
    stub()
    result = tune("cut", trials=12, resume=True)
    assert [trial.number for trial in result.trials if trial.state == "interrupted"] == [4]
    assert result.trials[3].settings == result.trials[4].settings
    assert rows_without_times(tmp_path / "cut") == rows_without_times(tmp_path / "whole")
    assert (tmp_path / "cut" / "best.toml").read_text() == (tmp_path / "whole" / "best.toml").read_text()
    assert not (tmp_path / "cut" / "trial").exists()


WRITES = ("CREATE TABLE trials", "INSERT INTO studies", "UPDATE trials SET number", "INSERT INTO trial_values")


def test_killed_in_a_write_to_the_study(tune, stub, tmp_path: Path):
    stub()
    tune("whole", trials=2)

    def die_in_write(write: str, out: str):
        def listen(connection, cursor, statement, *_):
            if write in statement:  # done, and not yet committed
                die()

        event.listen(Engine, "after_cursor_execute", listen)
        tune(out, trials=2)

    for number, write in enumerate(WRITES):
        run_until_killed(lambda write=write, number=number: die_in_write(write, str(number)))
        tune(str(number), trials=2, resume=True)
        assert rows_without_times(tmp_path / str(number)) == rows_without_times(tmp_path / "whole")


def test_resume_goes_on_to_so_many_trials_in_all(tune, stub, tmp_path: Path):
    trained = stub()
    tune(trials=3)
    before = rows(tmp_path / "t")
    assert len(tune(trials=5, resume=True).trials) == 5
    assert rows(tmp_path / "t")[:3] == before
    assert len(tune(trials=2, resume=True).trials) == 5
    assert len(trained) == 5


def test_a_used_folder_is_refused_and_an_empty_one_cannot_be_resumed(tune, stub, tmp_path: Path):
    stub()
    with pytest.raises(NearspanError, match=r"nothing to resume in .*: there is no study\.db"):
        tune(resume=True)
    tune()
    with pytest.raises(NearspanError, match="already holds a tuning: give another `out`, or `resume`"):
        tune()


def test_a_folder_whose_name_is_too_long_is_a_clear_error(tune, stub):
    stub()
    with pytest.raises(NearspanError, match="cannot make the folder"):
        tune("x" * 300)


def test_another_tunings_study_is_refused(tune, stub, documents, tmp_path: Path):
    stub()
    tune()
    before = (tmp_path / "t" / "study.db").read_bytes()
    for settings, options in (
        (["training.clip=3"], {}),
        ([], {"space": {**RATES, "training.batch": [2, 3]}}),
        ([], {"space": {"training.learning_rate": "1e-4..1e-1"}}),
        ([], {"train": documents[:-1]}),
        ([], {"dev": documents[:5]}),
        ([], {"seed": 1}),
        ([], {"synonyms": Synonyms([("Ada", "Countess of Lovelace")])}),
    ):
        with pytest.raises(NearspanError, match="belongs to another tuning"):
            tune("t", *settings, resume=True, **options)
    assert (tmp_path / "t" / "study.db").read_bytes() == before
    tune("t", "training.checkpoint_minutes=1", resume=True)


def test_a_damaged_study_is_a_clear_error(tune, stub, tmp_path: Path):
    stub()
    tune()
    (tmp_path / "t" / "study.db").write_bytes(b"\xff" * 5000)
    with pytest.raises(NearspanError, match="cannot be read or written"):
        tune(resume=True)


def test_two_at_a_time_are_refused(tune, stub):
    def twice(recipe, epoch):
        with pytest.raises(NearspanError, match="is being tuned by another process"):
            tune(resume=True)
        return rising_with_rate(recipe, epoch)

    stub(twice)
    assert len(tune(trials=1).trials) == 1


def test_wrong_calls_are_refused_before_anything_is_written(tune, monkeypatch, tmp_path: Path):
    with pytest.raises(ConfigError, match="development documents"):
        tune(dev=())
    with pytest.raises(ConfigError, match="`trials` is a number from 1"):
        tune(trials=0)
    with pytest.raises(ConfigError, match="did you mean 'batch'"):
        tune(space={"training.batches": "1..3"})
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(ConfigError, match="one process"):
        tune()
    assert not (tmp_path / "t").exists()


def test_without_optuna_it_says_how_to_get_it(tune, monkeypatch, tmp_path: Path):
    monkeypatch.setitem(sys.modules, "optuna", None)
    monkeypatch.delitem(sys.modules, "nearspan.training.tuning.study", raising=False)
    monkeypatch.delattr("nearspan.training.tuning.study", raising=False)
    with pytest.raises(ResourceError, match=r"pip install 'nearspan\[tune\]'"):
        tune()
    assert not (tmp_path / "t").exists()


def test_folders_with_odd_names_and_a_space_from_a_file(tune, stub, tmp_path: Path):
    stub()
    (tmp_path / "space.toml").write_text('training.learning_rate = "1e-4..1e-1:log"')
    tune("ø {x}?%20#", space=tmp_path / "space.toml", trials=2)
    tune("ø {x}?%20#", space=RATES, trials=3, resume=True)
    assert tomllib.loads((tmp_path / "ø {x}?%20#" / "best.toml").read_text())["name"] == "classifier-tuned"


def test_progress_is_shown(tune, stub):
    stub(failing_above_a_rate)
    console = Console(record=True, width=120, force_terminal=True)
    tune(trials=9, console=console)
    shown = console.export_text()
    for part in ("trial 9/9", "failed: the loss is nan", "dev F1", "training.learning_rate=", "best "):
        assert part in shown
