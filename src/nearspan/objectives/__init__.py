"""Objectives: what training asks of the span scores, whatever the head."""

from nearspan.objectives.smoothing import SmoothingSettings, smoothed
from nearspan.settings import Settings


class ObjectiveSettings(Settings):
    """What training asks for beside the labels themselves; a part that is left out changes nothing."""

    smoothing: SmoothingSettings | None = None


__all__ = ["ObjectiveSettings", "SmoothingSettings", "smoothed"]
