"""Span vectors of three parts, each a mean over words: a linear layer then reads words, not spans."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from nearspan.linear import CpuLinear

FIRST, MEAN, LAST = range(3)  # the parts of a vector, as they stand side by side


@dataclass(frozen=True)
class SpanMeans:
    """[v_i; mean of v_i to v_j; v_j] of S spans of words i to j, without the vectors themselves.

    A linear layer W = [A, M, B] of such a vector is A v_i + mean of M v_i to M v_j + B v_j: each word is multiplied
    once, not once for each span that it is in.
    """

    words: Tensor  # [N, H] the states v of all words
    first: Tensor  # [S] the row of each span's first word; its words are neighbours
    width: Tensor  # [S]

    def __len__(self) -> int:
        return len(self.first)

    def gather(self, projected: Tensor, start: int, stop: int) -> Tensor:
        """What a layer gives for spans `start` to `stop` [n, F], of what it makes of words [N, 3 F] (`split_layer`)."""
        table = projected.view(3 * len(self.words), -1)
        first, width = self.first[start:stop], self.width[start:stop]
        counts = width + 2  # rows of the table that are added up for a span: its first word, all of them, its last
        begins = counts.cumsum(0) - counts
        span = torch.repeat_interleave(counts)
        place = torch.arange(len(span)) - begins[span] - 1  # from -1 to the width
        part = 1 + (place == width[span]).long() - (place < 0).long()
        word = first[span] + torch.minimum(place.clamp(min=0), width[span] - 1)
        share = torch.where(part == MEAN, 1 / width[span], 1.0)
        rows = word * 3 + part
        return functional.embedding_bag(rows, table, begins, mode="sum", per_sample_weights=share.to(table.dtype))


def split_layer(layer: nn.Linear) -> nn.Linear:
    """A layer [3 F outputs, H inputs] that makes of a word what it adds to F outputs as each part of a span.

    The bias comes with the first word.
    """
    outputs, inputs = layer.out_features, layer.in_features // 3
    split = CpuLinear(inputs, 3 * outputs, device="meta")
    parts = layer.weight.detach().view(outputs, 3, inputs).transpose(0, 1)
    split.weight = nn.Parameter(parts.reshape(3 * outputs, inputs), requires_grad=False)
    split.bias = nn.Parameter(functional.pad(layer.bias.detach(), (0, 2 * outputs)), requires_grad=False)
    return split
