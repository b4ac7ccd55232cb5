"""Tuning: settings of a recipe are tried, and those with the best development F1 are kept as a recipe."""

from nearspan.training.tuning.space import Space
from nearspan.training.tuning.trials import Trial
from nearspan.training.tuning.tuner import TuningResult, tune

__all__ = ["Space", "Trial", "TuningResult", "tune"]
