"""The trials of a tuning: what was tried, what it scored, and the best of it as a recipe."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import tomli_w
from rich.table import Table

from nearspan.config import Recipe, value_of
from nearspan.io.atomic import write_file

STUDY, TRIALS, BEST = "study.db", "trials.jsonl", "best.toml"
State = Literal["complete", "pruned", "failed", "interrupted"]


@dataclass(frozen=True)
class Trial:
    """One training with settings of the space."""

    number: int  # from 1; a trial that was interrupted and the one that repeats it have the same
    state: State
    overrides: tuple[str, ...]  # the settings, as `Recipe.override` takes them
    scores: tuple[float, ...]  # development F1 by epoch
    seconds: float
    error: str = ""
    same_as: int | None = None  # the trial with the very same settings, whose result was taken

    @property
    def settings(self) -> dict[str, Any]:
        """The settings and their values."""
        parts = (setting.partition("=") for setting in self.overrides)
        return {key: value_of(text) for key, _, text in parts}

    @property
    def f1(self) -> float | None:
        """The best development F1."""
        return max(self.scores, default=None)

    @property
    def best_epoch(self) -> int | None:
        """The first epoch with that F1."""
        return self.scores.index(max(self.scores)) + 1 if self.scores else None

    def to_dict(self) -> dict[str, Any]:
        """A line of `trials.jsonl`."""
        row: dict[str, Any] = {
            "trial": self.number,
            "state": self.state,
            "settings": self.settings,
            "f1": self.f1,
            "best_epoch": self.best_epoch,
            "f1_by_epoch": list(self.scores),
            "seconds": round(self.seconds, 3),
        }
        row |= {"same_as": self.same_as} if self.same_as is not None else {}
        return row | ({"error": self.error} if self.error else {})

    def shown(self) -> str:
        """The settings in a few words."""
        return "  ".join(f"{key}={_short(value)}" for key, value in self.settings.items())


def ranked(trials: Sequence[Trial]) -> list[Trial]:
    """The trials that ran to their end, the best first; of equals the first."""
    complete = [trial for trial in trials if trial.state == "complete"]
    return sorted(complete, key=lambda trial: (-(trial.f1 or 0.0), trial.number))


def write_trials(folder: Path, trials: Sequence[Trial]) -> None:
    """Write `trials.jsonl`."""
    lines = (json.dumps(trial.to_dict(), ensure_ascii=False, default=str) + "\n" for trial in trials)
    write_file(folder / TRIALS, lines)


def write_best(folder: Path, recipe: Recipe) -> None:
    """Write `best.toml`."""
    write_file(folder / BEST, [tomli_w.dumps(recipe.model_dump(exclude_none=True))])


def tuned(recipe: Recipe, trial: Trial, seed: int) -> Recipe:
    """A recipe with a trial's settings in it, that says so."""
    note = f"Tuned: trial {trial.number} with seed {seed}, development F1 {100 * (trial.f1 or 0.0):.2f}."
    name = recipe.name.removesuffix("-tuned") + "-tuned"
    return recipe.model_copy(update={"name": name, "about": f"{recipe.about} {note}".strip()})


def table(trials: Sequence[Trial], count: int = 5) -> Table:
    """The best trials."""
    made = Table(box=None)
    for name in ("trial", "dev F1", "epoch", "seconds"):
        made.add_column(name, justify="right")
    keys = list(dict.fromkeys(key for trial in trials for key in trial.settings))
    for key in keys:
        made.add_column(key, justify="right", overflow="fold")
    for trial in ranked(trials)[:count]:
        cells = (f"{100 * (trial.f1 or 0.0):.2f}", str(trial.best_epoch), f"{trial.seconds:.0f}")
        made.add_row(str(trial.number), *cells, *(_short(trial.settings.get(key, "")) for key in keys))
    return made


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
