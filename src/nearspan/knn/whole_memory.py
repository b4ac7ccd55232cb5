"""P(y|s) over all spans of a datastore that is kept by words: exact, and quick because most spans are null.

What all entities weigh for a span is known at little cost. A part of the memory is enough to see that null outweighs
them, for more words only add to its weight. The spans for which it is not are few; they ask all words.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from nearspan.knn.datastore import Datastore
from nearspan.knn.entity_sums import LOG2_E, entity_weights, label_runs
from nearspan.knn.prefix_products import LN_2, WordScores, row_sums, window_sums
from nearspan.knn.word_scan import WordScan
from nearspan.knn.word_table import WordTable
from nearspan.spans import Candidates, EndSums

SURE = 0.49  # entities with a smaller share of some spans' weight weigh less than null: a half, less some rounding
NOTHING = 2e-6  # entities with a smaller share of it may be left out of a probability
SAMPLE = 2048  # words of the memory that all spans ask
ENDS = 128  # words of sentences that ask at once
ROWS = 256  # spans that ask all words at once
HEAVIEST = 16  # blocks of words that are summed up in double precision
PRECISE = 4e-6  # the most that single precision may change a probability
PART = 4096  # sentences of the memory at once, or spans of those set apart


@dataclass(frozen=True)
class WholeMemory:
    """P(y|s) of a batch's spans from all of a datastore, where each counts once by its label; `labels` is 1 + Y."""

    datastore: Datastore
    table: WordTable
    labels: int

    def probabilities(self, ends: EndSums, candidates: Candidates, *, entities_only: bool = False) -> Tensor:
        """P(y|s) [S, 1 + Y], equal to the plain sum up to 1e-5.

        Where only entities matter, spans that are null may have a 1 there.
        """
        share = self.datastore.vote.least_share(SURE if entities_only else NOTHING)
        probabilities = ends.left.new_zeros(len(candidates), self.labels, dtype=torch.float32)
        probabilities[:, 0] = 1
        widths = candidates.stop - candidates.first - 1
        entities = self._entity_weights(ends, share)[candidates.sentence, candidates.first, widths]
        rows = (entities != -torch.inf).nonzero().flatten()
        sentence, first, stop = (column[rows] for column in (candidates.sentence, candidates.first, candidates.stop))
        vectors = ends.left[sentence, first] + ends.right[sentence, stop - 1]
        least = entities[rows] - math.log2(share)
        for chosen, part, enough in zip(rows.split(ROWS), vectors.split(ROWS), least.split(ROWS), strict=True):
            totals, is_open = self._totals(part, enough)
            if bool(is_open.any()):
                probabilities[chosen[is_open]] = self._shares(part[is_open], totals[is_open])
        return probabilities

    def _entity_weights(self, ends: EndSums, share: float) -> Tensor:
        """log2 of what all entities weigh for the spans of B sentences by first word and width [B, T, L].

        It is -inf for spans which a part of the memory shows to be null.
        """
        length = ends.left.shape[1]
        max_width = self.datastore.max_width
        out = ends.left.new_full((len(ends), length, min(max_width, length)), -torch.inf, dtype=torch.double)
        entities, sample = self.datastore.entities_by_label, self._sample
        if not len(entities[1]):
            return out
        pool = self.table.pool(sample[None], sample[None, :0])
        for ids in torch.arange(len(ends)).split(max(1, ENDS // length)):
            group = ends.select(ids)
            nothing = out[ids].fill_(-torch.inf)
            if len(sample):
                left, right = (WordScores(*part.split(pool.sizes, -1)[::2]) for part in pool.end_scores(group, LOG2_E))
                seen, holds = window_sums(left, right, pool.gaps, out.shape[2], max_width)
                nothing = (seen + math.log2(share)).masked_fill_(~holds, -torch.inf)
            for dtype in (torch.float32, torch.float64):
                weights, lacking = entity_weights(group, *entities, max_width, dtype)
                both = torch.logaddexp2(weights, lacking)
                out[ids] = both.masked_fill(both < nothing, -torch.inf)
                if not bool((lacking > weights.maximum(nothing)).any()):
                    break
        return out

    @property
    def _sample(self) -> Tensor:
        """Sentences [n] all over the memory that have some SAMPLE words together."""
        sentences = (~self.table.set_apart).nonzero().flatten()
        count = max(1, SAMPLE * len(sentences) // max(SAMPLE, len(self.table.steps)))
        return sentences[:: max(1, len(sentences) // count)]

    def _totals(self, vectors: Tensor, least: Tensor) -> tuple[Tensor, Tensor]:
        """log2 of the weight of all spans for spans [n, H], and which of them do not reach `least` [n] on the way."""
        scan = self.datastore.word_scan
        totals, is_open, blocks = scan.totals(vectors * LOG2_E, least)
        # where all of a total's weights are off by no more than this, P(y|s) is off by a quarter of it at most
        rounding = vectors.norm(dim=1).double() * scan.longest * 2.0**-23 * self.datastore.vote.most_times
        coarse = is_open & (rounding / 4 > PRECISE)
        if bool(coarse.any()):
            totals[coarse], share = _refine(scan, vectors[coarse], totals[coarse], blocks[coarse[is_open]])
            coarse[coarse.clone()] = share * rounding[coarse] / 4 > PRECISE
        rest = (totals.isnan() | coarse).nonzero().flatten()
        if len(rest):
            queries = vectors[rest].double() * LOG2_E
            totals[rest], is_open[rest], _ = scan.totals(queries, least[rest])
            beyond = totals[rest].isnan()
            if bool(beyond.any()):
                totals[rest[beyond]], is_open[rest[beyond]] = (
                    self._totals_of_any_size(queries[beyond]),
                    True,
                )
        if bool(self.table.set_apart.any()) and bool(is_open.any()):
            totals[is_open] = torch.logaddexp2(totals[is_open], self._weigh_apart(vectors[is_open].double()))
        return totals, is_open

    def _totals_of_any_size(self, queries: Tensor) -> Tensor:
        """The same for spans [n, H], times log2 e, whose scores are beyond double precision."""
        totals = queries.new_full((len(queries),), -torch.inf)
        counted = (~self.table.set_apart).nonzero().flatten()
        for ids in counted.split(PART) if len(counted) else ():
            pool = self.table.pool(ids[None], ids[None, :0])
            steps, _, *begins = pool.scores_of(queries, [len(queries)]).split(pool.sizes, -1)
            sums = row_sums(
                WordScores(steps, *begins),
                pool.gaps.expand(len(queries), -1),
                self.datastore.max_width,
            )
            totals = torch.logaddexp2(totals, sums)
        return totals

    def _weigh_apart(self, vectors: Tensor) -> Tensor:
        """log2 [n] of the weight of the spans of sentences set apart, which are weighed one by one."""
        datastore, table = self.datastore, self.table
        rows = (table.set_apart[datastore.sentence] & (datastore.labels >= 0)).nonzero().flatten()
        totals = vectors.new_full((len(vectors),), -torch.inf)
        for part in rows.split(PART):
            first, stop = datastore.first[part], datastore.stop[part]
            keys = table.spans(
                table.starts[datastore.sentence[part]] + first,
                stop - first,
                with_shared=False,
            )
            scores = vectors @ keys.double().T + datastore.log_weights[part]
            totals = torch.logaddexp2(totals, torch.logsumexp(scores, 1) / LN_2)
        return totals

    def _shares(self, vectors: Tensor, totals: Tensor) -> Tensor:
        """P(y|s) [n, 1 + Y] for spans [n, H], given log2 of what all spans weigh for them [n]."""
        keys, labels, log_weights = self.datastore.entities_by_label
        shares = totals.new_zeros(len(vectors), self.labels)
        for begin, stop in label_runs(labels):
            scores = vectors.double() @ keys[begin:stop].double().T + log_weights[begin:stop]
            weights = (scores * LOG2_E - totals[:, None]).exp2_().nan_to_num_(0)  # NaN: nothing has weight
            shares[:, labels[begin]] += weights.sum(1)
        shares[:, 0] = (1 - shares.sum(1)).clamp(min=0)  # null has the rest
        return (shares / shares.sum(1, keepdim=True)).float()


def _refine(scan: WordScan, vectors: Tensor, totals: Tensor, blocks: Tensor) -> tuple[Tensor, Tensor]:
    """Totals [n] with the heaviest blocks of words in double precision, and the share that the other blocks have."""
    weights, best = scan.refined(vectors.double() * LOG2_E, blocks, HEAVIEST)
    rest = blocks.scatter(1, best, 0).double().sum(1)  # of a total of 1
    exact = torch.logsumexp(torch.cat([weights - totals[:, None], rest.log2()[:, None]], 1) * LN_2, 1) / LN_2
    return totals + exact, rest
