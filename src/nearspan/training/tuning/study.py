"""The study of a tuning: Optuna draws the settings and keeps the trials, in a file that survives a kill.

The file is SQLite's: a write that was cut short is rolled back when it is next opened. (Optuna's journal file cannot be
read any more after half a line.)
"""

import random
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.exceptions import OptunaError
from optuna.trial import FrozenTrial, TrialState
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.pool import NullPool

from nearspan.errors import NearspanError
from nearspan.io.paths import exists, is_file
from nearspan.training.folder import lock_folder
from nearspan.training.tuning.space import Choice, Space, Variable
from nearspan.training.tuning.trials import FILES, STUDY, State, Trial

LOCK = "study.lock"
STARTUP = 5  # trials that have to end before one may be pruned
STATES: dict[TrialState, State] = {TrialState.COMPLETE: "complete", TrialState.PRUNED: "pruned"}


@dataclass(frozen=True)
class RunningTrial:
    """A trial that is under way."""

    study: optuna.Study
    trial: optuna.Trial
    number: int
    overrides: tuple[str, ...]
    same: Trial | None  # an earlier trial with the same settings

    def report(self, epoch: int, f1: float, epochs: int) -> bool:
        """Report the F1 of an epoch; whether the trial may be pruned, not before a third of its `epochs` has passed."""
        self.study.pruner = optuna.pruners.MedianPruner(n_startup_trials=STARTUP, n_warmup_steps=1 + epochs // 3)
        self.trial.report(f1, epoch)
        return self.trial.should_prune()

    def end(self, state: State, seconds: float, error: str = "") -> None:
        """Record how the trial ended."""
        self.trial.set_user_attr("seconds", seconds)
        if state == "complete":
            frozen = self.study.get_trials(deepcopy=False)[self.trial.number]
            self.study.tell(self.trial, max(frozen.intermediate_values.values()))
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


class Study:
    """Trials in a file. The settings of a trial depend on the seed, its number and the results before it alone."""

    def __init__(self, study: optuna.Study, space: Space, seed: int) -> None:
        self.study = study
        self.space = {variable.key: _distribution(variable) for variable in space.variables}
        self.seed = seed

    def trials(self) -> list[Trial]:
        """All trials, with those that were interrupted."""
        trials: list[Trial] = []
        number = 1
        for frozen in self.study.get_trials(deepcopy=False):
            trials.append(_trial(frozen, number, self._overrides(frozen.params)))
            number += trials[-1].state != "interrupted"
        return trials

    def next_trial(self) -> RunningTrial:
        """Begin the next trial."""
        ended = [trial for trial in self.trials() if trial.state != "interrupted"]
        number = 1 + len(ended)
        chance = random.Random(f"{self.seed} {number}").getrandbits(32)
        self.study.sampler = optuna.samplers.TPESampler(seed=chance, multivariate=False, constant_liar=False)
        drawn = self.study.ask(self.space)
        overrides = self._overrides(drawn.params)
        same = next((trial for trial in ended if trial.overrides == overrides), None)
        return RunningTrial(self.study, drawn, number, overrides, same)

    def _overrides(self, parameters: Mapping[str, Any]) -> tuple[str, ...]:
        """The settings that were drawn, in the order of the space; a choice is text already."""
        values = ((key, parameters[key]) for key in self.space if key in parameters)
        return tuple(f"{key}={value if isinstance(value, str) else repr(value)}" for key, value in values)


@contextmanager
def open_study(folder: Path, name: str, space: Space, seed: int, *, resume: bool) -> Iterator[Study]:
    """The study of this name in a folder: a new one, or with `resume` the one that is there."""
    path = folder / STUDY
    if resume and not is_file(path):
        raise NearspanError(f"nothing to resume in {folder}: there is no {STUDY}; begin without `resume`")
    if not resume and any(exists(folder / file) for file in FILES):
        raise NearspanError(f"{folder} already holds a tuning: give another `out`, or `resume` to go on with it")
    verbosity = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        with lock_folder(folder, LOCK, f"{folder} is being tuned by another process: wait for it or stop it"):
            study = _load_study(path, name, resume=resume)
            for killed in study.get_trials(deepcopy=False, states=[TrialState.RUNNING]):  # their numbers are free again
                study.tell(killed.number, state=TrialState.FAIL)
            yield Study(study, space, seed)
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


def _distribution(variable: Variable) -> BaseDistribution:
    if isinstance(variable, Choice):
        return CategoricalDistribution(variable.values)
    low, high, log, step = variable.low, variable.high, variable.log, variable.step
    if variable.whole:
        return IntDistribution(int(low), int(high), log, 1 if step is None else int(step))
    return FloatDistribution(float(low), float(high), log, step)


def _trial(frozen: FrozenTrial, number: int, overrides: tuple[str, ...]) -> Trial:
    """A trial that fails says why; one that was interrupted could not."""
    attributes = frozen.user_attrs
    unfinished: State = "failed" if frozen.state == TrialState.FAIL and "error" in attributes else "interrupted"
    scores = tuple(f1 for _, f1 in sorted(frozen.intermediate_values.items()))
    seconds, error = float(attributes.get("seconds", 0.0)), str(attributes.get("error", ""))
    state = STATES.get(frozen.state, unfinished)
    return Trial(number, state, overrides, scores, seconds, error, attributes.get("same_as"))
