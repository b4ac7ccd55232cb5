"""Losses: what training asks of the span scores, whatever the head."""

from typing import Annotated, Any, Literal

from pydantic import Field, field_validator

from nearspan.losses.boundary_smoothing import BoundarySmoothing, BoundarySmoothingSettings, smooth_targets
from nearspan.losses.generators import Generators, GeneratorSettings, zero_loss
from nearspan.losses.loss import Loss
from nearspan.losses.span_texts import SpanTexts, SynonymSource, Vocabulary
from nearspan.settings import PartField, PartName, PartSettings, Settings, drop_none


class LossSettings(Settings):
    """What training asks for beside the labels themselves; a part that is left out changes nothing."""

    # what the loss of head, linker and bottleneck is a mean over: sentences, each the sum over its spans, or spans
    mean_over: Literal["sentences", "spans"] = "sentences"
    boundary_smoothing: BoundarySmoothingSettings | None = None
    generators: GeneratorSettings | None = None
    extra: dict[PartName, Annotated[PartSettings, PartField("loss")]] = Field(default={})  # further ones, by any name

    _leave_out = field_validator("extra", mode="before")(drop_none)

    def about_spans(self) -> dict[str, Any]:
        """The settings of all that changes targets or adds to the head's loss, by the names that a recipe has."""
        ours: dict[str, Any] = {"boundary_smoothing": self.boundary_smoothing} if self.boundary_smoothing else {}
        return ours | {f"extra.{name}": settings for name, settings in self.extra.items()}


__all__ = [
    "BoundarySmoothing",
    "BoundarySmoothingSettings",
    "GeneratorSettings",
    "Generators",
    "Loss",
    "LossSettings",
    "SpanTexts",
    "SynonymSource",
    "Vocabulary",
    "smooth_targets",
    "zero_loss",
]
