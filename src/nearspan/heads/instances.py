"""The instance head: a span's label is what its neighbours in the training set say (Ouchi et al., 2020)."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional

from nearspan.heads.pool import Pool
from nearspan.settings import Settings


class InstanceSettings(Settings):
    """Instance-based span classification, equations 1 and 2."""

    kind: Literal["instances"] = "instances"
    neighbours: int = Field(default=50, ge=1)  # K: sentences whose spans are compared with
    search: Literal["nearest", "whole"] = "nearest"  # compare with the K nearest sentences, or with all of them
    budget_mb: int = Field(default=512, ge=1)  # the most memory that scores take at once
    through_neighbours: bool = False  # let the gradient flow into the neighbours' vectors too

    def build(self, inputs: int, labels: int) -> Instances:  # noqa: ARG002
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

    def loss(self, vectors: Tensor, gold: Tensor, pool: Pool | None = None) -> Tensor:
        """-log P(y|s), summed over spans; a label that the pool lacks says nothing and adds nothing."""
        if pool is None:
            raise ValueError("the instance head needs a pool of neighbours")
        present = torch.zeros(self.labels, dtype=torch.bool, device=gold.device)
        present[pool.labels] = True
        surprise: Tensor = _Surprise.apply(vectors.float(), pool.vectors.float(), pool.labels, gold, self.labels)
        return (surprise * present[gold]).sum()

    def probabilities(self, vectors: Tensor, pool: Pool | None = None) -> Tensor:
        """P(y|s) [..., S, 1 + Y] given all of a pool."""
        if pool is None:
            raise ValueError("the instance head needs a memory; build one with Model.remember")
        weights = neighbour_probabilities(vectors, pool)
        return weights @ pool.votes(self.labels)


class _Surprise(torch.autograd.Function):
    """-log P(y|s) [S] for span vectors [S, H], a pool [N, H] with labels [N], and gold labels [S].

    The S x N scores are the cost of the whole system, so this touches them as rarely as it can: label sums
    are a product with one-hot labels, and the gradient d/ds_ij = P(j|i) - P(j|i, y_j = y_i) is made in place.
    P(y|s) below float32's least positive number counts as that number; the gradient then only pushes the
    wrong neighbours away.
    """

    @staticmethod
    def forward(ctx: Any, vectors: Tensor, pool: Tensor, labels: Tensor, gold: Tensor, count: int) -> Tensor:
        scores = vectors @ pool.T  # [S, N]
        weights = scores.sub_(scores.amax(1, keepdim=True)).exp_()
        sums = weights @ functional.one_hot(labels, count).to(weights.dtype)  # [S, 1 + Y]
        own = sums.gather(1, gold[:, None]).clamp(min=torch.finfo(weights.dtype).tiny)
        total = sums.sum(1, keepdim=True)
        ctx.save_for_backward(vectors, pool, labels, gold, weights, own, total)
        ctx.count = count
        return (total.log() - own.log())[:, 0]

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        vectors, pool, labels, gold, weights, own, total = ctx.saved_tensors
        by_label = total.reciprocal().repeat(1, ctx.count)  # [S, 1 + Y]: what a weight of this label is worth
        by_label.scatter_add_(1, gold[:, None], -own.reciprocal())
        by_label *= gradients[0][:, None]
        weights = weights * by_label[:, labels]  # [S, N]: the gradient of the scores
        into_pool = weights.T @ vectors if ctx.needs_input_grad[1] else None
        return weights @ pool, into_pool, None, None, None


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
