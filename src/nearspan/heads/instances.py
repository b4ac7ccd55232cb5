"""The instance head: a span's label is what its neighbours in the training set say (Ouchi et al., 2020)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Literal

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional

from nearspan.heads.pool import Pool
from nearspan.settings import Settings

LEAST_PRODUCT = 1e-280  # what is lost below double precision's range is then less than a part in 10^10


class InstanceSettings(Settings):
    """Instance-based span classification, equations 1 and 2."""

    kind: Literal["instances"] = "instances"
    neighbours: int = Field(default=50, ge=1)  # K: sentences whose spans are compared with
    search: Literal["nearest", "whole"] = "nearest"  # compare with the K nearest sentences, or with all of them
    budget_mb: int = Field(default=512, ge=1)  # the most memory that scores take at once
    through_neighbours: bool = False  # let the gradient flow into the neighbours' vectors too

    def build(self, inputs: int, labels: int, ends: int = 0) -> Instances:  # noqa: ARG002
        """The head for `labels` labels beside null; it has no weights of its own."""
        return Instances(self, labels)


class Instances(nn.Module):
    """P(y|s) is the share of the neighbour probability that falls on spans labelled y."""

    uses_memory: ClassVar[bool] = True

    def __init__(self, settings: InstanceSettings, labels: int) -> None:
        super().__init__()
        self.settings = settings
        self.labels = labels + 1  # null is a label like the others
        self.budget = settings.budget_mb * 2**20

    def loss(self, vectors: Tensor, targets: Tensor, pool: Pool | None = None) -> Tensor:
        """-sum_y t_y log P(y|s), summed over spans; targets t [S, 1 + Y].

        A label that the pool lacks says nothing and adds nothing.
        """
        if pool is None:
            raise ValueError("the instance head needs a pool of neighbours")
        present = torch.zeros(self.labels, dtype=torch.bool, device=targets.device)
        present[pool.labels] = True
        surprise: Tensor = _Surprise.apply(  # type: ignore[no-untyped-call]
            vectors.float(), pool.vectors.float(), pool.labels, targets * present
        )
        return surprise.sum()

    def probabilities(self, vectors: Tensor, pool: Pool | None = None) -> Tensor:
        """P(y|s) [..., S, 1 + Y] given all of a pool."""
        if pool is None:
            raise ValueError("the instance head needs a memory; build one with Model.remember")
        return neighbour_probabilities(vectors, pool) @ pool.votes(self.labels)

    def probabilities_by_ends(self, left: Tensor, right: Tensor, first: Tensor, last: Tensor, pool: Pool) -> Tensor:
        """P(y|s) [S, 1 + Y] for the spans h = left[first] + right[last] of one sentence with ends [T, H].

        exp(h . m) = exp(left . m) exp(right . m), so exponentials are taken for 2T ends instead of S spans, and the
        sum over the pool is a product of two T x N matrices. What all left ends have in common, and the right ends
        take back, is shared out between them first, and products are taken in double precision, since an end alone may
        be near to quite other spans than the whole is. Where they would vanish even so, or be more than the budget
        allows, the spans are scored one by one.
        """
        spans = left[first] + right[last]
        if 2 * len(left) * len(pool.labels) * 12 > self.budget:
            return streamed_probabilities(spans, pool, self.labels, self.budget)
        surplus = (left.mean(0) - right.mean(0)) / 2
        scores = torch.cat([left - surplus, right + surplus]) @ pool.vectors.T  # [2T, N]
        weights = scores.sub_(scores.amax(1, keepdim=True)).double().exp_()
        of_left, of_right = weights.split(len(left))
        total = (of_left @ of_right.T)[first, last]  # [S]
        if float(total.min()) < LEAST_PRODUCT:
            return streamed_probabilities(spans, pool, self.labels, self.budget)
        # nearly all spans are null: sum over the few others, and null has the rest
        entities = pool.labels.nonzero().flatten()
        votes = functional.one_hot(pool.labels[entities], self.labels).to(weights.dtype)  # [E, 1 + Y]
        claimed = of_left[:, entities] * votes.T[:, None]  # [1 + Y, T, E]
        sums: Tensor = (claimed @ of_right[:, entities].T)[:, first, last].T
        sums[:, 0] = (total - sums.sum(1)).clamp(min=0)
        shares: Tensor = sums / total[:, None]
        return shares.float()


class _Surprise(torch.autograd.Function):
    """-sum_y t_y log P(y|s) [S] for span vectors [S, H], a pool [N, H] with labels [N], and targets t [S, 1 + Y].

    The S x N scores are the cost of the whole system, so they are made and used up some rows at a time: the
    gradient with respect to the span vectors, sum_y t_y sum_j (P(j|i) - P(j|i, y_j = y)) h_j, is found along with
    the loss, and no S x N matrix is kept. P(y|s) below float32's least positive number counts as that number; the
    gradient then only pushes the wrong neighbours away.
    """

    @staticmethod
    def forward(ctx: Any, vectors: Tensor, pool: Tensor, labels: Tensor, targets: Tensor) -> Tensor:
        surprise, slope = vectors.new_empty(len(vectors)), torch.empty_like(vectors)
        votes = functional.one_hot(labels, targets.shape[1]).to(vectors.dtype)
        for rows in _pieces(vectors, pool):
            pull, surprise[rows] = _pull(vectors[rows], pool, labels, targets[rows], votes)
            slope[rows] = pull @ pool
        ctx.save_for_backward(slope, vectors, pool, labels, targets, votes)
        return surprise

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        slope, vectors, pool, labels, targets, votes = ctx.saved_tensors
        given = gradients[0][:, None]
        into_pool = None
        if ctx.needs_input_grad[1]:
            into_pool = torch.zeros_like(pool)
            for rows in _pieces(vectors, pool):
                pull, _ = _pull(vectors[rows], pool, labels, targets[rows], votes)
                into_pool += pull.T @ (vectors[rows] * given[rows])
        return slope * given, into_pool, None, None


def _pieces(vectors: Tensor, pool: Tensor) -> Iterator[slice]:
    """Rows of the scores to hold at once: what a CPU's caches like, or 256 MB on a GPU."""
    size = max(1, (2**26 if vectors.is_cuda else 2**21) // len(pool))
    return (slice(first, first + size) for first in range(0, len(vectors), size))


def _pull(vectors: Tensor, pool: Tensor, labels: Tensor, targets: Tensor, votes: Tensor) -> tuple[Tensor, Tensor]:
    """d surprise / d score [S, N] and the surprise [S]."""
    scores = vectors @ pool.T
    weights = scores.sub_(scores.amax(1, keepdim=True)).exp_()
    sums = weights @ votes  # [S, 1 + Y]
    total, mass = sums.sum(1), targets.sum(1)  # [S]
    sums.clamp_(min=torch.finfo(sums.dtype).tiny)
    worth = (mass / total)[:, None] - targets / sums  # [S, 1 + Y]: what a weight of each label pulls
    surprise = mass * total.log() - (targets * sums.log()).sum(1)
    return worth.index_select(1, labels).mul_(weights), surprise


def neighbour_probabilities(vectors: Tensor, pool: Pool) -> Tensor:
    """Equation 1: P(s_j | s_i) [..., S, N], a softmax of inner products; padding gets 0."""
    scores = vectors.float() @ pool.vectors.float().mT
    scores = scores.masked_fill(pool.labels[..., None, :] < 0, -torch.inf)
    return scores.softmax(-1)


def streamed_probabilities(vectors: Tensor, pool: Pool, labels: int, budget: int) -> Tensor:
    """Equation 2 over a pool of any size, read in chunks: exact, with at most `budget` bytes at work.

    A running maximum m and sums of exp(score - m) by label are carried from chunk to chunk and
    rescaled whenever m grows: a log-sum-exp that never holds more than one chunk of scores.
    """
    spans, width = vectors.shape
    out = vectors.new_empty(spans, labels, dtype=torch.float32)
    per_neighbour = 4 * width + 12 * (labels + 1)  # its vector and its vote, beside a score for each span
    rows = max(1, min(spans, 1024, budget // (256 * 8)))
    chunk = max(1, budget // (8 * rows + per_neighbour))
    for start in range(0, spans, rows):
        some = vectors[start : start + rows].float()
        best = some.new_full((len(some), 1), -torch.inf)
        sums = some.new_zeros(len(some), labels)
        for first in range(0, len(pool.labels), chunk):
            part = Pool(pool.vectors[first : first + chunk].float(), pool.labels[first : first + chunk])
            scores = some @ part.vectors.T
            higher = torch.maximum(best, scores.amax(1, keepdim=True))
            sums = sums * (best - higher).exp() + scores.sub_(higher).exp_() @ part.votes(labels)
            best = higher
        out[start : start + rows] = sums / sums.sum(1, keepdim=True)
    return out
