"""Watching a tuning: each trial is told about its epochs, and may be ended by what they score."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from accelerate import Accelerator
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from rich.text import Text

from nearspan.config import Recipe
from nearspan.errors import NearspanError
from nearspan.evaluation import Evaluation
from nearspan.training import checkpoint
from nearspan.training.callbacks import TrainingCallback
from nearspan.training.data import TrainingData
from nearspan.training.trials import Trial, ranked, table


class Finished(Exception):
    """A trial has had its last epoch; a model of it is not wanted."""


class Pruned(Exception):
    """A trial is worse than others were after as many epochs."""


class TuneWatch:
    """With a console it shows which trial runs, how far it is, and the best so far."""

    def __init__(self, console: Console | None, trials: int) -> None:
        self.console = console
        self.trials = trials
        self.number = 0
        self.bar: Progress | None = None
        self.task: TaskID | None = None

    def begin(self, done: Sequence[Trial]) -> None:
        """Show what is there already."""
        if self.console is None:
            return
        columns = (
            TextColumn("trial {task.fields[trial]}/{task.fields[trials]}"),
            BarColumn(),
            TextColumn("{task.fields[epoch]}{task.fields[best]}"),
            TimeElapsedColumn(),
        )
        self.bar = Progress(*columns, console=self.console, transient=True)
        self.task = self.bar.add_task("", trial=0, trials=self.trials, epoch="", best=_best(done), total=self.trials)
        self.bar.start()

    def trial(self, number: int) -> None:
        """Before a trial."""
        self.number = number
        self._update(completed=number - 1, trial=number, epoch="")

    def step(self, done: float, epochs: int, f1: float | None) -> None:
        """After some batches of a trial, of which `done` epochs are done."""
        scored = "" if f1 is None else f"dev F1 {100 * f1:5.2f}  "
        epoch = f"epoch {min(int(done) + 1, epochs)}/{epochs}  {scored}"
        self._update(completed=self.number - 1 + done / epochs, epoch=epoch)

    def ended(self, trial: Trial, trials: Sequence[Trial]) -> None:
        """After a trial."""
        self._update(completed=trial.number, epoch="", best=_best(trials))
        if self.console is not None:
            line = Text(f"trial {trial.number}: {_told(trial)}  {trial.shown()}", style="dim")
            self.console.print(line, highlight=False, soft_wrap=True)

    def close(self, trials: Sequence[Trial]) -> None:
        """Give the terminal back and show the best trials."""
        if self.bar is not None:
            self.bar.stop()
        if self.console is not None and ranked(trials):
            self.console.print(table(trials))

    def _update(self, completed: float, **fields: Any) -> None:
        if self.bar is not None and self.task is not None:
            self.bar.update(self.task, completed=completed, **fields)


class TrialWatch(TrainingCallback):
    """Reports the development F1 of each epoch, and ends the run where its model would be saved."""

    keeps_checkpoints = False
    shows_progress = True

    def __init__(self, report: Callable[[int, float], bool], board: TuneWatch) -> None:
        super().__init__()
        self.report = report  # epoch and F1 to whether the trial may be pruned
        self.board = board
        self.f1: float | None = None

    def on_train_begin(self, recipe: Recipe, data: TrainingData, folder: Path, accelerator: Accelerator) -> None:  # noqa: ARG002
        """Before the first epoch."""
        self.epochs = recipe.training.epochs

    def on_step(self, progress: checkpoint.Progress, steps: int) -> None:
        """After some batches."""
        self.board.step(progress.epoch + progress.step / steps, self.epochs, self.f1)

    def on_epoch_end(self, progress: checkpoint.Progress, dev: Evaluation | None) -> None:
        """After an epoch."""
        if dev is None:
            raise NearspanError("a trial without development documents has nothing to report")
        self.f1 = dev.value
        worse = self.report(progress.epoch, self.f1)
        if progress.done:
            raise Finished
        if worse:
            raise Pruned


def _best(trials: Sequence[Trial]) -> str:
    if not (best := ranked(trials)):
        return ""
    return f"best {100 * (best[0].f1 or 0.0):.2f} (trial {best[0].number})"


def _told(trial: Trial) -> str:
    if trial.state == "failed":
        return f"failed: {trial.error}"
    if trial.same_as is not None:
        return f"as trial {trial.same_as}, the same settings"
    if trial.state == "pruned":
        return f"pruned after epoch {len(trial.scores)}, dev F1 {100 * (trial.f1 or 0.0):.2f}"
    return f"dev F1 {100 * (trial.f1 or 0.0):.2f}"
