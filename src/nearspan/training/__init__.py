"""Training: the loop, its checkpoints and what it tells on the way; and tuning."""

from nearspan.folder import CHECKPOINT, RESULT
from nearspan.training.loop import REFUSED, train
from nearspan.training.run import Run
from nearspan.training.space import Space
from nearspan.training.tune import Tuned, tune
from nearspan.training.watch import Watch

__all__ = ["CHECKPOINT", "REFUSED", "RESULT", "Run", "Space", "Tuned", "Watch", "train", "tune"]
