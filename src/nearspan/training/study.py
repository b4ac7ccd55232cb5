"""The study of a tuning: Optuna draws the settings and remembers the trials, in a file that survives a kill.

The file is SQLite's: a write that was cut short is rolled back when it is next opened. (Optuna's journal
file is not: after half a line it can no longer be read.)
"""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.exceptions import OptunaError
from optuna.trial import FrozenTrial, TrialState
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.pool import NullPool

from nearspan.config import Recipe
from nearspan.errors import NearspanError
from nearspan.training.space import Choice, Range, Space
from nearspan.training.trials import STUDY, State, Trial

LOCK = "study.lock"
STARTUP = 5  # trials that have to end before one may be pruned


class Study:
    """Trials in a file. What is drawn for a trial depends on seed, number and the results before it, and on no more."""

    def __init__(self, study: optuna.Study, space: Space, seed: int) -> None:
        self.study = study
        self.space = {one.key: _distribution(one) for one in space.variables}
        self.seed = seed

    def trials(self) -> list[Trial]:
        """All trials, with those that were interrupted."""
        made: list[Trial] = []
        count = 0
        for frozen in self._frozen():
            trial = _trial(frozen, count + 1, self._overrides(frozen.params))
            count += trial.state != "interrupted"
            made.append(trial)
        return made

    def ask(self) -> Asked:
        """The next trial."""
        trials = self.trials()
        number = 1 + sum(trial.state != "interrupted" for trial in trials)
        chance = random.Random(f"{self.seed} {number}").getrandbits(32)
        self.study.sampler = optuna.samplers.TPESampler(seed=chance, multivariate=False, constant_liar=False)
        asked = self.study.ask(self.space)
        drawn = self._overrides(asked.params)
        same = next((one for one in trials if one.state != "interrupted" and one.overrides == drawn), None)
        return Asked(self.study, asked, number, drawn, same)

    def recover(self) -> None:
        """Give up the trials that ran when a process was killed; their numbers are free again."""
        for frozen in self._frozen():
            if frozen.state == TrialState.RUNNING:
                self.study.tell(frozen.number, state=TrialState.FAIL)

    def _overrides(self, drawn: Mapping[str, Any]) -> tuple[str, ...]:
        """What was drawn, in the space's order; a choice is text already."""
        values = ((key, drawn[key]) for key in self.space if key in drawn)
        return tuple(f"{key}={value if isinstance(value, str) else repr(value)}" for key, value in values)

    def _frozen(self) -> Sequence[FrozenTrial]:
        return self.study.get_trials(deepcopy=False)


class Asked:
    """A trial that is under way."""

    def __init__(
        self, study: optuna.Study, trial: optuna.Trial, number: int, overrides: tuple[str, ...], same: Trial | None
    ) -> None:
        self.study = study
        self.trial = trial
        self.number = number
        self.overrides = overrides
        self.same = same  # an earlier trial with the same settings

    def begin(self, recipe: Recipe) -> None:
        """Before training; a third of the epochs passes before the trial may be pruned."""
        warmup = 1 + recipe.training.epochs // 3
        self.study.pruner = optuna.pruners.MedianPruner(n_startup_trials=STARTUP, n_warmup_steps=warmup)

    def report(self, epoch: int, f1: float) -> bool:
        """Tell an epoch's F1, and hear whether the trial may as well end."""
        self.trial.report(f1, epoch)
        return self.trial.should_prune()

    def end(self, state: State, seconds: float, error: str = "") -> None:
        """The trial has ended."""
        self.trial.set_user_attr("seconds", seconds)
        if state == "complete":
            self.study.tell(self.trial, self._best())
        elif state == "pruned":
            self.study.tell(self.trial, state=TrialState.PRUNED)
        else:
            self.trial.set_user_attr("error", error)
            self.study.tell(self.trial, state=TrialState.FAIL)

    def repeat(self, earlier: Trial) -> None:
        """End the trial as an earlier one with the same settings ended."""
        for epoch, f1 in enumerate(earlier.scores, start=1):
            self.trial.report(f1, epoch)
        self.trial.set_user_attr("same_as", earlier.number)
        self.end(earlier.state, 0.0, earlier.error)

    def _best(self) -> float:
        frozen = self.study.get_trials(deepcopy=False)[self.trial.number]
        return max(frozen.intermediate_values.values())


@contextmanager
def opened(folder: Path, name: str, space: Space, seed: int, *, resume: bool) -> Iterator[Study]:
    """The study of this name in a folder: a new one, or with `resume` the one that is there."""
    path = folder / STUDY
    verbosity = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        with _alone(folder):
            study = Study(_study(path, name, resume=resume), space, seed)
            study.recover()
            yield study
    except (SQLAlchemyError, OptunaError) as error:
        raise NearspanError(f"the study {path} cannot be read or written: {error}") from error
    finally:
        optuna.logging.set_verbosity(verbosity)


def _study(path: Path, name: str, *, resume: bool) -> optuna.Study:
    options = {"creator": lambda: sqlite3.connect(path), "poolclass": NullPool}
    try:
        storage = optuna.storages.RDBStorage("sqlite://", engine_kwargs=options)
    except RuntimeError as error:
        raise NearspanError(f"{path} was written by another version of optuna: {error}") from error
    if resume and any(other != name for other in optuna.get_all_study_names(storage)):
        raise NearspanError(
            f"{path} belongs to another tuning: its data, recipe, settings, space or seed differ. "
            "Give the same ones to resume, or another `out` to begin anew."
        )
    return optuna.create_study(storage=storage, study_name=name, direction="maximize", load_if_exists=resume)


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Keep a second process away; the system lets go of the lock when this one ends, however it ends."""
    try:
        lock = sqlite3.connect(folder / LOCK, timeout=0, isolation_level=None)
        lock.execute("BEGIN EXCLUSIVE")
    except sqlite3.Error as error:
        if "locked" not in str(error):
            raise NearspanError(f"cannot write to {folder}: {error}") from error
        raise NearspanError(f"{folder} is being tuned by another process: wait for it or stop it") from error
    with closing(lock):
        yield


def _distribution(one: Range | Choice) -> BaseDistribution:
    if isinstance(one, Choice):
        return CategoricalDistribution(one.values)
    if one.whole:
        return IntDistribution(int(one.low), int(one.high), one.log, 1 if one.step is None else int(one.step))
    return FloatDistribution(float(one.low), float(one.high), one.log, one.step)


def _trial(frozen: FrozenTrial, number: int, overrides: tuple[str, ...]) -> Trial:
    scores = tuple(f1 for _, f1 in sorted(frozen.intermediate_values.items()))
    kept = frozen.user_attrs
    seconds, error = float(kept.get("seconds", 0.0)), str(kept.get("error", ""))
    return Trial(number, _state(frozen), overrides, scores, seconds, error, kept.get("same_as"))


def _state(frozen: FrozenTrial) -> State:
    """A trial that fails says why; one that was interrupted could not."""
    if frozen.state == TrialState.COMPLETE:
        return "complete"
    if frozen.state == TrialState.PRUNED:
        return "pruned"
    return "failed" if frozen.state == TrialState.FAIL and "error" in frozen.user_attrs else "interrupted"
