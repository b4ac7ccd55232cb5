"""What a span representation is: word states and candidates to span vectors [S, size]."""

from __future__ import annotations

from typing import Any, ClassVar, Self

from torch import Tensor, nn

from nearspan.encoders import Encoded, Encoder
from nearspan.settings import Settings
from nearspan.spans.additive_spans import EndSums, WordSums
from nearspan.spans.candidates import Candidates


class Representation(nn.Module):
    """Span vectors from an encoder's states."""

    Settings: ClassVar[type[Settings]]
    is_additive: ClassVar[bool] = False  # whether span vectors are sums over words: `word_sums` and `end_sums`
    may_skip_weights: ClassVar[bool] = False  # whether a batch may leave weights without a gradient
    size: int
    end_size: int = 0  # of each of the two ends that a vector begins with, where it does
    begins_alike: bool = False

    @classmethod
    def build(cls, settings: Any, encoder: Encoder, max_width: int) -> Self:
        """The representation over an encoder's states."""
        raise NotImplementedError

    def forward(self, encoded: Encoded, candidates: Candidates) -> Tensor:
        """Span vectors [S, size]."""
        raise NotImplementedError

    def pretrained_parameters(self) -> list[nn.Parameter]:
        """Weights that began as a pretrained encoder's."""
        return []

    def word_sums(self, states: Tensor) -> WordSums:
        """The vectors as sums over words, where they are additive."""
        raise NotImplementedError

    def end_sums(self, states: Tensor) -> EndSums:
        """The vectors as sums of two ends, where they are additive."""
        raise NotImplementedError
