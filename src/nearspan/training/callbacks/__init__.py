"""Callbacks of a training: the metrics file, the progress that is shown or logged, and trackers."""

from collections.abc import Sequence

from nearspan.training.callbacks.callback import CallbackList, TrainingCallback
from nearspan.training.callbacks.metrics_file import METRICS, MetricsFile, epoch_metrics
from nearspan.training.callbacks.progress_display import ProgressBar, ProgressLog, format_seconds
from nearspan.training.callbacks.trackers import TRACKERS, Trackers

__all__ = [
    "METRICS",
    "TRACKERS",
    "CallbackList",
    "MetricsFile",
    "ProgressBar",
    "ProgressLog",
    "Trackers",
    "TrainingCallback",
    "assemble_callbacks",
    "epoch_metrics",
    "format_seconds",
]


def assemble_callbacks(callbacks: Sequence[TrainingCallback], track: Sequence[str]) -> CallbackList:
    """These callbacks with the metrics file, a log where none of them shows progress, and trackers."""
    log = [] if any(callback.shows_progress for callback in callbacks) else [ProgressLog()]
    trackers = [Trackers(track)] if track else []
    return CallbackList([MetricsFile(), *log, *callbacks, *trackers])
