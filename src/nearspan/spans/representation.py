"""What a span representation is: word states and candidates to span vectors [S, size].

One of a package of yours is a subclass of `Representation` with `Settings`, registered by
`nearspan.register("representation", MyRepresentation)`; a recipe names it by `representation.kind`.

Shapes: B sentences, T words in the longest of them, S candidate spans, H width of a word state.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

from torch import Tensor, nn

from nearspan.encoders import Encoded, Encoder
from nearspan.settings import Settings
from nearspan.spans.additive_spans import EndSums
from nearspan.spans.candidates import Candidates
from nearspan.spans.span_means import SpanMeans


@dataclass(frozen=True)
class WordEnds:
    """The parts of span vectors [first of the first word, last of the last word, width of so many words]."""

    first: Tensor  # [B, T, E]
    last: Tensor  # [B, T, E]
    widths: Tensor  # [K, W]; W may be 0


class Representation(nn.Module):
    """Span vectors from an encoder's states.

    class FirstWord(Representation):
        Settings = FirstWordSettings  # kind: Literal["first_word"] = "first_word"

        def __init__(self, size):
            super().__init__()
            self.size = size

        @classmethod
        def build(cls, settings, encoder, max_width):
            return cls(encoder.size)

        def forward(self, encoded, candidates):
            return encoded.states[candidates.sentence, candidates.first]  # [S, H]

    What else stands below has a default that is right for it: it makes some kinds quicker, or fits them to a head.
    """

    Settings: ClassVar[type[Settings]]
    is_additive: ClassVar[bool] = False  # whether span vectors are sums over words: it needs `end_sums` then
    reads_states_alone: ClassVar[bool] = False  # whether it asks of what was encoded for `states`, and for nothing else
    may_skip_weights: ClassVar[bool] = False  # whether a batch may leave weights without a gradient
    size: int  # of a span's vector
    end_size: int = 0  # of each of the two ends that a vector begins with, where it does; the biaffine head needs them

    @classmethod
    def build(cls, settings: Any, encoder: Encoder, max_width: int) -> Self:
        """The representation over states of `encoder.size`; no candidate has more than `max_width` words."""
        return cls(settings, encoder.size, max_width)

    def forward(self, encoded: Encoded, candidates: Candidates) -> Tensor:
        """Span vectors [S, size] of words first to stop - 1, from `encoded.states` [B, T, H], padded behind a sentence.

        In training with bf16 the states may come in half precision: sums want `.float()`.
        """
        raise NotImplementedError(f"{type(self).__name__} has no `forward`")

    def pretrained_parameters(self) -> list[nn.Parameter]:
        """Weights that began as a pretrained encoder's."""
        return []

    def word_ends(self, encoded: Encoded) -> WordEnds | None:
        """What span vectors consist of, where that is their two ends and their width: a head may score words by it."""
        del encoded
        return None

    def span_means(self, encoded: Encoded, candidates: Candidates) -> SpanMeans | None:
        """What span vectors are means of, where that is so: a bottleneck then reads words once, not once a span."""
        del encoded, candidates
        return None

    def end_sums(self, states: Tensor) -> EndSums:
        """The vectors as sums of two ends, where they are additive."""
        raise NotImplementedError
