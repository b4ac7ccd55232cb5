"""Sums over all spans of a memory from scores of its words.

Where span vectors add up, so do their scores, and exp(score) is a product. With q_t = exp(h . step_t) the spans of the
memory that begin at word a have the weights q_a, q_a q_(a+1), ..., whose sum is q_a (1 + q_(a+1) (1 + ...)): one
multiplication and one addition for a span instead of an inner product and an exponential. A gap after each sentence,
where q is 0, ends what does not fit in. And where h is the sum of a span's two ends, q is the product of one factor for
each: exponentials are taken for ends, which are far fewer than spans.

Logarithms are to the base 2 throughout, because exp2 is by far the quicker one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

LN_2 = 0.6931471805599453
SCALES = {torch.float32: 80, torch.float64: 500}  # 1 stands for 2^-scale, which makes room for large sums
LEAST = {torch.float32: -126, torch.float64: -1022}  # exponents below vanish
CELLS = 2**18  # weights of words for spans that may be made in one go; for more, width after width
ROWS = 2**16  # the same for spans whose scores are given one by one
SAFE = 90  # up to 2^90 a sum has nothing to lose by a product that vanishes in float32


class WordScores(NamedTuple):
    """log2 of the weights that ends or spans have for the words of a memory."""

    steps: Tensor  # [..., W]
    begins: Tensor | None = None  # [..., W], or None where all spans of the memory begin alike

    def rows(self, rows: slice) -> WordScores:
        """Those of some spans."""
        return WordScores(self.steps[rows], None if self.begins is None else self.begins[rows])

    def least(self) -> Tensor:
        """A lower bound [...], 0 at most, for each of them and for a step and a begin together."""
        least = self.steps.amin(-1).clamp(max=0)
        return least if self.begins is None else least + self.begins.amin(-1).clamp(max=0)


def window_sums(
    left: WordScores, right: WordScores, gaps: Tensor, widths: int, max_width: int
) -> tuple[Tensor, Tensor]:
    """log2 [B, T, L] of the weights of all memory spans together, for spans by first word and width.

    And whether they hold [B, T, L]. Scores of ends are [B, T, W]; `gaps` [B, W] are -inf at gaps and 0 at words. What
    reaches beyond a sentence has no meaning.

    While no factor vanishes and the result is in range nothing that counts is lost: what a sum lacks on the way is
    little beside its 1, and what it is multiplied with is the weight of a span, which the result has in it too. Where
    spans begin alike a q that vanishes lacks no more than 2^-126 times the weights of two spans, which it would have
    joined: nothing beside a result up to 2^90.
    """
    scale = SCALES[left.steps.dtype]
    batch, length, words = left.steps.shape
    at_once = min(widths, max(1, CELLS // left.steps.numel()))
    beyond = (0, 0, 0, at_once - 1)  # right ends for those too that reach beyond: all widths in one go take fewer calls
    starts, stops = left.steps.exp2().mul_(gaps.exp2()[:, None]), functional.pad(right.steps, beyond).exp2_()
    ends = [(starts, stops)]
    if left.begins is not None and right.begins is not None:
        ends.append((left.begins.exp2(), functional.pad(right.begins, beyond).exp2_()))
    sums = starts.new_ones(batch, length, widths)
    room = starts.new_empty(2 + len(ends), batch * length * at_once, words)
    for first in range(0, widths, at_once):
        more = range(widths)[first : first + at_once]  # right ends are so many words after left ones
        shape = (batch, length - first, len(more), words)
        inner, other, *products = room[:, : batch * shape[1] * shape[2]]
        for (starts, stops), out in zip(ends, products, strict=True):
            after = stops[:, first : first + shape[1] + shape[2] - 1].unfold(1, shape[2], 1).mT  # [B, T', M, W]
            torch.mul(starts[:, : shape[1], None], after, out=out.view(shape))
        part = _nested_sums(products[0], products[1] if products[1:] else None, (inner, other), max_width, 2.0**-scale)
        sums[:, : length - first, first : more.stop] = part.view(shape[:3])
    totals = sums.double().log2() + scale  # float32 is too coarse for differences of large logarithms
    holds = (totals < torch.inf) & (totals > scale / -4)  # false for NaN too
    parts = (left.steps, left.begins, right.steps, right.begins)
    least = sum(min(0.0, float(part.amin())) for part in parts if part is not None)  # `min` would copy a slice
    if least < LEAST[left.steps.dtype]:  # as hardly ever
        holds &= _keeps_factors(left, right, totals)
    return totals, holds


def _keeps_factors(left: WordScores, right: WordScores, totals: Tensor) -> Tensor:
    """Whether no factor that counts vanishes in sums whose log2 are these [B, T, L], from ends with these scores."""
    floor, widths = LEAST[left.steps.dtype], totals.shape[2]
    first, last = left.least(), right.least()  # [B, T]
    first, last = first[..., None], functional.pad(last, (0, widths - 1)).unfold(1, widths, 1)
    whole = first + last >= floor
    if left.begins is None:
        whole |= (first >= floor) & (last >= floor) & (totals < SAFE)
    return whole


def row_sums(scores: WordScores, gaps: Tensor, max_width: int) -> Tensor:
    """The same [R] for spans with scores [R, W] and gaps [R, W], of any size.

    In the scores' precision where that holds, else in double precision or by logarithms.
    """
    dtype, begins = scores.steps.dtype, scores.begins
    most = max(1, ROWS // gaps.shape[1])
    if len(gaps) > most:
        parts = [slice(first, first + most) for first in range(0, len(gaps), most)]
        return torch.cat([row_sums(scores.rows(part), gaps[part], max_width) for part in parts])
    scale, factors = SCALES[dtype], (scores.steps + gaps).exp2_()
    room = (torch.empty_like(factors), torch.empty_like(factors))
    ones = None if begins is None else begins.exp2()
    totals = _nested_sums(factors, ones, room, max_width, 2.0**-scale).double().log2() + scale
    in_range = (totals < torch.inf) & (totals > scale / -4)
    if begins is not None or bool((totals >= SAFE).any()):
        in_range &= (scores.least() >= LEAST[dtype]) | (totals < SAFE if begins is None else False)
    rest = (~in_range).nonzero().flatten()
    if len(rest):
        others = WordScores(scores.steps[rest].double(), None if begins is None else begins[rest].double())
        if dtype == torch.double:
            totals[rest] = _by_logarithms(others.steps + gaps[rest], others.begins, max_width)
        else:
            totals[rest] = row_sums(others, gaps[rest], max_width)
    return totals


def _nested_sums(factors: Tensor, begins: Tensor | None, room: Sequence[Tensor], max_width: int, unit: float) -> Tensor:
    """Sums [...] of the products of up to `max_width` factors [..., W] in a row, times `unit`; the last is a gap.

    What is in `factors`, and in two tensors like it, is lost.
    """
    max_width = min(max_width, factors.shape[-1])
    q, start = factors.view(-1), factors.new_full((), unit)
    inner, other = (part.view(-1) for part in room)
    inner[-1] = other[-1] = unit
    after = q[1:]
    torch.add(start, after, alpha=unit if max_width > 1 else 0, out=inner[:-1])
    for _ in range(max_width - 2):  # inner[a] = 1 + q[a + 1] * inner[a + 1]
        torch.addcmul(start, after, inner[1:], out=other[:-1])
        inner, other = other, inner
    ones = factors if begins is None else factors.mul_(begins)  # the weights of spans of one word
    return ones.mul_(inner.view_as(ones)).sum(-1)


def _by_logarithms(steps: Tensor, begins: Tensor | None, max_width: int) -> Tensor:
    """The same as log2, for scores of any size."""
    inner = torch.zeros_like(steps)
    for _ in range(min(max_width, steps.shape[1]) - 1):
        inner = torch.logaddexp2(torch.zeros_like(inner), (steps + inner).roll(-1, 1))
    ends = steps + inner if begins is None else steps + inner + begins
    return torch.logsumexp(ends * LN_2, 1) / LN_2
