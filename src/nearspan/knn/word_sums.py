"""Exact sums over the spans of a datastore that is kept by words: equation 2, as a CPU likes it.

A pool holds what some sentences of the datastore offer to one sentence of a batch, or to all of them.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

import torch
from torch import Tensor
from torch.nn import functional

from nearspan.knn.datastore import Datastore
from nearspan.knn.prefix_products import LN_2, WordScores, row_sums, window_sums
from nearspan.knn.word_table import WordPool, WordTable, run_rows
from nearspan.spans import Candidates, EndSums

CELLS = 2**19  # scores of ends of spans with words at once: what a CPU's caches like
CELL = 128  # bytes that one of them takes, in single and at worst in double precision
FEW = 2  # neighbours whose words are enough to see that most spans are null
LEAST = 8  # sentences for which this is quicker
GROUP = 32  # sentences whose other spans are weighed at once
LOG2_E = 1.4426950408889634
SURE = 0.49  # entities with a smaller share of some spans' weight weigh less than null: a half, less some rounding
WORDS = 8192  # of the datastore at once, if all its sentences were as long as the longest


@dataclass(frozen=True)
class WordSumEngine:
    """P(y|s) of a batch's spans from the words of a datastore, where each counts once by its label.

    `labels` is 1 + Y, `budget` bytes may be at work. A span that is null with the datastore's vote may have a 1 there.
    """

    datastore: Datastore
    table: WordTable
    labels: int
    budget: int

    def probabilities(
        self, ends: EndSums, candidates: Candidates, sentences: Tensor, *, entities_only: bool = False
    ) -> Tensor:
        """P(y|s) [S, 1 + Y] from the words of the datastore's `sentences` [B, K].

        Where only entities matter, spans that are null may have a 1 there. For few sentences it does not pay to look
        for them, because calls cost more than numbers there.
        """
        batch = len(ends.left)
        if entities_only and batch >= LEAST and self._fits(ends, sentences):
            return self._entity_probabilities(ends, candidates, sentences)
        table = self.table
        _, length, width = ends.left.shape
        order, groups, parts = torch.arange(batch), [torch.arange(batch)], []
        if batch > 1:
            sizes = table.counts + self.datastore.counts * table.set_apart  # [M]
            sizes = sizes[sentences].sum(1)
            order = sizes.argsort()  # pools of like size together
            groups = list(order.split(self._group_size(ends, sizes)))
        for ids in groups:
            group = ends if batch == 1 else ends.select(ids)
            near = sentences[ids]
            most = min(WORDS, self.budget // (len(ids) * ((length + 2) * CELL + 8 * width)))  # words at once
            size = max(1, most // max(1, int(table.counts[near].max())))
            pools = (table.pool(part) for part in near.split(size, dim=1))
            apart = self._weigh_apart(group, near, most) if bool(table.set_apart[near].any()) else ()
            parts.append(span_probabilities(group, pools, self.datastore.max_width, self.labels, apart))
        widths = candidates.stop - candidates.first - 1
        return torch.cat(parts)[order.argsort()[candidates.sentence], candidates.first, widths]

    def _weigh_apart(self, ends: EndSums, sentences: Tensor, most: int) -> Iterator[tuple[Tensor, Tensor]]:
        """As `_weigh_word_pool`, for those sentences among [B, K] that stand apart: their spans are weighed one by one.

        In parts of at most `most` spans, or of one sentence. As in pools of words, what all spans begin with is left
        out.
        """
        datastore, table = self.datastore, self.table
        apart = table.set_apart[sentences]  # [B, K]
        order = apart.byte().argsort(dim=1, descending=True, stable=True)[:, : int(apart.sum(1).max())]
        chosen = sentences.gather(1, order)
        counts = datastore.counts[chosen] * apart.gather(1, order)
        size = max(1, most // int(counts.max()))
        widths = min(datastore.max_width, ends.left.shape[1])
        stops = functional.pad(ends.right, (0, 0, 0, widths - 1)).unfold(1, widths, 1).mT  # by first word and width
        vectors = (ends.left[:, :, None] + stops) * LOG2_E  # [B, T, L, H]
        for ids, spans in zip(chosen.split(size, dim=1), counts.split(size, dim=1), strict=True):
            rows = run_rows(datastore.starts[ids], spans, padding=-1)  # [B, N]
            labels, rows = datastore.labels[rows].masked_fill(rows < 0, -1), rows.clamp(min=0)
            first, stop = datastore.first[rows], datastore.stop[rows]
            keys = table.spans(table.starts[datastore.sentence[rows]] + first, stop - first, with_shared=False)
            offsets = datastore.log_weights[rows].masked_fill(labels < 0, -torch.inf) * LOG2_E
            scores = (vectors.flatten(1, 2) @ keys.to(vectors.dtype).mT + offsets[:, None]).double()  # [B, T * L, N]
            total = torch.logsumexp(scores * LN_2, -1) / LN_2
            shares = (scores - total[..., None]).exp2().nan_to_num(0).float()  # NaN: nothing has weight
            one_hot = functional.pad(torch.eye(self.labels), (0, 0, 0, 1))[labels]
            yield total.view(vectors.shape[:3]), (shares @ one_hot).view(*vectors.shape[:3], -1)

    def _fits(self, ends: EndSums, sentences: Tensor) -> bool:
        """Whether the scores of each sentence with its neighbours' words fit into the budget, and no neighbour is set
        apart: the entities of such are in no table."""
        cells = ends.left.shape[1] * self.datastore.max_width * int(self.table.counts[sentences].sum(1).max())
        return cells <= self.budget // CELL and not bool(self.table.set_apart[sentences].any())

    def _entity_probabilities(self, ends: EndSums, candidates: Candidates, sentences: Tensor) -> Tensor:
        """The same for the spans that are not null; for those that are it may be 1 for null.

        Most are, and a few of the neighbours' words are enough to see it, beside the entities of all neighbours.
        """
        table, max_width = self.table, self.datastore.max_width
        sizes = table.counts[sentences].sum(1)  # [B]
        rows = self._possible_entities(ends, candidates, sentences)
        probabilities = ends.left.new_zeros(len(candidates), self.labels)
        probabilities[:, 0] = 1
        if not len(rows):
            return probabilities
        rows = rows[sizes[candidates.sentence[rows]].argsort(stable=True)]  # pools of like size together
        sentence, first, stop = (column[rows] for column in (candidates.sentence, candidates.first, candidates.stop))
        vectors = ends.left[sentence, first] + ends.right[sentence, stop - 1]
        ids, pool_of, counts = sentence.unique_consecutive(return_inverse=True, return_counts=True)
        size = max(1, min(GROUP, self.budget // CELL // int((counts * sizes[ids]).max())))
        spans = [int(part.sum()) for part in counts.split(size)]
        groups = (column.split(spans) for column in (rows, vectors, pool_of))
        for chosen, places, queries, pools in zip(ids.split(size), *groups, strict=True):
            pool = table.pool(sentences[chosen])
            probabilities[places] = _row_probabilities(queries, pools - pools[0], pool, max_width, self.labels)
        return probabilities

    def _possible_entities(self, ends: EndSums, candidates: Candidates, sentences: Tensor) -> Tensor:
        """The candidates [N] that may be entities, in order: of the others' weight null has more than half.

        More words add to the weight of null alone, so that spans which are null with some are null with all.
        """
        few, max_width = sentences[:, :FEW], self.datastore.max_width
        sizes = self.table.counts[few].sum(1) + max_width * self.table.entity_counts[sentences].sum(1)
        order = sizes.argsort()
        groups = order.split(self._group_size(ends, sizes))
        pools = ((ends.select(ids), self.table.pool(few[ids], sentences[ids])) for ids in groups)
        sure = self.datastore.vote.least_share(SURE)
        parts = [_weigh_word_pool(*pool, self.labels, max_width)[1].sum(-1) >= sure for pool in pools]
        widths = candidates.stop - candidates.first - 1
        return torch.cat(parts)[order.argsort()[candidates.sentence], candidates.first, widths].nonzero().flatten()

    def _group_size(self, ends: EndSums, sizes: Tensor) -> int:
        """How many sentences of a batch are compared at once."""
        cells = min(CELLS, self.budget // CELL)
        return max(1, cells // ((ends.left.shape[1] + 2) * int(sizes.float().mean())))


def span_probabilities(
    ends: EndSums,
    pools: Iterable[WordPool],
    max_width: int,
    labels: int,
    apart: Iterable[tuple[Tensor, Tensor]] = (),
) -> Tensor:
    """P(y|s) [B, T, L, 1 + Y] for the spans of B sentences by first word and width, given their pools in parts.

    Nearly all spans are null, so the weights of all are summed, those of the entities too, and null has the rest.
    Sentences apart, that spans were removed from or that do not count once, go by the same account.
    """
    filled = (pool for pool in pools if pool.gaps.shape[1])  # a pool may have no words
    parts = chain((_weigh_word_pool(ends, pool, labels, max_width) for pool in filled), apart)
    total, shares = next(parts)  # log2 of all weights so far [B, T, L], and what entities have of them
    for weight, entity_shares in parts:
        both = torch.logaddexp2(total, weight)
        before, now = ((part - both).exp2().nan_to_num_(0).float() for part in (total, weight))  # NaN: no weight yet
        shares = shares * before[..., None] + entity_shares * now[..., None]
        total = both
    shares[..., 0] = (1 - shares[..., 1:].sum(-1)).clamp(min=0)  # null has the rest
    return shares.div_(shares.sum(-1, keepdim=True))


def weigh_span_rows(vectors: Tensor, pool: WordPool, labels: int, max_width: int) -> tuple[Tensor, Tensor]:
    """log2 of the weight of all of one pool's spans [N] for spans [N, H], and the labels' shares of it [N, 1 + Y]."""
    scores = pool.scores_of(vectors * LOG2_E, [len(vectors)])
    pool_of = torch.zeros(len(vectors), dtype=torch.long)
    total, shares = _weigh_rows(scores, pool_of, pool, labels, max_width)
    shares[:, 0] = (1 - shares[:, 1:].sum(-1)).clamp(min=0)
    return total, shares


def _row_probabilities(vectors: Tensor, pool_of: Tensor, pool: WordPool, max_width: int, labels: int) -> Tensor:
    """P(y|s) [N, 1 + Y] of spans [N, H] in the order of the sentences `pool_of` [N] that ask pools [B, ...]."""
    counts = torch.bincount(pool_of, minlength=len(pool)).tolist()
    scores = pool.scores_of(vectors * LOG2_E, counts)
    _, shares = _weigh_rows(scores, pool_of, pool, labels, max_width)
    shares[:, 0] = (1 - shares[:, 1:].sum(-1)).clamp(min=0)  # null has the rest
    return shares.div_(shares.sum(-1, keepdim=True))


def _weigh_rows(scores: Tensor, pool_of: Tensor, pool: WordPool, count: int, max_width: int) -> tuple[Tensor, Tensor]:
    """As `_weigh_word_pool`, [N] and [N, 1 + Y], for spans with scores [N, X] that ask the pools `pool_of`."""
    steps, entities, *begins = scores.split(pool.sizes, -1)
    total = row_sums(WordScores(steps, *begins), pool.gaps[pool_of], max_width)
    rounded, labels = total.to(scores.dtype), pool.labels[pool_of]  # [N], [N, E]
    entity_shares = (entities - rounded[:, None]).exp2_().nan_to_num_(0)  # NaN: nothing has weight
    entity_shares = entity_shares.masked_fill_(labels < 0, 0).float()
    shares = entity_shares.new_zeros(len(entity_shares), count).scatter_add_(1, labels.clamp(min=0), entity_shares)
    return total, shares.mul_((rounded - total).exp2().nan_to_num_(0)[:, None])


def _weigh_word_pool(ends: EndSums, pool: WordPool, labels: int, max_width: int) -> tuple[Tensor, Tensor]:
    """log2 of the weight of all of a pool's spans [B, T, L], and its entities' shares by label [B, T, L, 1 + Y]."""
    length = ends.left.shape[1]
    widths = min(max_width, length)
    left, right = pool.end_scores(ends, LOG2_E)  # [B, T, X]
    (left_steps, left_entities, *left_begins), (right_steps, right_entities, *right_begins) = (
        scores.split(pool.sizes, -1) for scores in (left, right)
    )
    left_words, right_words = WordScores(left_steps, *left_begins), WordScores(right_steps, *right_begins)
    total, exact = window_sums(left_words, right_words, pool.gaps, widths, max_width)
    rounded = total.to(left.dtype)
    stops = functional.pad(right_entities, (0, 0, 0, widths - 1)).unfold(1, widths, 1).mT
    entities = (left_entities[..., None, :] - rounded[..., None]).add_(stops).exp2_().float()  # [B, T, L, E]
    one_hot = functional.pad(torch.eye(labels), (0, 0, 0, 1))[pool.labels]  # the last row is padding's, of label -1
    shares = (one_hot.mT @ entities.flatten(1, 2).mT).mT.view(*total.shape, -1)  # quicker than the other way round
    shares *= (rounded - total).exp2()[..., None]
    if bool(exact.all()):
        return total, shares
    inside = torch.arange(length)[:, None] + torch.arange(widths) < length  # [T, L] which are spans of a sentence
    inexact = (inside & ~exact).nonzero()  # [N, 3]
    for rows in inexact.split(len(ends.left) * length) if len(inexact) else ():  # as many spans at once as ends
        sentence, first, more = place = rows.unbind(1)
        scores = left[sentence, first].double() + right[sentence, first + more]  # [N, X]
        pool_of = sentence if len(pool.labels) > 1 else torch.zeros_like(sentence)
        total[place], shares[place] = _weigh_rows(scores, pool_of, pool, labels, max_width)
    return total, shares
