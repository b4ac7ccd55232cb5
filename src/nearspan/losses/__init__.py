"""Objectives: what training asks of the span scores, whatever the head."""

from nearspan.losses.boundary_smoothing import BoundarySmoothingSettings, smooth_targets
from nearspan.losses.generators import Generators, GeneratorSettings, zero_loss
from nearspan.losses.span_texts import SpanTexts, SynonymSource, Vocabulary
from nearspan.settings import Settings


class LossSettings(Settings):
    """What training asks for beside the labels themselves; a part that is left out changes nothing."""

    boundary_smoothing: BoundarySmoothingSettings | None = None
    generators: GeneratorSettings | None = None


__all__ = [
    "BoundarySmoothingSettings",
    "GeneratorSettings",
    "Generators",
    "LossSettings",
    "SpanTexts",
    "SynonymSource",
    "Vocabulary",
    "smooth_targets",
    "zero_loss",
]
