"""Trackers: the metrics of a run in TensorBoard, Weights & Biases or MLflow, through accelerate."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from accelerate import Accelerator
from accelerate.tracking import GeneralTracker, filter_trackers, get_available_trackers

from nearspan.config import Recipe, TrainingSettings
from nearspan.errors import ConfigError, ResourceError, did_you_mean, first_line
from nearspan.evaluation import Evaluation
from nearspan.settings import flatten
from nearspan.training.callbacks import TrainingCallback, logger
from nearspan.training.checkpoint import Progress
from nearspan.training.data import TrainingData
from nearspan.training.run import Run
from nearspan.training.schedule import rate

PROJECT = "nearspan"
TRACKERS = ("tensorboard", "wandb", "mlflow")  # each named like its package


class Trackers(TrainingCallback):
    """Sends loss, learning rate and development scores to trackers, with the recipe's settings as configuration.

    `names` are of `TRACKERS`; a tracker of your own is an `accelerate.tracking.GeneralTracker`. Files go to the folder
    of the run. Where a tracker fails on the way, the training goes on without it.
    """

    def __init__(self, names: Sequence[str | GeneralTracker]) -> None:
        super().__init__()
        self.names = list(dict.fromkeys(names))
        for name in self.names:
            if isinstance(name, str) and name not in TRACKERS:
                raise ConfigError(f"there is no tracker {name!r}; {did_you_mean(name, TRACKERS)}")
            if isinstance(name, str) and name not in map(str, get_available_trackers()):
                needs = f"tracking with {name} needs the package {name}, which is not installed: pip install {name}"
                raise ResourceError(needs)
        self.trackers: list[GeneralTracker] = []

    def on_train_begin(self, recipe: Recipe, data: TrainingData, folder: Path, accelerator: Accelerator) -> None:  # noqa: ARG002
        """Begin a run of each tracker."""
        transformer, generators = recipe.encoder.transformer, recipe.losses.generators
        self.settings, self.peaks = recipe.training, {"learning_rate": recipe.training.learning_rate}
        self.pretraining = generators.pretraining if generators else 0
        if transformer is not None and not transformer.frozen:
            self.peaks["encoder_learning_rate"] = transformer.learning_rate
        accelerator.project_configuration.set_directories(str(folder))
        accelerator.log_with = filter_trackers(self.names, str(folder))
        options = {"wandb": {"dir": str(folder), "name": folder.name}, "mlflow": {"run_name": folder.name}}
        settings = dict(flatten(recipe.model_dump(exclude_none=True)))
        plain = {key: value if isinstance(value, bool | int | float) else str(value) for key, value in settings.items()}
        try:
            accelerator.init_trackers(PROJECT, plain, options)
        except Exception as error:  # a tracker may fail as it likes
            names = ", ".join(str(getattr(name, "name", name)) for name in self.names)
            raise ResourceError(f"tracking with {names} cannot begin: {first_line(error)}") from error
        self.trackers = accelerator.trackers

    def on_plan(self, settings: TrainingSettings, seconds: float) -> None:  # noqa: ARG002
        """The learning rate follows the number of epochs."""
        self.settings = settings

    def on_epoch_begin(self, progress: Progress, steps: int) -> None:
        """Remember where the epoch begins."""
        self.steps, self.last_step, self.last_loss = steps, progress.step, progress.loss

    def on_step(self, progress: Progress, steps: int) -> None:
        """Send the mean loss of the steps since the last call, and the learning rate."""
        loss = (progress.loss - self.last_loss) / max(progress.step - self.last_step, 1)
        self.last_step, self.last_loss = progress.step, progress.loss
        values = {"train/loss": loss, **self._rates(progress.epoch, progress.step)}
        self._send(values, progress.epoch * steps + progress.step)

    def on_epoch_end(self, progress: Progress, dev: Evaluation | None) -> None:
        """Send the mean loss of the epoch, the learning rate of its last step and the development scores."""
        values = {"epoch": progress.epoch, "train/epoch_loss": progress.history[-1]["loss"]}
        values |= self._rates(progress.epoch - 1, self.steps)
        values |= {f"dev/{name}": value for name, value in dev.scores.metrics().items()} if dev is not None else {}
        self._send(values, progress.epoch * self.steps)

    def on_train_end(self, run: Run) -> None:
        """Send the test scores."""
        if run.test is not None:
            values = {f"test/{name}": value for name, value in run.test.scores.metrics().items()}
            self._send(values | {"best_epoch": run.best_epoch}, None)

    def close(self) -> None:
        """End the runs."""
        for tracker in self.trackers:
            tracker.finish()
        self.trackers = []

    def _rates(self, epoch: int, step: int) -> dict[str, float]:
        """The learning rates of an epoch's step, counted from 1."""
        place = (epoch, step - 1, self.steps, self.pretraining)
        return {f"train/{name}": rate(self.settings, peak, *place) for name, peak in self.peaks.items()}

    def _send(self, values: Mapping[str, float], step: int | None) -> None:
        for tracker in tuple(self.trackers):
            try:
                tracker.log(dict(values), step=step)
            except Exception as error:  # as above, a connection that is gone among other things
                logger.warning("%s fails, training goes on without it: %s", tracker.name, first_line(error))
                self.trackers.remove(tracker)
