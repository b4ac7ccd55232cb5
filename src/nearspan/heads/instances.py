"""The instance head: a span's label is what its neighbours in the training set say (Ouchi et al., 2020)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, ClassVar, Literal

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional

from nearspan.heads.pool import LabelledRows, Pool, WordPool
from nearspan.heads.windows import LN_2, row_sums, window_sums
from nearspan.settings import Settings
from nearspan.spans.sums import EndSums

LOG2_E = 1.4426950408889634
CACHE = 2**25  # bytes that a CPU is quickest with
SURE = 0.49  # entities with a smaller share of some spans' weight weigh less than null: a half, less some rounding


class InstanceSettings(Settings):
    """Instance-based span classification, equations 1 and 2."""

    multilabel: ClassVar[bool] = False
    tags_words: ClassVar[bool] = False

    kind: Literal["instances"] = "instances"
    neighbours: int = Field(default=50, ge=1, le=1_000_000)  # K: sentences whose spans are compared with
    search: Literal["nearest", "whole"] = "nearest"  # compare with the K nearest sentences, or with all of them
    budget_mb: int = Field(default=512, ge=1, le=10_000_000)  # the most memory that scores take at once
    through_neighbours: bool = False  # let the gradient flow into the neighbours' vectors too

    def build(self, inputs: int, labels: int, ends: int = 0) -> Instances:  # noqa: ARG002
        """The head for `labels` labels beside null; it has no weights of its own."""
        return Instances(self, labels)


class Instances(nn.Module):
    """P(y|s) is the share of the neighbour probability that falls on spans labelled y."""

    uses_memory: ClassVar[bool] = True
    one_hot: Tensor  # [1 + Y + 1, 1 + Y]

    def __init__(self, settings: InstanceSettings, labels: int) -> None:
        super().__init__()
        self.settings = settings
        self.labels = labels + 1  # null is a label like the others
        one_hot = functional.pad(torch.eye(self.labels), (0, 0, 0, 1))  # the last row is padding's, of label -1
        self.register_buffer("one_hot", one_hot, persistent=False)
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
        return _or_null(neighbour_probabilities(vectors, pool) @ pool.votes(self.labels))

    def probabilities_by_words(self, asked: EndSums, pools: Iterable[WordPool | Pool], max_width: int) -> Tensor:
        """P(y|s) [B, T, L, 1 + Y] for the spans of B sentences by first word and width, given their pools in parts.

        Nearly all spans are null, so the weights of all are summed, those of the entities too, and null has the rest.
        A pool of spans, for sentences that some were removed from or that do not count once, goes by the same account.
        """
        asked = asked.balanced()
        parts = (
            _weighed(asked, pool, self.votes(pool), max_width)
            if isinstance(pool, WordPool)
            else _weighed_spans(asked, pool, self.votes(pool), max_width)
            for pool in pools
        )
        total, shares = next(parts)  # log2 of all weights so far [B, T, L], and what entities have of them
        for weight, claims in parts:
            both = torch.logaddexp2(total, weight)
            before, now = ((one - both).exp2().nan_to_num_(0).float() for one in (total, weight))  # NaN: no weight yet
            shares = shares * before[..., None] + claims * now[..., None]
            total = both
        return _normalized(shares)

    def doubtful(self, asked: EndSums, pool: WordPool, max_width: int) -> Tensor:
        """Which spans [B, T, L] may be more than null, given a pool with some words and all entities of the neighbours.

        More words add to the weight of null alone, so that spans which are null with some are null with all.
        """
        asked = asked.balanced()
        length = asked.left.shape[1]
        widths = min(max_width, length)
        left, right = asked.halves(pool.scores(asked.rows() * LOG2_E))  # [B, T, X]
        total, held = window_sums(pool.by_words(left), pool.by_words(right), pool.gaps, widths, max_width)
        left[..., pool.entities].masked_fill_(pool.labels[:, None] < 0, -torch.inf)
        share = _claims(left, right, pool.entities, total.float()).sum(-1)
        return _inside(length, widths) & ~(held & (share < SURE))

    def probabilities_of(self, vectors: Tensor, own: Tensor, pool: WordPool, max_width: int) -> Tensor:
        """P(y|s) [N, 1 + Y] of spans [N, H] in the order of the sentences `own` [N] that ask pools [B, ...]."""
        counts = torch.bincount(own, minlength=len(pool.index)).tolist()
        scores = pool.scores_of(vectors * LOG2_E, counts)
        return _normalized(_weighed_rows(scores, own, pool, self.labels, max_width)[1])

    def votes(self, pool: WordPool | Pool) -> Tensor:
        """One-hot labels [B, N, 1 + Y] of a pool; padding votes for nothing."""
        return self.one_hot[pool.labels]


def _normalized(shares: Tensor) -> Tensor:
    """P(y|s) [..., 1 + Y] from shares of which null has the rest."""
    shares[..., 0] = (1 - shares[..., 1:].sum(-1)).clamp(min=0)
    return shares.div_(shares.sum(-1, keepdim=True))


def _inside(length: int, widths: int) -> Tensor:
    """Which first words and widths [T, L] make spans of a sentence."""
    return torch.arange(length)[:, None] + torch.arange(widths) < length


def _claims(left: Tensor, right: Tensor, entities: slice, total: Tensor) -> Tensor:
    """The weights [B, T, L, E] of entities, as shares of 2^total [B, T, L], from scores [B, T, X] of ends."""
    widths = total.shape[2]
    stops = functional.pad(right[..., entities], (0, 0, 0, widths - 1)).unfold(1, widths, 1).mT
    return (left[..., None, entities] - total[..., None]).add_(stops).exp2_()


def _weighed_rows(scores: Tensor, own: Tensor, pool: WordPool, count: int, max_width: int) -> tuple[Tensor, Tensor]:
    """As `_weighed`, [N] and [N, 1 + Y], for spans with scores [N, X] that ask the pools `own`."""
    total = row_sums(pool.by_words(scores), pool.gaps[own], max_width)
    near, labels = total.to(scores.dtype), pool.labels[own]  # [N], [N, E]
    claims = (scores[:, pool.entities] - near[:, None]).exp2_().nan_to_num_(0)  # NaN: nothing has weight
    claims = claims.masked_fill_(labels < 0, 0).float()
    shares = claims.new_zeros(len(claims), count).scatter_add_(1, labels.clamp(min=0), claims)
    return total, shares.mul_((near - total).exp2().nan_to_num_(0)[:, None])


def _weighed(asked: EndSums, pool: WordPool, votes: Tensor, max_width: int) -> tuple[Tensor, Tensor]:
    """log2 of the weight of all of a pool's spans [B, T, L], and its entities' shares by label [B, T, L, 1 + Y]."""
    length = asked.left.shape[1]
    widths = min(max_width, length)
    left, right = asked.halves(pool.scores(asked.rows() * LOG2_E))  # [B, T, X]
    total, held = window_sums(pool.by_words(left), pool.by_words(right), pool.gaps, widths, max_width)
    near = total.to(left.dtype)
    claims = _claims(left, right, pool.entities, near).float()  # [B, T, L, E]
    shares = (votes.mT @ claims.flatten(1, 2).mT).mT.view(*total.shape, -1)  # quicker than the other way round
    shares *= (near - total).exp2()[..., None]
    if bool(held.all()):
        return total, shares
    lost = (_inside(length, widths) & ~held).nonzero()  # [N, 3]
    for some in lost.split(len(asked) * length) if len(lost) else ():  # as many spans at once as there are ends
        sentence, first, more = place = some.unbind(1)
        scores = left[sentence, first].double() + right[sentence, first + more]  # [N, X]
        own = sentence if len(votes) > 1 else torch.zeros_like(sentence)
        total[place], shares[place] = _weighed_rows(scores, own, pool, votes.shape[-1], max_width)
    return total, shares


def _weighed_spans(asked: EndSums, pool: Pool, votes: Tensor, max_width: int) -> tuple[Tensor, Tensor]:
    """The same for spans that are weighed one by one."""
    vectors = asked.vectors(min(max_width, asked.left.shape[1])) * LOG2_E
    scores = vectors.flatten(1, 2) @ pool.vectors.to(vectors.dtype).mT  # [B, T * L, N]
    scores = (scores + pool.offsets()[:, None] * LOG2_E).double()
    total = torch.logsumexp(scores * LN_2, -1) / LN_2
    claims = (scores - total[..., None]).exp2().nan_to_num(0).float() @ votes  # NaN: nothing has weight
    return total.view(vectors.shape[:3]), claims.view(*vectors.shape[:3], -1)


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
    """Equation 1: P(s_j | s_i) [..., S, N], a softmax of inner products; padding gets 0.

    A span of weight w counts as w copies: log w is added to its score.
    """
    scores = vectors.float() @ pool.vectors.float().mT + pool.offsets()[..., None, :]
    return scores.softmax(-1)


def streamed_probabilities(vectors: Tensor, pool: LabelledRows, labels: int, budget: int) -> Tensor:
    """Equation 2 over a pool of any size, read in chunks: exact, with at most `budget` bytes at work.

    A running maximum m and sums of exp(score - m) by label are carried from chunk to chunk and
    rescaled whenever m grows: a log-sum-exp that never holds more than one chunk of scores.
    All in double precision: single precision is too coarse for differences of large scores and for many small weights.
    """
    spans, width = vectors.shape
    budget = budget if vectors.is_cuda else min(budget, CACHE)
    out = vectors.new_empty(spans, labels, dtype=torch.float32)
    per_neighbour = 20 * (width + labels + 1)  # its vector as it is put together and its vote, beside scores
    rows = max(1, min(spans, 1024, budget // (256 * 16)))
    chunk = max(1, budget // (16 * rows + per_neighbour))
    for start in range(0, spans, rows):
        some = vectors[start : start + rows].double()
        best = some.new_full((len(some), 1), -torch.inf)
        sums = some.new_zeros(len(some), labels)
        for first in range(0, len(pool.labels), chunk):
            some_rows = slice(first, first + chunk)
            part = Pool(pool.rows(some_rows).double(), pool.labels[some_rows])
            scores = (some @ part.vectors.T).add_(pool.offsets(some_rows))
            higher = torch.maximum(best, scores.amax(1, keepdim=True)).clamp_(min=torch.finfo(scores.dtype).min)
            sums = sums * (best - higher).exp() + scores.sub_(higher).exp_() @ part.votes(labels).double()
            best = higher
        out[start : start + rows] = _or_null(sums / sums.sum(1, keepdim=True))
    return out


def _or_null(probabilities: Tensor) -> Tensor:
    """Where every neighbour was removed nothing speaks for a label, so the span is null for sure."""
    none = probabilities.isnan().any(-1)
    if bool(none.any()):
        probabilities = probabilities.nan_to_num(0.0)
        probabilities[..., 0].masked_fill_(none, 1.0)
    return probabilities
