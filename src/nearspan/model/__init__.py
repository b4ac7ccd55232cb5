"""The model: a network with its labels and its datastore, how it predicts, and how far its scores can be trusted."""

from nearspan.model.calibration import CalibrationFit
from nearspan.model.model import Model
from nearspan.model.thresholds import ThresholdChoice

__all__ = ["CalibrationFit", "Model", "ThresholdChoice"]
