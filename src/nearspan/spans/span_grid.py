"""Where spans lie: in the order of the candidates, or as cells of a grid of starts and widths.

Spans of one word are words and come from the word states. The wide ones, of two words and more, are computed.
A grid [B, starts, widths] has a cell for each first word and each width from 2 on; the cells of spans that
reach beyond their sentence hold nothing anyone reads.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from nearspan.spans.candidates import Candidates, candidate_number, count_candidates, enumerate_spans


@dataclass(frozen=True)
class SpanGrid:
    """The N wide spans among the S candidates of a batch, sentence after sentence."""

    sentence: Tensor  # [N]
    first: Tensor  # [N]
    width: Tensor  # [N] in words, from 2 on
    order: Tensor  # [S] where each candidate is found among the B * T words and the N wide spans after them
    lengths: Tensor  # [B] words of each sentence, on the CPU
    starts: int  # T - 1
    widths: int  # how many widths there are from 2 on

    @classmethod
    def of(cls, candidates: Candidates, lengths: Tensor, words: int, max_width: int) -> SpanGrid:
        """The wide spans of sentences of these lengths (a CPU tensor), padded to `words`.

        They are numbered like the spans of sentences that are one word shorter.
        """
        device = candidates.first.device
        shorter = (lengths - 1).clamp(min=0)
        widths = min(max_width, words) - 1
        if widths < 1:
            empty = candidates.first[:0]
            order = candidates.sentence * words + candidates.first
            return cls(empty, empty, empty, order, lengths, max(0, words - 1), 0)
        wide = enumerate_spans(shorter, widths, device)
        before = (wide.counts.cumsum(0) - wide.counts).to(device, non_blocking=True)
        is_word = candidates.stop - candidates.first == 1
        length = (candidates.lengths - 1)[candidates.sentence]
        number = candidate_number(candidates.first, candidates.stop - 1, length, widths)
        order = torch.where(
            is_word,
            candidates.sentence * words + candidates.first,
            len(lengths) * words + before[candidates.sentence] + number,
        )
        return cls(wide.sentence, wide.first, wide.stop - wide.first + 1, order, lengths, words - 1, widths)

    def __len__(self) -> int:
        return len(self.first)

    @cached_property
    def cells(self) -> Tensor:
        """The grid cell of each wide span [N]."""
        return (self.sentence * self.starts + self.first) * self.widths + self.width - 2

    def window(self, first: int, stop: int) -> tuple[SpanGrid, Tensor]:
        """The wide spans that begin at words `first` to `stop` as a grid of their own, and their rows here [N'].

        Those of a sentence are neighbours, and how many they are is known from its length.
        """
        of_sentence, from_first, from_stop = (  # how many wide spans of each sentence begin there or later [B]
            count_candidates((self.lengths - 1 - word).clamp(min=0), self.widths) for word in (0, first, stop)
        )
        counts = from_first - from_stop
        total, device = int(counts.sum()), self.first.device
        shift = of_sentence.cumsum(0) - from_first - (counts.cumsum(0) - counts)
        sent = torch.stack([shift, counts]).to(device, non_blocking=True)
        shifts = torch.repeat_interleave(*sent, output_size=total)
        rows = torch.arange(total, device=device) + shifts
        sentence, begin, width = (tensor[rows] for tensor in (self.sentence, self.first, self.width))
        part = SpanGrid(sentence, begin - first, width, self.order[:0], self.lengths - first, stop - first, self.widths)
        return part, rows


def gather_rows(grid: Tensor, cells: Tensor) -> Tensor:
    """The rows [N, H] of a flat grid [C, H]; no cell is taken twice, which makes the way back cheap."""
    rows: Tensor = _GatherRows.apply(grid, cells)  # type: ignore[no-untyped-call]
    return rows


def scatter_rows(spans: Tensor, cells: Tensor, count: int) -> Tensor:
    """Spans [N, H] in their cells of a flat grid [count, H]; the other cells are 0."""
    rows: Tensor = _ScatterRows.apply(spans, cells, count)  # type: ignore[no-untyped-call]
    return rows


class _GatherRows(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, grid: Tensor, cells: Tensor) -> Tensor:
        ctx.save_for_backward(cells)
        ctx.count = len(grid)
        return grid.index_select(0, cells)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        (cells,) = ctx.saved_tensors
        gradient = gradients[0]
        return gradient.new_zeros(ctx.count, gradient.shape[1]).index_copy_(0, cells, gradient), None


class _ScatterRows(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, spans: Tensor, cells: Tensor, count: int) -> Tensor:
        ctx.save_for_backward(cells)
        return spans.new_zeros(count, spans.shape[1]).index_copy_(0, cells, spans)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        (cells,) = ctx.saved_tensors
        return gradients[0].index_select(0, cells), None, None
