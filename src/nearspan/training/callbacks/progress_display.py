"""How far a training is: a progress bar on a terminal, elsewhere a line an epoch in the log."""

from __future__ import annotations

import logging
from pathlib import Path

from accelerate import Accelerator
from rich.console import Console
from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar

from nearspan.config import Recipe
from nearspan.evaluation import Evaluation
from nearspan.training.callbacks.callback import TrainingCallback
from nearspan.training.checkpoint import Progress
from nearspan.training.data import TrainingData
from nearspan.training.run import Run

logger = logging.getLogger("nearspan.training")


class ProgressLog(TrainingCallback):
    """Logs a line an epoch under `nearspan.training`, at level INFO."""

    def on_train_begin(self, recipe: Recipe, data: TrainingData, folder: Path, accelerator: Accelerator) -> None:  # noqa: ARG002
        """Take the number of epochs."""
        self.epochs = recipe.training.epochs

    def on_epoch_end(self, progress: Progress, dev: Evaluation | None) -> None:
        """Log the epoch's loss and score."""
        loss, score = progress.history[-1]["loss"], f", {_dev_score(progress, dev)}" if dev is not None else ""
        epoch, clock = f"epoch {progress.epoch}/{self.epochs}", format_seconds(progress.seconds)
        logger.info("%s: loss %.3f%s, %s", epoch, loss, score, clock)


class ProgressBar(TrainingCallback):
    """Prints what is trained and what it scores, and shows a bar on a terminal. Without a console it does nothing."""

    def __init__(self, console: Console | None = None) -> None:
        super().__init__()
        self.console = console or Console(quiet=True)
        self.shows_progress = console is not None and console.is_terminal
        columns = (
            TextColumn("epoch {task.fields[epoch]:>3}/{task.fields[epochs]}"),
            BarColumn(),
            TextColumn("loss {task.fields[loss]:8.3f}  {task.fields[score]}  {task.fields[left]}"),
            TimeElapsedColumn(),
        )
        self.bar = Bar(*columns, console=self.console, transient=True, disable=not self.shows_progress)

    def on_train_begin(self, recipe: Recipe, data: TrainingData, folder: Path, accelerator: Accelerator) -> None:  # noqa: ARG002
        """Print the recipe, the device, the data and its labels."""
        self.epochs = recipe.training.epochs
        self.console.print(f"{recipe.name} on {accelerator.device}: {data.coverage}", markup=False)
        self.console.print(f"labels: {', '.join(data.labels)}", markup=False)
        self.task = self.bar.add_task("", epoch=0, epochs=self.epochs, loss=0.0, score="", left="", total=None)
        self.bar.start()

    def on_step(self, progress: Progress, steps: int) -> None:
        """Move the bar, and show the mean loss of the epoch and the time that is left."""
        done = progress.epoch + progress.step / steps
        left = progress.seconds / done * (self.epochs - done)
        self.bar.update(
            self.task,
            total=self.epochs * steps,
            completed=done * steps,
            epoch=progress.epoch + 1,
            loss=progress.loss / max(progress.step, 1),
            left=f"{format_seconds(left)} left",
        )

    def on_epoch_end(self, progress: Progress, dev: Evaluation | None) -> None:
        """Show the development score and the best so far."""
        if dev is not None:
            self.bar.update(self.task, score=_dev_score(progress, dev))

    def on_train_end(self, run: Run) -> None:
        """Print the scores of the best epoch."""
        self.close()
        self.console.print(f"trained in {format_seconds(run.seconds)}, best epoch {run.best_epoch}")
        for split, result in (("dev", run.dev), ("test", run.test)):
            if result is not None:
                baseline = f", majority by string {100 * result.baseline.value:.2f}" if result.baseline else ""
                score = f"{split} {result.measure} [bold]{100 * result.value:.2f}[/]{baseline}"
                self.console.print(f"{score}  ({result.coverage})")

    def close(self) -> None:
        """Give the terminal back."""
        self.bar.stop()


def format_seconds(seconds: float) -> str:
    """A time as a clock shows it.

    >>> format_seconds(75), format_seconds(3675)
    ('1:15', '1:01:15')
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def _dev_score(progress: Progress, dev: Evaluation) -> str:
    return f"dev {dev.measure} {100 * dev.value:5.2f}, best {100 * progress.best:5.2f}"
