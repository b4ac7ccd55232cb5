"""Training: the loop, its checkpoints and callbacks; and tuning."""

from nearspan.io.model_folder import CHECKPOINT
from nearspan.training.callbacks import ProgressBar, TrainingCallback
from nearspan.training.folder import REFUSED
from nearspan.training.loop import train
from nearspan.training.run import Run
from nearspan.training.start import first_recipe
from nearspan.training.tuning import Space, TuningResult, tune

__all__ = [
    "CHECKPOINT",
    "REFUSED",
    "ProgressBar",
    "Run",
    "Space",
    "TrainingCallback",
    "TuningResult",
    "first_recipe",
    "train",
    "tune",
]
