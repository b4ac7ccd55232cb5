"""Objectives: what training asks of the span scores, whatever the head."""

from nearspan.objectives.generation import GenerationSettings, Generators, idle
from nearspan.objectives.smoothing import SmoothingSettings, smoothed
from nearspan.objectives.texts import SpanTexts, SynonymSource, Vocabulary
from nearspan.settings import Settings


class ObjectiveSettings(Settings):
    """What training asks for beside the labels themselves; a part that is left out changes nothing."""

    smoothing: SmoothingSettings | None = None
    generation: GenerationSettings | None = None


__all__ = [
    "GenerationSettings",
    "Generators",
    "ObjectiveSettings",
    "SmoothingSettings",
    "SpanTexts",
    "SynonymSource",
    "Vocabulary",
    "idle",
    "smoothed",
]
