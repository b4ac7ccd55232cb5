"""The progress of a tuning: each trial reports its epochs, and may be ended by their scores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from accelerate import Accelerator
from rich.console import Console
from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar
from rich.text import Text

from nearspan.config import Recipe
from nearspan.errors import NearspanError
from nearspan.evaluation import Evaluation
from nearspan.training.callbacks import TrainingCallback
from nearspan.training.checkpoint import Progress
from nearspan.training.data import TrainingData
from nearspan.training.tuning.trials import Trial, rank_trials, trials_table


class TrialFinished(Exception):
    """A trial has had its last epoch; its model is not saved."""


class TrialPruned(Exception):
    """A trial is worse than others were after as many epochs."""


class TuningBar:
    """Shows which trial runs, how far it is, and the best so far. Without a console, nothing."""

    def __init__(self, console: Console | None, trials: int) -> None:
        self.console = console or Console(quiet=True)
        self.number = 0
        columns = (
            TextColumn("trial {task.fields[trial]}/{task.fields[trials]}"),
            BarColumn(),
            TextColumn("{task.fields[epoch]}{task.fields[best]}"),
            TimeElapsedColumn(),
        )
        self.bar = Bar(*columns, console=self.console, transient=True, disable=console is None)
        self.task = self.bar.add_task("", trial=0, trials=trials, epoch="", best="", total=trials)

    def on_tuning_begin(self, trials: Sequence[Trial]) -> None:
        """Show the trials that are there already."""
        self.bar.update(self.task, best=_best(trials))
        self.bar.start()

    def on_trial_begin(self, number: int) -> None:
        """Before a trial."""
        self.number = number
        self.bar.update(self.task, completed=number - 1, trial=number, epoch="")

    def on_step(self, epochs_done: float, epochs: int, f1: float | None) -> None:
        """After several batches of a trial."""
        score = "" if f1 is None else f"dev F1 {100 * f1:5.2f}  "
        epoch = f"epoch {min(int(epochs_done) + 1, epochs)}/{epochs}  {score}"
        self.bar.update(self.task, completed=self.number - 1 + epochs_done / epochs, epoch=epoch)

    def on_trial_end(self, trial: Trial, trials: Sequence[Trial]) -> None:
        """After a trial."""
        self.bar.update(self.task, completed=trial.number, epoch="", best=_best(trials))
        self.console.print(Text(str(trial), style="dim"), highlight=False, soft_wrap=True)

    def close(self, trials: Sequence[Trial]) -> None:
        """Give the terminal back and show the best trials."""
        self.bar.stop()
        if rank_trials(trials):
            self.console.print(trials_table(trials))


class TrialCallback(TrainingCallback):
    """Reports the development F1 of each epoch, and ends the run before its model would be saved."""

    keeps_checkpoints = False
    shows_progress = True

    def __init__(self, report: Callable[[int, float], bool], bar: TuningBar) -> None:
        super().__init__()
        self.report = report  # takes epoch and F1, and says whether the trial may be pruned
        self.bar = bar
        self.f1: float | None = None

    def on_train_begin(self, recipe: Recipe, data: TrainingData, folder: Path, accelerator: Accelerator) -> None:  # noqa: ARG002
        """Take the number of epochs."""
        self.epochs = recipe.training.epochs

    def on_step(self, progress: Progress, steps: int) -> None:
        """Move the bar."""
        self.bar.on_step(progress.epoch + progress.step / steps, self.epochs, self.f1)

    def on_epoch_end(self, progress: Progress, dev: Evaluation | None) -> None:
        """Report the score; end the trial after its last epoch, or where it may be pruned."""
        if dev is None:
            raise NearspanError("a trial without development documents has nothing to report")
        self.f1 = dev.value
        prunable = self.report(progress.epoch, self.f1)
        if progress.done:
            raise TrialFinished
        if prunable:
            raise TrialPruned


def _best(trials: Sequence[Trial]) -> str:
    return "".join(f"best {trial.percent} (trial {trial.number})" for trial in rank_trials(trials)[:1])
