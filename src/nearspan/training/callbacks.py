"""Callbacks of a training: the hooks, the metrics file, and the progress that is shown or logged."""

import json
import logging
from importlib.util import find_spec
from pathlib import Path

from accelerate import Accelerator
from rich.console import Console
from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar

from nearspan.config import Recipe, TrainingSettings
from nearspan.evaluation import Evaluation
from nearspan.io.atomic import write_file
from nearspan.training.checkpoint import Progress
from nearspan.training.data import TrainingData
from nearspan.training.folder import METRICS
from nearspan.training.run import Run

logger = logging.getLogger("nearspan.training")


class TrainingCallback:
    """Hooks of a training; override those that you need.

        class Target(nearspan.training.TrainingCallback):
            def on_epoch_end(self, progress, dev):
                if dev.value > 0.9:
                    print("above 90 after epoch", progress.epoch)

        nearspan.train("classifier", train, dev, out="runs/mine", callbacks=[Target()])

    Where several processes train together, the main process calls them.
    """

    logging_steps: int = 10  # steps between two calls of `on_step`, each of which waits for the device
    keeps_checkpoints: bool = True  # whether the run may be resumed
    shows_progress: bool = False  # whether it shows or logs the epochs, so that nothing else has to

    def __init__(self, logging_steps: int = 10) -> None:
        self.logging_steps = logging_steps

    def on_train_begin(self, recipe: Recipe, data: TrainingData, folder: Path, accelerator: Accelerator) -> None:
        """Before anything is computed."""

    def on_message(self, text: str) -> None:
        """When there is something to say before training begins, such as what was held out for development."""

    def on_plan(self, settings: TrainingSettings, seconds: float) -> None:
        """Before the first epoch, where `training.minutes` chose the number of epochs; all of it takes `seconds`."""

    def on_resume(self, progress: Progress) -> None:
        """After a checkpoint was read."""

    def on_epoch_begin(self, progress: Progress, steps: int) -> None:
        """Before an epoch of `steps` steps, or the rest of it."""

    def on_step(self, progress: Progress, steps: int) -> None:
        """After every `logging_steps` steps, and after the last step of an epoch."""

    def on_epoch_end(self, progress: Progress, dev: Evaluation | None) -> None:
        """After an epoch and its checkpoint; `progress.history[-1]` has its metrics."""

    def on_checkpoint(self, progress: Progress) -> None:
        """After a checkpoint was written."""

    def on_train_end(self, run: Run) -> None:
        """After the model was saved."""

    def close(self) -> None:
        """At the very end, also where an error stopped the training."""


class MetricsFile(TrainingCallback):
    """Writes `metrics.jsonl`, a line an epoch. A checkpoint comes first, so that a run with metrics can be resumed."""

    def on_train_begin(self, recipe: Recipe, data: TrainingData, folder: Path, accelerator: Accelerator) -> None:  # noqa: ARG002
        """Take the folder of the run."""
        self.path = folder / METRICS

    def on_resume(self, progress: Progress) -> None:
        """Write the lines of the epochs before."""
        if progress.history:
            self.on_epoch_end(progress)

    def on_epoch_end(self, progress: Progress, dev: Evaluation | None = None) -> None:  # noqa: ARG002
        """Write all lines again."""
        write_file(self.path, (json.dumps(metrics) + "\n" for metrics in progress.history))


class ProgressBar(TrainingCallback):
    """Prints what is trained and what it scores; shows a bar on a terminal or in a notebook, else logs a line an epoch.

    The lines come under `nearspan.training`, at level INFO. Without a console there are these alone, but in a notebook,
    which is a console by itself.
    """

    shows_progress = True

    def __init__(self, console: Console | None = None) -> None:
        super().__init__()
        here = Console()
        self.console = console or (here if here.is_jupyter else Console(quiet=True))
        columns = (
            TextColumn("epoch {task.fields[epoch]:>3}/{task.fields[epochs]}"),
            BarColumn(),
            TextColumn("loss {task.fields[loss]:8.3f}  {task.fields[score]}  {task.fields[left]}"),
            TimeElapsedColumn(),
        )
        shows_bar = self.console.is_terminal or (self.console.is_jupyter and find_spec("ipywidgets") is not None)
        self.bar = Bar(*columns, console=self.console, transient=True, disable=not shows_bar)

    def on_train_begin(self, recipe: Recipe, data: TrainingData, folder: Path, accelerator: Accelerator) -> None:  # noqa: ARG002
        """Print the recipe, the device, the data and its labels."""
        self.epochs = recipe.training.epochs
        self.console.print(f"{recipe.name} on {accelerator.device}: {data.coverage}", markup=False)
        self.console.print(f"labels: {', '.join(data.labels)}", markup=False)
        self.task = self.bar.add_task("", epoch=0, epochs=self.epochs, loss=0.0, score="", left="", total=None)
        self.bar.start()

    def on_plan(self, settings: TrainingSettings, seconds: float) -> None:
        """Say how long it will take."""
        self.epochs = settings.epochs
        count = f"{self.epochs} epochs" if self.epochs > 1 else "one epoch"
        self.on_message(f"{count}, about {format_seconds(seconds)} in all")

    def on_message(self, text: str) -> None:
        """Print it or, without a console, log it."""
        if self.console.quiet:
            logger.info("%s", text)
        else:
            self.console.print(text, markup=False, highlight=False)

    def on_resume(self, progress: Progress) -> None:
        """Know how many epochs there are."""
        self.epochs = progress.epochs

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
        """Show or log the development score and the best so far."""
        score = f"dev {dev.measure} {100 * dev.value:5.2f}, best {100 * progress.best:5.2f}" if dev is not None else ""
        if self.bar.disable:
            loss, clock = f"loss {progress.history[-1]['loss']:.3f}", format_seconds(progress.seconds)
            line = ", ".join(part for part in (loss, score, clock) if part)
            self._log(f"epoch {progress.epoch}/{self.epochs}: {line}")
        elif score:
            self.bar.update(self.task, score=score)

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

    def _log(self, line: str) -> None:
        """Log a line; in a notebook, which shows no log, print it."""
        if self.console.is_jupyter:
            self.console.print(line, markup=False, highlight=False)
        else:
            logger.info("%s", line)


def format_seconds(seconds: float) -> str:
    """A time as a clock shows it.

    >>> format_seconds(75), format_seconds(3675)
    ('1:15', '1:01:15')
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
