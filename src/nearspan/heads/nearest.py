"""The instance head: a span's label is what its neighbours in the training set say (Ouchi et al., 2020)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Literal

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional

from nearspan.knn import Pool, pool_probabilities
from nearspan.settings import Settings


class NearestSettings(Settings):
    """Instance-based span classification, equations 1 and 2."""

    multilabel: ClassVar[bool] = False
    tags_words: ClassVar[bool] = False

    kind: Literal["instances"] = "instances"
    neighbours: int = Field(default=50, ge=1, le=1_000_000)  # K: sentences whose spans are compared with
    search: Literal["nearest", "whole"] = "nearest"  # compare with the K nearest sentences, or with all of them
    budget_mb: int = Field(default=512, ge=1, le=10_000_000)  # the most memory that scores take at once
    through_neighbours: bool = False  # let the gradient flow into the neighbours' vectors too

    def build(self, inputs: int, labels: int, ends: int = 0) -> NearestHead:  # noqa: ARG002
        """The head for `labels` labels beside null; it has no weights of its own."""
        return NearestHead(self, labels)


class NearestHead(nn.Module):
    """P(y|s) is the share of the neighbour probability that falls on spans labelled y."""

    uses_memory: ClassVar[bool] = True

    def __init__(self, settings: NearestSettings, labels: int) -> None:
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
        return pool_probabilities(vectors, pool, self.labels)


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
