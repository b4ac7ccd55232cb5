"""Span vectors that are sums: over the words of a span, or of its two ends."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True)
class WordSums:
    """h_s = begins[first] + steps[first] + ... + steps[last], so that words are kept instead of spans."""

    begins: Tensor  # [..., R, H], or [1, H] where every span begins alike
    steps: Tensor  # [..., R, H]

    def __len__(self) -> int:
        return len(self.steps)


@dataclass(frozen=True)
class EndSums:
    """h_s = left[first] + right[last] for the spans of B sentences."""

    left: Tensor  # [B, T, H]
    right: Tensor  # [B, T, H]
    shared: Tensor | None = None  # [H] what right[t] + left[t + 1] is for every t, if it is the same

    def __len__(self) -> int:
        return len(self.left)

    def select(self, ids: Tensor) -> EndSums:
        """The sentences `ids`."""
        return EndSums(self.left.index_select(0, ids), self.right.index_select(0, ids), self.shared)

    def scale(self, factor: float) -> EndSums:
        """The same with all spans times a factor."""
        shared = None if self.shared is None else self.shared * factor
        return EndSums(self.left * factor, self.right * factor, shared)

    def double(self) -> EndSums:
        """The same in double precision."""
        return EndSums(self.left.double(), self.right.double(), None if self.shared is None else self.shared.double())
