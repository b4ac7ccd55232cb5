"""Exact sums over the spans of some datastore sentences, from scores of their words: equation 2, as a CPU likes it.

A pool holds what a few sentences of the datastore offer to one sentence of a batch, or to all of them.
"""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor
from torch.nn import functional

from nearspan.knn.pool import Pool, WordPool
from nearspan.knn.prefix_products import LN_2, row_sums, window_sums
from nearspan.spans import EndSums

LOG2_E = 1.4426950408889634
SURE = 0.49  # entities with a smaller share of some spans' weight weigh less than null: a half, less some rounding


def span_probabilities(ends: EndSums, pools: Iterable[WordPool | Pool], max_width: int, labels: int) -> Tensor:
    """P(y|s) [B, T, L, 1 + Y] for the spans of B sentences by first word and width, given their pools in parts.

    Nearly all spans are null, so the weights of all are summed, those of the entities too, and null has the rest.
    A pool of spans, for sentences that spans were removed from or that do not count once, goes by the same account.
    """
    ends = ends.balanced()
    parts = (
        _weigh_word_pool(ends, pool, one_hot_labels(pool, labels), max_width)
        if isinstance(pool, WordPool)
        else _weigh_span_pool(ends, pool, one_hot_labels(pool, labels), max_width)
        for pool in pools
    )
    total, shares = next(parts)  # log2 of all weights so far [B, T, L], and what entities have of them
    for weight, entity_shares in parts:
        both = torch.logaddexp2(total, weight)
        before, now = ((part - both).exp2().nan_to_num_(0).float() for part in (total, weight))  # NaN: no weight yet
        shares = shares * before[..., None] + entity_shares * now[..., None]
        total = both
    return _normalize(shares)


def may_be_entities(ends: EndSums, pool: WordPool, max_width: int) -> Tensor:
    """Which spans [B, T, L] may be more than null, given a pool with some words and all entities of the neighbours.

    More words add to the weight of null alone, so that spans which are null with some are null with all.
    """
    ends = ends.balanced()
    length = ends.left.shape[1]
    widths = min(max_width, length)
    left, right = ends.halves(pool.scores(ends.rows() * LOG2_E))  # [B, T, X]
    total, exact = window_sums(pool.by_words(left), pool.by_words(right), pool.gaps, widths, max_width)
    left[..., pool.entities].masked_fill_(pool.labels[:, None] < 0, -torch.inf)
    share = _entity_shares(left, right, pool.entities, total.float()).sum(-1)
    return _inside(length, widths) & ~(exact & (share < SURE))


def row_probabilities(vectors: Tensor, pool_of: Tensor, pool: WordPool, max_width: int, labels: int) -> Tensor:
    """P(y|s) [N, 1 + Y] of spans [N, H] in the order of the sentences `pool_of` [N] that ask pools [B, ...]."""
    counts = torch.bincount(pool_of, minlength=len(pool.index)).tolist()
    scores = pool.scores_of(vectors * LOG2_E, counts)
    return _normalize(_weigh_rows(scores, pool_of, pool, labels, max_width)[1])


def one_hot_labels(pool: WordPool | Pool, labels: int) -> Tensor:
    """One-hot labels [B, N, 1 + Y] of a pool; padding has none."""
    table = functional.pad(torch.eye(labels), (0, 0, 0, 1))  # the last row is padding's, of label -1
    return table[pool.labels]


def _normalize(shares: Tensor) -> Tensor:
    """P(y|s) [..., 1 + Y] from shares of which null has the rest."""
    shares[..., 0] = (1 - shares[..., 1:].sum(-1)).clamp(min=0)
    return shares.div_(shares.sum(-1, keepdim=True))


def _inside(length: int, widths: int) -> Tensor:
    """Which first words and widths [T, L] make spans of a sentence."""
    return torch.arange(length)[:, None] + torch.arange(widths) < length


def _entity_shares(left: Tensor, right: Tensor, entities: slice, total: Tensor) -> Tensor:
    """The weights [B, T, L, E] of entities, as shares of 2^total [B, T, L], from scores [B, T, X] of ends."""
    widths = total.shape[2]
    stops = functional.pad(right[..., entities], (0, 0, 0, widths - 1)).unfold(1, widths, 1).mT
    return (left[..., None, entities] - total[..., None]).add_(stops).exp2_()


def _weigh_rows(scores: Tensor, pool_of: Tensor, pool: WordPool, count: int, max_width: int) -> tuple[Tensor, Tensor]:
    """As `_weigh_word_pool`, [N] and [N, 1 + Y], for spans with scores [N, X] that ask the pools `pool_of`."""
    total = row_sums(pool.by_words(scores), pool.gaps[pool_of], max_width)
    rounded, labels = total.to(scores.dtype), pool.labels[pool_of]  # [N], [N, E]
    entity_shares = (scores[:, pool.entities] - rounded[:, None]).exp2_().nan_to_num_(0)  # NaN: nothing has weight
    entity_shares = entity_shares.masked_fill_(labels < 0, 0).float()
    shares = entity_shares.new_zeros(len(entity_shares), count).scatter_add_(1, labels.clamp(min=0), entity_shares)
    return total, shares.mul_((rounded - total).exp2().nan_to_num_(0)[:, None])


def _weigh_word_pool(ends: EndSums, pool: WordPool, one_hot: Tensor, max_width: int) -> tuple[Tensor, Tensor]:
    """log2 of the weight of all of a pool's spans [B, T, L], and its entities' shares by label [B, T, L, 1 + Y]."""
    length = ends.left.shape[1]
    widths = min(max_width, length)
    left, right = ends.halves(pool.scores(ends.rows() * LOG2_E))  # [B, T, X]
    total, exact = window_sums(pool.by_words(left), pool.by_words(right), pool.gaps, widths, max_width)
    rounded = total.to(left.dtype)
    entity_shares = _entity_shares(left, right, pool.entities, rounded).float()  # [B, T, L, E]
    shares = (one_hot.mT @ entity_shares.flatten(1, 2).mT).mT.view(*total.shape, -1)  # quicker than the other way round
    shares *= (rounded - total).exp2()[..., None]
    if bool(exact.all()):
        return total, shares
    inexact = (_inside(length, widths) & ~exact).nonzero()  # [N, 3]
    for rows in inexact.split(len(ends) * length) if len(inexact) else ():  # as many spans at once as there are ends
        sentence, first, more = place = rows.unbind(1)
        scores = left[sentence, first].double() + right[sentence, first + more]  # [N, X]
        pool_of = sentence if len(one_hot) > 1 else torch.zeros_like(sentence)
        total[place], shares[place] = _weigh_rows(scores, pool_of, pool, one_hot.shape[-1], max_width)
    return total, shares


def _weigh_span_pool(ends: EndSums, pool: Pool, one_hot: Tensor, max_width: int) -> tuple[Tensor, Tensor]:
    """The same for spans that are weighed one by one."""
    vectors = ends.vectors(min(max_width, ends.left.shape[1])) * LOG2_E
    scores = vectors.flatten(1, 2) @ pool.vectors.to(vectors.dtype).mT  # [B, T * L, N]
    scores = (scores + pool.offsets()[:, None] * LOG2_E).double()
    total = torch.logsumexp(scores * LN_2, -1) / LN_2
    entity_shares = (scores - total[..., None]).exp2().nan_to_num(0).float() @ one_hot  # NaN: nothing has weight
    return total.view(vectors.shape[:3]), entity_shares.view(*vectors.shape[:3], -1)
