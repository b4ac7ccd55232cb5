"""Losses: what training asks of the span scores, whatever the head."""

from typing import Literal

from nearspan.losses.boundary_smoothing import BoundarySmoothingSettings, smooth_targets
from nearspan.losses.generators import Generators, GeneratorSettings, zero_loss
from nearspan.losses.span_texts import SpanTexts, SynonymSource, Vocabulary
from nearspan.settings import Settings


class LossSettings(Settings):
    """What training asks for beside the labels themselves; a part that is left out changes nothing."""

    # what the loss of head, linker and bottleneck is a mean over: sentences, each the sum over its spans, or spans
    mean_over: Literal["sentences", "spans"] = "sentences"
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
