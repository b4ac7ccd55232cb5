"""Training: the loop, its checkpoints and what it tells on the way."""

from nearspan.training.loop import Run, train
from nearspan.training.watch import Watch

__all__ = ["Run", "Watch", "train"]
