"""Exact sums over the spans of a datastore from its words: equation 2, as a CPU likes it."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain

import torch
from torch import Tensor
from torch.nn import functional

from nearspan.knn.datastore import Datastore
from nearspan.knn.pool import Pool, WordPool
from nearspan.knn.prefix_products import LN_2, row_sums, window_sums
from nearspan.knn.search import pools_apart
from nearspan.knn.word_table import WordTable
from nearspan.spans import Candidates, EndSums

LOG2_E = 1.4426950408889634
SURE = 0.49  # entities with a smaller share of some spans' weight weigh less than null: a half, less some rounding
CELLS = 2**19  # scores of ends of spans with words at once: what a CPU's caches like
CELL = 128  # bytes that one of them takes, in single and at worst in double precision
FEW = 2  # neighbours whose words are enough to see that most spans are null
LEAST = 8  # sentences for which this is quicker
SOME = 32  # sentences whose other spans are weighed at once
WORDS = 8192  # of the memory at once, if all its sentences were as long as the longest


def compared_by_words(
    memory: Datastore,
    words: WordTable,
    sentences: Tensor | None,
    asked: EndSums,
    candidates: Candidates,
    max_width: int,
    labels: int,
    budget: int,
) -> Tensor:
    """P(y|s) [S, 1 + Y] from words of the memory, as a CPU likes it: those of `sentences` [B, K], or of all."""
    _, length, size = asked.left.shape

    def compared(asked: EndSums, own: Tensor) -> Tensor:
        most = min(WORDS, budget // (len(asked) * ((length + 2) * CELL + 8 * size)))
        parts: Iterable[WordPool | Pool]
        parts = chain(words.pools(own, most), pools_apart(memory, words, own, most))
        return probabilities_by_words(asked, parts, max_width, labels)

    if sentences is None:
        sentences, asked = torch.arange(len(words.starts))[None], asked.double()  # one pool for all
    widths = candidates.stop - candidates.first - 1
    if len(asked) == 1:
        return compared(asked, sentences)[candidates.sentence, candidates.first, widths]
    one = len(sentences) == 1
    sizes = words.counts + memory.counts * words.apart  # [M]
    sizes = torch.full((len(asked),), WORDS // 8) if one else sizes[sentences].sum(1)
    order = sizes.argsort()  # pools of like size together
    cells = min(CELLS, budget // CELL)
    groups = order.split(max(1, cells // ((length + 2) * int(sizes.float().mean()))))
    found = [compared(asked.some(ids), sentences if one else sentences[ids]) for ids in groups]
    return torch.cat(found)[order.argsort()[candidates.sentence], candidates.first, widths]


def entities_by_words(
    memory: Datastore,
    words: WordTable,
    sentences: Tensor,
    asked: EndSums,
    candidates: Candidates,
    max_width: int,
    labels: int,
    budget: int,
) -> Tensor:
    """The same for the spans that are not null; for those that are it may be 1 for null.

    Most are, and a few of the neighbours' words are enough to see it, beside the entities of all neighbours. Not so
    with sentences apart among them, whose entities are in no table, nor where a sentence's scores might not fit into
    the budget; and for few sentences it does not pay, because calls cost more than numbers there.
    """
    sizes = words.counts[sentences].sum(1)  # [B]
    length, cells = asked.left.shape[1], budget // CELL
    fits = length * max_width * int(sizes.max()) <= cells
    if len(sentences) < LEAST or not fits or (words.some_apart and bool(words.apart[sentences].any())):
        return compared_by_words(memory, words, sentences, asked, candidates, max_width, labels, budget)
    rows = _doubtful(words, sentences, asked, candidates, max_width, budget)
    found = asked.left.new_zeros(len(candidates), labels)
    found[:, 0] = 1
    if not len(rows):
        return found
    rows = rows[sizes[candidates.sentence[rows]].argsort(stable=True)]  # pools of like size together
    sentence, first, stop = (places[rows] for places in (candidates.sentence, candidates.first, candidates.stop))
    vectors = asked.left[sentence, first] + asked.right[sentence, stop - 1]
    ids, pools_of, counts = sentence.unique_consecutive(return_inverse=True, return_counts=True)
    size = max(1, min(SOME, cells // int((counts * sizes[ids]).max())))
    spans = [int(some.sum()) for some in counts.split(size)]
    for some, place, asking, own in zip(
        ids.split(size), *(one.split(spans) for one in (rows, vectors, pools_of)), strict=True
    ):
        found[place] = probabilities_of(asking, own - own[0], words.pool(sentences[some]), max_width, labels)
    return found


def _doubtful(
    words: WordTable, sentences: Tensor, asked: EndSums, candidates: Candidates, max_width: int, budget: int
) -> Tensor:
    """The candidates [N] that may be entities, in order."""
    length, few = asked.left.shape[1], sentences[:, :FEW]
    sizes = words.counts[few].sum(1) + max_width * words.entity_counts[sentences].sum(1)
    order, cells = sizes.argsort(), min(CELLS, budget // CELL)
    found = [
        doubtful(asked.some(ids), words.pool(few[ids], sentences[ids]), max_width)
        for ids in order.split(max(1, cells // ((length + 2) * int(sizes.float().mean()))))
    ]
    widths = candidates.stop - candidates.first - 1
    return torch.cat(found)[order.argsort()[candidates.sentence], candidates.first, widths].nonzero().flatten()


def probabilities_by_words(asked: EndSums, pools: Iterable[WordPool | Pool], max_width: int, labels: int) -> Tensor:
    """P(y|s) [B, T, L, 1 + Y] for the spans of B sentences by first word and width, given their pools in parts.

    Nearly all spans are null, so the weights of all are summed, those of the entities too, and null has the rest.
    A pool of spans, for sentences that some were removed from or that do not count once, goes by the same account.
    """
    asked = asked.balanced()
    parts = (
        _weighed(asked, pool, votes(pool, labels), max_width)
        if isinstance(pool, WordPool)
        else _weighed_spans(asked, pool, votes(pool, labels), max_width)
        for pool in pools
    )
    total, shares = next(parts)  # log2 of all weights so far [B, T, L], and what entities have of them
    for weight, claims in parts:
        both = torch.logaddexp2(total, weight)
        before, now = ((one - both).exp2().nan_to_num_(0).float() for one in (total, weight))  # NaN: no weight yet
        shares = shares * before[..., None] + claims * now[..., None]
        total = both
    return _normalized(shares)


def doubtful(asked: EndSums, pool: WordPool, max_width: int) -> Tensor:
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


def probabilities_of(vectors: Tensor, own: Tensor, pool: WordPool, max_width: int, labels: int) -> Tensor:
    """P(y|s) [N, 1 + Y] of spans [N, H] in the order of the sentences `own` [N] that ask pools [B, ...]."""
    counts = torch.bincount(own, minlength=len(pool.index)).tolist()
    scores = pool.scores_of(vectors * LOG2_E, counts)
    return _normalized(_weighed_rows(scores, own, pool, labels, max_width)[1])


def votes(pool: WordPool | Pool, labels: int) -> Tensor:
    """One-hot labels [B, N, 1 + Y] of a pool; padding votes for nothing."""
    one_hot = functional.pad(torch.eye(labels), (0, 0, 0, 1))  # the last row is padding's, of label -1
    return one_hot[pool.labels]


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
