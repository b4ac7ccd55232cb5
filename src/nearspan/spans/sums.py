"""Span vectors that add up over the words of a span."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class WordSums:
    """h_s = begins[first] + steps[first] + ... + steps[last], so that words are kept instead of spans."""

    begins: Tensor  # [..., R, H], or [1, H] where every span begins alike
    steps: Tensor  # [..., R, H]

    def __len__(self) -> int:
        return len(self.steps)

    def only(self, number: int) -> WordSums:
        """One sentence [R, H] of a batch [B, R, H]."""
        return WordSums(self.begins if self.begins.dim() == 2 else self.begins[number], self.steps[number])

    def some(self, ids: Tensor) -> WordSums:
        """Some sentences of a batch [B, R, H]."""
        return WordSums(self.begins if self.begins.dim() == 2 else self.begins[ids], self.steps.index_select(0, ids))


def widths_of(words: int, max_width: int) -> list[int]:
    """How many spans of 1, 2, ... words a sentence has.

    >>> widths_of(4, max_width=3)
    [4, 3, 2]
    """
    return [words - more for more in range(min(words, max_width))]


def spans_by_width(begins: Tensor, steps: Tensor, max_width: int) -> Tensor:
    """Sums [..., R, X] for the spans of sentences with steps [..., T, X]: all of one word, then all of two, and so on.

    What is added may be vectors or their products with something. `begins` is [..., T, X] or [..., 1, X].

    >>> spans_by_width(torch.tensor([[0.5]]), torch.tensor([[1.0], [2.0], [4.0]]), max_width=2).flatten().tolist()
    [1.5, 2.5, 4.5, 3.5, 6.5]
    """
    counts = widths_of(steps.shape[-2], max_width)
    found = steps.new_empty(*steps.shape[:-2], sum(counts), steps.shape[-1])
    parts = found.split(counts, dim=-2)
    torch.add(begins, steps, out=parts[0])
    for more, part in enumerate(parts[1:], start=1):
        torch.add(parts[more - 1][..., : counts[more], :], steps[..., more:, :], out=part)
    return found
