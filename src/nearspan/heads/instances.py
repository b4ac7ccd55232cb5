"""The instance head: a span's label is what its neighbours in the training set say (Ouchi et al., 2020)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, ClassVar, Literal

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional

from nearspan.heads.pool import LabelledRows, Pool, WordPool
from nearspan.heads.windows import LN_2, log_window_sums, sure_log_window_sums
from nearspan.settings import Settings
from nearspan.spans.sums import WordSums, spans_by_width

LOG2_E = 1.4426950408889634


class InstanceSettings(Settings):
    """Instance-based span classification, equations 1 and 2."""

    multilabel: ClassVar[bool] = False
    tags_words: ClassVar[bool] = False

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
        return _or_null(neighbour_probabilities(vectors, pool) @ pool.votes(self.labels))

    def probabilities_by_words(self, asked: WordSums, pools: Iterable[WordPool | Pool], max_width: int) -> Tensor:
        """P(y|s) [B, R, 1 + Y] for the spans of B sentences [B, T, H], by width, given their pools part after part.

        Nearly all spans are null, so the weights of all are summed, those of the entities too, and null has the rest.
        A pool of spans, for sentences that some were removed from or that do not count once, goes by the same account.
        """
        total = asked.steps.new_full((1, 1), -torch.inf, dtype=torch.double)  # [B, R] log2 of all weights so far
        shares = asked.steps.new_zeros(1, 1, self.labels)  # [B, R, 1 + Y] of them
        for pool in pools:
            if isinstance(pool, Pool):
                weight, claims = _weighed_spans(asked, pool, max_width)
            else:
                weight, claims = _weighed(asked, pool, max_width)
            both = torch.logaddexp2(total, weight)
            votes = functional.one_hot(pool.labels.clamp(min=0), self.labels).float()  # [B, E, 1 + Y]
            claims = claims.masked_fill_((pool.labels <= 0)[:, None], 0)  # an empty or padded pool's may be NaN
            before, now = ((one - both).exp2().nan_to_num_(0).float() for one in (total, weight))  # NaN: no weight yet
            shares = shares * before[..., None] + claims @ votes * now[..., None]
            total = both
        shares[..., 0] = (1 - shares.sum(-1)).clamp(min=0)
        return shares.div_(shares.sum(-1, keepdim=True))


def _weighed(asked: WordSums, pool: WordPool, max_width: int) -> tuple[Tensor, Tensor]:
    """log2 of the weight of all of a pool's spans together [B, R], and the share of each of its entities [B, R, E]."""
    length, words = asked.steps.shape[1], pool.gaps.shape[1]
    rows = torch.cat([asked.steps, asked.begins.expand(len(asked), -1, -1)], dim=1) * LOG2_E
    scores = pool.scores(rows)  # [B, T + T, X], or [B, T + 1, X]
    least = _least(scores, pool)
    scores[:, length:, :words] += pool.gaps[:, None]
    spans = spans_by_width(scores[:, length:], scores[:, :length], max_width)  # [B, R, X]
    lowest = spans_by_width(least[:, length:], least[:, :length], max_width)  # [B, R, 1]
    steps, claims, begins = _columns(spans.flatten(0, 1), pool)
    total, held = log_window_sums(steps, begins, lowest.flatten(), max_width)
    near = total.float()
    shares = (claims - near[:, None]).exp2_() * (near - total).exp2().float()[:, None]
    total, shares, held = (found.unflatten(0, spans.shape[:2]) for found in (total, shares, held))
    for sentence in (~held.all(1)).nonzero().flatten().tolist():
        rest = (~held[sentence]).nonzero().flatten()
        own = pool.only(sentence if len(pool.index) > 1 else 0)
        total[sentence, rest], shares[sentence, rest] = _surely(asked.only(sentence), own, max_width, rest)
    return total, shares


def _weighed_spans(asked: WordSums, pool: Pool, max_width: int) -> tuple[Tensor, Tensor]:
    """The same [B, R] and [B, R, N] for spans that are weighed one by one."""
    vectors = spans_by_width(asked.begins.expand(len(asked), -1, -1), asked.steps, max_width)
    scores = (vectors @ (pool.vectors * LOG2_E).mT).add_(pool.offsets()[:, None] * LOG2_E).double()
    total = torch.logsumexp(scores * LN_2, -1) / LN_2
    return total, (scores - total[..., None]).exp2().float()


def _surely(asked: WordSums, pool: WordPool, max_width: int, rows: Tensor) -> tuple[Tensor, Tensor]:
    """The same for some spans [R] of one sentence, whose scores are too large for float32: in double precision."""
    vectors = spans_by_width(asked.begins.double(), asked.steps.double(), max_width)[rows]
    scores = pool.scores(vectors[None] * LOG2_E)[0]  # [R, X]
    least = _least(scores, pool)[:, 0]
    scores[:, : pool.gaps.shape[1]] += pool.gaps
    steps, claims, begins = _columns(scores, pool)
    total = sure_log_window_sums(steps, begins, least, max_width)
    return total, (claims - total[:, None]).exp2().float()


def _least(scores: Tensor, pool: WordPool) -> Tensor:
    """A lower bound [..., R, 1] of scores [..., R, X] with words, begins included."""
    words = pool.gaps.shape[1]
    least = scores[..., :words].amin(-1, keepdim=True)
    return least + scores[..., -words:].amin(-1, keepdim=True) if pool.begins else least


def _columns(scores: Tensor, pool: WordPool) -> tuple[Tensor, Tensor, Tensor | None]:
    """Scores [R, X] with words, with entities, and with begins where they differ."""
    words, entities = pool.gaps.shape[1], pool.labels.shape[1]
    begins = scores[:, words + entities :] if pool.begins else None
    return scores[:, :words], scores[:, words : words + entities], begins


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
    """
    spans, width = vectors.shape
    out = vectors.new_empty(spans, labels, dtype=torch.float32)
    per_neighbour = 12 * width + 12 * (labels + 1)  # its vector as it is put together and its vote, beside scores
    rows = max(1, min(spans, 1024, budget // (256 * 8)))
    chunk = max(1, budget // (8 * rows + per_neighbour))
    for start in range(0, spans, rows):
        some = vectors[start : start + rows].float()
        best = some.new_full((len(some), 1), -torch.inf)
        sums = some.new_zeros(len(some), labels)
        for first in range(0, len(pool.labels), chunk):
            some_rows = slice(first, first + chunk)
            part = Pool(pool.rows(some_rows).float(), pool.labels[some_rows])
            scores = (some @ part.vectors.T).add_(pool.offsets(some_rows))
            higher = torch.maximum(best, scores.amax(1, keepdim=True)).clamp_(min=torch.finfo(scores.dtype).min)
            sums = sums * (best - higher).exp() + scores.sub_(higher).exp_() @ part.votes(labels)
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
