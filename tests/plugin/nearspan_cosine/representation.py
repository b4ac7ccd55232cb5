"""A span is the sum of the states of its first and last word, through a layer."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field
from torch import Tensor, nn

from nearspan.encoders import Encoded, Encoder
from nearspan.settings import Settings
from nearspan.spans import Candidates, Representation


class EndSumSettings(Settings):
    """The sum of a span's two ends."""

    kind: Literal["end_sum"] = "end_sum"
    size: int = Field(default=16, ge=1)


class EndSum(Representation):
    """s = W (v_first + v_last)."""

    Settings: ClassVar[type[Settings]] = EndSumSettings

    def __init__(self, settings: EndSumSettings, inputs: int) -> None:
        super().__init__()
        self.size = settings.size
        self.layer = nn.Linear(inputs, settings.size)

    @classmethod
    def build(cls, settings: EndSumSettings, encoder: Encoder, max_width: int) -> EndSum:
        """The representation over an encoder's states."""
        return cls(settings, encoder.size)

    def forward(self, encoded: Encoded, candidates: Candidates) -> Tensor:
        """Span vectors [S, size]."""
        states = encoded.states  # [B, T, H]
        ends = states[candidates.sentence, candidates.first] + states[candidates.sentence, candidates.stop - 1]
        vectors: Tensor = self.layer(ends)
        return vectors
