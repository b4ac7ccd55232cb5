"""Training: the loop, its checkpoints and callbacks; and tuning."""

from nearspan.io.model_folder import CHECKPOINT
from nearspan.memory import carry_edits
from nearspan.training.callbacks import ProgressBar, TrainingCallback
from nearspan.training.corpora import all_documents
from nearspan.training.folder import REFUSED
from nearspan.training.loop import train
from nearspan.training.run import Run
from nearspan.training.start import first_recipe, starting_recipe
from nearspan.training.tuning import Space, TuningResult, tune

__all__ = [
    "CHECKPOINT",
    "REFUSED",
    "ProgressBar",
    "Run",
    "Space",
    "TrainingCallback",
    "TuningResult",
    "all_documents",
    "carry_edits",
    "first_recipe",
    "starting_recipe",
    "train",
    "tune",
]
