"""Sums over all spans of a memory from scores of its words.

Where span vectors add up over words, so do their scores, and exp(score) is a product. With q_t = exp(h . step_t) the
spans that begin at word a have the weights q_a, q_a q_(a+1), ..., whose sum is q_a (1 + q_(a+1) (1 + ...)): one
multiplication and one addition for a span instead of an inner product and an exponential. A gap after each sentence,
where q is 0, ends what does not fit in.

Logarithms are to the base 2 throughout, because exp2 is by far the quicker one.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

LN_2 = 0.6931471805599453


class Range(NamedTuple):
    """How far powers of 2 reach in some precision."""

    scale: int  # 1 stands for 2^-scale, which makes room for large sums
    least: int  # the least exponent of a factor: below it a product may lose what counts


RANGES = {torch.float32: Range(80, -126), torch.float64: Range(500, -1022)}


def log_window_sums(steps: Tensor, begins: Tensor | None, least: Tensor, max_width: int) -> tuple[Tensor, Tensor]:
    """log2 [R] of the summed weights of all spans, from log2 of the factors q [R, W] and of the begins' factors.

    And whether it holds [R]. `least` [R] is a lower bound for the logarithms, a begin's and a step's together, gaps
    apart. While no factor vanishes and the result is in range nothing that counts is lost: what a sum lacks on the way
    is little beside its 1, and what it is multiplied with is the weight of a span, which the result has in it too.
    """
    scale, floor = RANGES[steps.dtype]
    sums = _window_sums(steps.exp2(), begins, max_width, 2.0**-scale)
    found = sums.double().log2() + scale  # float32 is too coarse for differences of large logarithms
    return found, (found < torch.inf) & (found > scale / -4) & (least >= floor)  # false for NaN too


def sure_log_window_sums(steps: Tensor, begins: Tensor | None, least: Tensor, max_width: int) -> Tensor:
    """The same for scores of any size, in double precision: what leaves its range is added up by logarithms."""
    found, held = log_window_sums(steps, begins, least, max_width)
    if not bool(held.all()):
        rest = (~held).nonzero().flatten()
        found[rest] = _by_logarithms(steps[rest], None if begins is None else begins[rest], max_width)
    return found


def _window_sums(factors: Tensor, begins: Tensor | None, max_width: int, one: float) -> Tensor:
    """Sums [R] of the products of up to `max_width` factors in a row, times `one`; the last column is a gap."""
    q = factors.flatten()
    unit = q.new_full((), one)
    inner, other = torch.empty_like(q), torch.empty_like(q)
    inner[-1] = other[-1] = one
    torch.add(unit, q[1:], alpha=one if max_width > 1 else 0, out=inner[:-1])
    for _ in range(max_width - 2):  # inner[a] = 1 + q[a + 1] * inner[a + 1]
        torch.addcmul(unit, q[1:], inner[1:], out=other[:-1])
        inner, other = other, inner
    ones = q if begins is None else q.mul_(begins.exp2().flatten())  # the weights of spans of one word
    return ones.mul_(inner).view_as(factors).sum(1)


def _by_logarithms(steps: Tensor, begins: Tensor | None, max_width: int) -> Tensor:
    """The same as log2, for scores of any size."""
    inner = torch.zeros_like(steps)
    for _ in range(max_width - 1):
        inner = torch.logaddexp2(torch.zeros_like(inner), (steps + inner).roll(-1, 1))
    ends = steps + inner if begins is None else steps + inner + begins
    return torch.logsumexp(ends * LN_2, 1) / LN_2
