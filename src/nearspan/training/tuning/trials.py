"""The trials of a tuning: their settings and scores, and the best of them as a recipe."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import tomli_w
from rich.table import Column, Table

from nearspan.config import Recipe, value_of
from nearspan.io.atomic import write_file

STUDY, TRIALS, BEST = FILES = ("study.db", "trials.jsonl", "best.toml")
LISTED = 5  # best trials
State = Literal["complete", "pruned", "failed", "interrupted"]


@dataclass(frozen=True)
class Trial:
    """One training with settings of the space."""

    number: int  # from 1; an interrupted trial and the one that repeats it have the same
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
    def percent(self) -> str:
        """The best development F1 as it is shown."""
        return f"{100 * (self.f1 or 0.0):.2f}"

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

    def __str__(self) -> str:
        settings = "  ".join(f"{key}={format_value(value)}" for key, value in self.settings.items())
        return f"trial {self.number}: {self._outcome()}  {settings}"

    def _outcome(self) -> str:
        if self.state == "failed":
            return f"failed: {self.error}"
        if self.same_as is not None:
            return f"as trial {self.same_as}, the same settings"
        pruned = f"pruned after epoch {len(self.scores)}, " if self.state == "pruned" else ""
        return f"{pruned}dev F1 {self.percent}"


def rank_trials(trials: Sequence[Trial]) -> list[Trial]:
    """The trials that ran to their end, the best first; of equals the first."""
    complete = [trial for trial in trials if trial.state == "complete"]
    return sorted(complete, key=lambda trial: (-(trial.f1 or 0.0), trial.number))


def write_trials(folder: Path, trials: Sequence[Trial], best: Recipe | None = None) -> None:
    """Write `trials.jsonl`, and `best.toml` where there is a new best recipe."""
    lines = (json.dumps(trial.to_dict(), ensure_ascii=False, default=str) + "\n" for trial in trials)
    write_file(folder / TRIALS, lines)
    if best is not None:
        write_file(folder / BEST, [tomli_w.dumps(best.model_dump(exclude_none=True))])


def tuned_recipe(recipe: Recipe, trials: Sequence[Trial], seed: int) -> Recipe:
    """A recipe with the settings of the best trial, which says so in its name and description."""
    trial = rank_trials(trials)[0]
    recipe = recipe.override(trial.overrides)
    note = f"Tuned: trial {trial.number} with seed {seed}, development F1 {trial.percent}."
    name = recipe.name.removesuffix("-tuned") + "-tuned"
    return recipe.model_copy(update={"name": name, "about": f"{recipe.about} {note}".strip()})


def trials_table(trials: Sequence[Trial]) -> Table:
    """The best trials."""
    keys = list(dict.fromkeys(key for trial in trials for key in trial.settings))
    columns = [Column(title, justify="right") for title in ("trial", "dev F1", "epoch", "seconds")]
    table = Table(*columns, *(Column(key, justify="right", overflow="fold") for key in keys), box=None)
    for trial in rank_trials(trials)[:LISTED]:
        cells = (str(trial.number), trial.percent, str(trial.best_epoch), f"{trial.seconds:.0f}")
        table.add_row(*cells, *(format_value(trial.settings.get(key, "")) for key in keys))
    return table


def format_value(value: Any) -> str:
    """The value of a setting in few digits."""
    return f"{value:.4g}" if isinstance(value, float) else str(value)
