"""Training: the loop, its checkpoints and what it tells on the way; and tuning."""

from nearspan.io.model_folder import CHECKPOINT, RESULT
from nearspan.training.callbacks import ProgressBar, TrainingCallback
from nearspan.training.loop import REFUSED, train
from nearspan.training.run import Run
from nearspan.training.space import Space
from nearspan.training.tune import Tuned, tune

__all__ = [
    "CHECKPOINT",
    "REFUSED",
    "RESULT",
    "ProgressBar",
    "Run",
    "Space",
    "TrainingCallback",
    "Tuned",
    "train",
    "tune",
]
