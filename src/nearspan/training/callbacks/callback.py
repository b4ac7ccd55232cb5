"""Watching a run: a metrics file always, a progress bar where somebody looks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from nearspan.config import Recipe
from nearspan.errors import NearspanError
from nearspan.evaluation import Evaluation
from nearspan.training import checkpoint
from nearspan.training.data import TrainingData
from nearspan.training.run import Run

METRICS = "metrics.jsonl"


class TrainingCallback:
    """Writes `metrics.jsonl`, one line an epoch; with a console it shows progress too."""

    checkpoints = True  # whether the run is worth them

    def __init__(self, console: Console | None = None, every: int = 10) -> None:
        self.console = console
        self.every = every  # steps between looks at the loss, each of which waits for the device
        self.loss = 0.0
        self.epochs = 0
        self.folder: Path | None = None
        self.bar: Progress | None = None
        self.task: TaskID | None = None

    def begin(self, recipe: Recipe, data: TrainingData, folder: Path, device: torch.device, *, main: bool) -> None:
        """Say what is about to be trained."""
        self.folder = folder if main else None
        self.epochs = recipe.training.epochs
        if self.console is None or not main:
            self.console = None
            return
        self.console.print(f"[bold]{escape(recipe.name)}[/] on {device}: {data.coverage}")
        self.console.print(f"labels: {', '.join(data.labels)}", markup=False)
        columns = (
            TextColumn("epoch {task.fields[epoch]:>3}/{task.fields[epochs]}"),
            BarColumn(),
            TextColumn("loss {task.fields[loss]:8.3f}  {task.fields[scored]}  {task.fields[left]}"),
            TimeElapsedColumn(),
        )
        self.bar = Progress(*columns, console=self.console, transient=True)
        self.task = self.bar.add_task("", epoch=0, epochs=self.epochs, loss=0.0, scored="", left="", total=None)
        self.bar.start()

    def step(self, progress: checkpoint.Progress, steps: int) -> None:
        """After some batches."""
        if self.bar is None or self.task is None:
            return
        done = progress.epoch + progress.step / steps
        left = progress.seconds / done * (self.epochs - done)
        loss = progress.loss / max(progress.step, 1)
        self.bar.update(
            self.task,
            total=self.epochs * steps,
            completed=done * steps,
            epoch=progress.epoch + 1,
            loss=loss,
            left=_time_left(left),
        )

    def epoch(self, progress: checkpoint.Progress, dev: Evaluation | None) -> None:
        """After an epoch."""
        row: dict[str, Any] = {
            "epoch": progress.epoch,
            "loss": self.loss,
            "seconds": round(progress.seconds, 3),
        }
        if dev is not None:
            row |= dev.scores.metrics()
        progress.history.append(row)
        if self.bar is not None and self.task is not None and dev is not None:
            best = f"dev {dev.measure} {100 * dev.value:5.2f}, best {100 * progress.best:5.2f}"
            self.bar.update(self.task, scored=best)

    def record(self, progress: checkpoint.Progress) -> None:
        """Write the metrics file; after a checkpoint, so that there is something to resume where there are metrics."""
        if self.folder is not None and progress.history:
            lines = "".join(json.dumps(one) + "\n" for one in progress.history)
            try:
                (self.folder / METRICS).write_text(lines, encoding="utf-8")
            except OSError as error:
                raise NearspanError(f"cannot write {self.folder / METRICS}: {error}") from error

    def close(self) -> None:
        """Give the terminal back, also when training was stopped by an error."""
        if self.bar is not None:
            self.bar.stop()

    def end(self, run: Run) -> None:
        """After the last epoch."""
        self.close()
        if self.console is not None:
            self.console.print(f"trained in {_clock(run.seconds)}, best epoch {run.best_epoch}")
            for name, result in (("dev", run.dev), ("test", run.test)):
                if result is not None:
                    said = f"{name} {result.measure} [bold]{100 * result.value:.2f}[/]{_beside(result)}"
                    self.console.print(f"{said}  ({result.coverage})")


def _beside(result: Evaluation) -> str:
    """The score of the baseline, where there is one."""
    return f", majority by string {100 * result.baseline.value:.2f}" if result.baseline is not None else ""


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def _time_left(seconds: float) -> str:
    return f"{_clock(seconds)} left"
