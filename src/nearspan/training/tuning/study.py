"""The study of a tuning: Optuna draws the settings and keeps the trials, in a file that survives a kill.

The file is SQLite's: a write that was cut short is rolled back when it is next opened. (Optuna's journal file cannot be
read any more after half a line.)
"""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
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
from nearspan.training.tuning.space import Space
from nearspan.training.tuning.trials import STUDY, State, Trial
from nearspan.training.tuning.variables import Choice, Variable

LOCK = "study.lock"
STARTUP = 5  # trials that have to end before one may be pruned


class Study:
    """Trials in a file. The settings of a trial depend on the seed, its number and the results before it alone."""

    def __init__(self, study: optuna.Study, space: Space, seed: int) -> None:
        self.study = study
        self.space = {variable.key: _distribution(variable) for variable in space.variables}
        self.seed = seed

    def trials(self) -> list[Trial]:
        """All trials, with those that were interrupted."""
        trials: list[Trial] = []
        ended = 0
        for frozen in self._frozen_trials():
            trial = _trial(frozen, ended + 1, self._overrides(frozen.params))
            ended += trial.state != "interrupted"
            trials.append(trial)
        return trials

    def next_trial(self) -> RunningTrial:
        """Begin the next trial."""
        trials = self.trials()
        number = 1 + sum(trial.state != "interrupted" for trial in trials)
        chance = random.Random(f"{self.seed} {number}").getrandbits(32)
        self.study.sampler = optuna.samplers.TPESampler(seed=chance, multivariate=False, constant_liar=False)
        drawn = self.study.ask(self.space)
        overrides = self._overrides(drawn.params)
        earlier = (trial for trial in trials if trial.state != "interrupted" and trial.overrides == overrides)
        return RunningTrial(self.study, drawn, number, overrides, next(earlier, None))

    def recover(self) -> None:
        """Give up the trials that ran when a process was killed; their numbers are free again."""
        for frozen in self._frozen_trials():
            if frozen.state == TrialState.RUNNING:
                self.study.tell(frozen.number, state=TrialState.FAIL)

    def _overrides(self, parameters: Mapping[str, Any]) -> tuple[str, ...]:
        """The settings that were drawn, in the order of the space; a choice is text already."""
        values = ((key, parameters[key]) for key in self.space if key in parameters)
        return tuple(f"{key}={value if isinstance(value, str) else repr(value)}" for key, value in values)

    def _frozen_trials(self) -> Sequence[FrozenTrial]:
        return self.study.get_trials(deepcopy=False)


@dataclass(frozen=True)
class RunningTrial:
    """A trial that is under way."""

    study: optuna.Study
    trial: optuna.Trial
    number: int
    overrides: tuple[str, ...]
    same: Trial | None  # an earlier trial with the same settings

    def begin(self, recipe: Recipe) -> None:
        """Before training; a third of the epochs passes before the trial may be pruned."""
        warmup = 1 + recipe.training.epochs // 3
        self.study.pruner = optuna.pruners.MedianPruner(n_startup_trials=STARTUP, n_warmup_steps=warmup)

    def report(self, epoch: int, f1: float) -> bool:
        """Report the F1 of an epoch; whether the trial may be pruned."""
        self.trial.report(f1, epoch)
        return self.trial.should_prune()

    def end(self, state: State, seconds: float, error: str = "") -> None:
        """Record how the trial ended."""
        self.trial.set_user_attr("seconds", seconds)
        if state == "complete":
            self.study.tell(self.trial, self._best_f1())
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

    def _best_f1(self) -> float:
        frozen = self.study.get_trials(deepcopy=False)[self.trial.number]
        return max(frozen.intermediate_values.values())


@contextmanager
def open_study(folder: Path, name: str, space: Space, seed: int, *, resume: bool) -> Iterator[Study]:
    """The study of this name in a folder: a new one, or with `resume` the one that is there."""
    path = folder / STUDY
    verbosity = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        with _lock(folder):
            study = Study(_load_study(path, name, resume=resume), space, seed)
            study.recover()
            yield study
    except (SQLAlchemyError, OptunaError) as error:
        raise NearspanError(f"the study {path} cannot be read or written: {error}") from error
    finally:
        optuna.logging.set_verbosity(verbosity)


def _load_study(path: Path, name: str, *, resume: bool) -> optuna.Study:
    options = {"creator": lambda: sqlite3.connect(path), "poolclass": NullPool}
    try:
        storage = optuna.storages.RDBStorage("sqlite://", engine_kwargs=options)
    except RuntimeError as error:
        raise NearspanError(f"{path} was written by another version of optuna: {error}") from error
    if resume and any(known != name for known in optuna.get_all_study_names(storage)):
        raise NearspanError(
            f"{path} belongs to another tuning: its data, recipe, settings, space or seed differ. "
            "Give the same ones to resume, or another `out` to begin anew."
        )
    return optuna.create_study(storage=storage, study_name=name, direction="maximize", load_if_exists=resume)


@contextmanager
def _lock(folder: Path) -> Iterator[None]:
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


def _distribution(variable: Variable) -> BaseDistribution:
    if isinstance(variable, Choice):
        return CategoricalDistribution(variable.values)
    low, high, log, step = variable.low, variable.high, variable.log, variable.step
    if variable.whole:
        return IntDistribution(int(low), int(high), log, 1 if step is None else int(step))
    return FloatDistribution(float(low), float(high), log, step)


def _trial(frozen: FrozenTrial, number: int, overrides: tuple[str, ...]) -> Trial:
    scores = tuple(f1 for _, f1 in sorted(frozen.intermediate_values.items()))
    attributes = frozen.user_attrs
    seconds, error = float(attributes.get("seconds", 0.0)), str(attributes.get("error", ""))
    return Trial(number, _state(frozen), overrides, scores, seconds, error, attributes.get("same_as"))


def _state(frozen: FrozenTrial) -> State:
    """A trial that fails says why; one that was interrupted could not."""
    if frozen.state == TrialState.COMPLETE:
        return "complete"
    if frozen.state == TrialState.PRUNED:
        return "pruned"
    return "failed" if frozen.state == TrialState.FAIL and "error" in frozen.user_attrs else "interrupted"
