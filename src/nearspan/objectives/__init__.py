"""Objectives: what training asks of the span scores, whatever the head."""

from typing import Literal

from nearspan.objectives.generation import GenerationSettings, Generators, idle
from nearspan.objectives.smoothing import SmoothingSettings, smoothed
from nearspan.objectives.texts import SpanTexts, SynonymSource, Vocabulary
from nearspan.settings import Settings


class ObjectiveSettings(Settings):
    """What training asks for beside the labels themselves; a part that is left out changes nothing."""

    # what the loss of head, joiner and bottleneck is a mean over: sentences, each the sum over its spans, or spans
    mean: Literal["sentences", "spans"] = "sentences"
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
