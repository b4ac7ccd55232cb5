"""Training: the loop, its checkpoints and what it tells on the way."""

from nearspan.training.checkpoint import FILE as CHECKPOINT
from nearspan.training.loop import train
from nearspan.training.run import RESULT, Run
from nearspan.training.watch import Watch

__all__ = ["CHECKPOINT", "RESULT", "Run", "Watch", "train"]
