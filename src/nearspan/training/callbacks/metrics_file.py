"""The metrics file: a line of JSON for every epoch."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from accelerate import Accelerator

from nearspan.config import Recipe
from nearspan.errors import NearspanError
from nearspan.evaluation import Evaluation
from nearspan.training.callbacks.callback import TrainingCallback
from nearspan.training.checkpoint import Progress
from nearspan.training.data import TrainingData

METRICS = "metrics.jsonl"


class MetricsFile(TrainingCallback):
    """Writes `metrics.jsonl`, a line an epoch. A checkpoint comes first, so that a run with metrics can be resumed."""

    def on_train_begin(self, recipe: Recipe, data: TrainingData, folder: Path, accelerator: Accelerator) -> None:  # noqa: ARG002
        """Take the folder of the run."""
        self.path = folder / METRICS

    def on_resume(self, progress: Progress) -> None:
        """Write the lines of the epochs before."""
        if progress.history:
            self._write(progress)

    def on_epoch_end(self, progress: Progress, dev: Evaluation | None) -> None:  # noqa: ARG002
        """Write all lines again."""
        self._write(progress)

    def _write(self, progress: Progress) -> None:
        lines = "".join(json.dumps(metrics) + "\n" for metrics in progress.history)
        try:
            self.path.write_text(lines, encoding="utf-8")
        except OSError as error:
            raise NearspanError(f"cannot write {self.path}: {error}") from error


def epoch_metrics(progress: Progress, loss: float, dev: Evaluation | None) -> dict[str, Any]:
    """What is recorded of an epoch: its mean loss, the seconds so far, and the scores on development data."""
    metrics = {"epoch": progress.epoch, "loss": loss, "seconds": round(progress.seconds, 3)}
    return metrics | (dev.scores.metrics() if dev is not None else {})
