"""Exact sums over a datastore that is kept by words, for a batch of sentences: equation 2, as a CPU likes it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain

import torch
from torch import Tensor

from nearspan.knn.datastore import Datastore
from nearspan.knn.pool import Pool, WordPool
from nearspan.knn.pool_sums import may_be_entities, row_probabilities, span_probabilities
from nearspan.knn.search import pools_set_apart
from nearspan.knn.word_table import WordTable
from nearspan.spans import Candidates, EndSums

CELLS = 2**19  # scores of ends of spans with words at once: what a CPU's caches like
CELL = 128  # bytes that one of them takes, in single and at worst in double precision
FEW = 2  # neighbours whose words are enough to see that most spans are null
LEAST = 8  # sentences for which this is quicker
GROUP = 32  # sentences whose other spans are weighed at once
WORDS = 8192  # of the datastore at once, if all its sentences were as long as the longest


@dataclass(frozen=True)
class WordSumEngine:
    """P(y|s) of a batch's spans from the words of a datastore; `labels` is 1 + Y, `budget` bytes may be at work."""

    datastore: Datastore
    table: WordTable
    labels: int
    budget: int

    def probabilities(self, ends: EndSums, candidates: Candidates, sentences: Tensor | None) -> Tensor:
        """P(y|s) [S, 1 + Y] from the words of the datastore's `sentences` [B, K], or of all of them."""
        if sentences is None:
            sentences, ends = torch.arange(len(self.table.starts))[None], ends.double()  # one pool for all
        widths = candidates.stop - candidates.first - 1
        if len(ends) == 1:
            return self._span_probabilities(ends, sentences)[candidates.sentence, candidates.first, widths]
        shared = len(sentences) == 1
        sizes = self.table.counts + self.datastore.counts * self.table.set_apart  # [M]
        sizes = torch.full((len(ends),), WORDS // 8) if shared else sizes[sentences].sum(1)
        order = sizes.argsort()  # pools of like size together
        parts = [
            self._span_probabilities(ends.select(ids), sentences if shared else sentences[ids])
            for ids in order.split(self._group_size(ends, sizes))
        ]
        return torch.cat(parts)[order.argsort()[candidates.sentence], candidates.first, widths]

    def entity_probabilities(self, ends: EndSums, candidates: Candidates, sentences: Tensor) -> Tensor:
        """The same for the spans that are not null; for those that are it may be 1 for null.

        Most are, and a few of the neighbours' words are enough to see it, beside the entities of all neighbours. Not
        so with sentences set apart among them, whose entities are in no table, nor where a sentence's scores might not
        fit into the budget; and for few sentences it does not pay, because calls cost more than numbers there.
        """
        table, max_width = self.table, self.datastore.max_width
        sizes = table.counts[sentences].sum(1)  # [B]
        length, cells = ends.left.shape[1], self.budget // CELL
        fits = length * max_width * int(sizes.max()) <= cells
        apart = table.any_set_apart and bool(table.set_apart[sentences].any())
        if len(sentences) < LEAST or not fits or apart:
            return self.probabilities(ends, candidates, sentences)
        rows = self._possible_entities(ends, candidates, sentences)
        probabilities = ends.left.new_zeros(len(candidates), self.labels)
        probabilities[:, 0] = 1
        if not len(rows):
            return probabilities
        rows = rows[sizes[candidates.sentence[rows]].argsort(stable=True)]  # pools of like size together
        sentence, first, stop = (column[rows] for column in (candidates.sentence, candidates.first, candidates.stop))
        vectors = ends.left[sentence, first] + ends.right[sentence, stop - 1]
        ids, pool_of, counts = sentence.unique_consecutive(return_inverse=True, return_counts=True)
        size = max(1, min(GROUP, cells // int((counts * sizes[ids]).max())))
        spans = [int(part.sum()) for part in counts.split(size)]
        groups = (column.split(spans) for column in (rows, vectors, pool_of))
        for chosen, places, queries, pools in zip(ids.split(size), *groups, strict=True):
            pool = table.pool(sentences[chosen])
            probabilities[places] = row_probabilities(queries, pools - pools[0], pool, max_width, self.labels)
        return probabilities

    def _span_probabilities(self, ends: EndSums, sentences: Tensor) -> Tensor:
        _, length, size = ends.left.shape
        most = min(WORDS, self.budget // (len(ends) * ((length + 2) * CELL + 8 * size)))
        pools: Iterable[WordPool | Pool]
        pools = chain(self.table.pools(sentences, most), pools_set_apart(self.datastore, self.table, sentences, most))
        return span_probabilities(ends, pools, self.datastore.max_width, self.labels)

    def _possible_entities(self, ends: EndSums, candidates: Candidates, sentences: Tensor) -> Tensor:
        """The candidates [N] that may be entities, in order."""
        few, max_width = sentences[:, :FEW], self.datastore.max_width
        sizes = self.table.counts[few].sum(1) + max_width * self.table.entity_counts[sentences].sum(1)
        order = sizes.argsort()
        parts = [
            may_be_entities(ends.select(ids), self.table.pool(few[ids], sentences[ids]), max_width)
            for ids in order.split(self._group_size(ends, sizes))
        ]
        widths = candidates.stop - candidates.first - 1
        return torch.cat(parts)[order.argsort()[candidates.sentence], candidates.first, widths].nonzero().flatten()

    def _group_size(self, ends: EndSums, sizes: Tensor) -> int:
        """How many sentences of a batch are compared at once."""
        cells = min(CELLS, self.budget // CELL)
        return max(1, cells // ((ends.left.shape[1] + 2) * int(sizes.float().mean())))
