"""Callbacks: what happens on the way of a training, beside the training itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from accelerate import Accelerator

from nearspan.config import Recipe
from nearspan.evaluation import Evaluation
from nearspan.training.checkpoint import Progress
from nearspan.training.data import TrainingData
from nearspan.training.run import Run


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
    shows_progress: bool = False  # whether it shows the epochs, so that no line of the log has to

    def __init__(self, logging_steps: int = 10) -> None:
        self.logging_steps = logging_steps

    def on_train_begin(self, recipe: Recipe, data: TrainingData, folder: Path, accelerator: Accelerator) -> None:
        """Before anything is computed."""

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


class CallbackList(TrainingCallback):
    """Several callbacks, called one after the other: each hook calls that of all."""

    def __init__(self, callbacks: Iterable[TrainingCallback]) -> None:
        self.callbacks = list(callbacks)
        super().__init__(min([TrainingCallback.logging_steps, *(each.logging_steps for each in self.callbacks)]))
        self.keeps_checkpoints = all(each.keeps_checkpoints for each in self.callbacks)


def _call_all(hook: str) -> Callable[..., None]:
    def call(callbacks: CallbackList, *arguments: Any) -> None:
        for callback in callbacks.callbacks:
            getattr(callback, hook)(*arguments)

    return call


for _hook in [name for name in vars(TrainingCallback) if name.startswith("on_")] + ["close"]:
    setattr(CallbackList, _hook, _call_all(_hook))
