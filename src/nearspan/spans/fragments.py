"""The fragments of discontinuous entities: which candidates they are, and which of them belong together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import torch
from torch import Tensor

from nearspan.segment import LabelledSpan
from nearspan.spans.candidates import Candidates, candidate_number


@dataclass(frozen=True)
class BatchFragments:
    """The gold fragments of a batch."""

    rows: Tensor  # [F] of the candidates that are fragments, once for each label
    labels: Tensor  # [F] a position among the D labels that have discontinuous entities
    pairs: Tensor  # [P, 3] two candidates of one entity, the earlier first, and the position of its label
    most: int  # fragments that a sentence may have of one label


@dataclass(frozen=True)
class GoldFragments:
    """The fragments of a corpus's discontinuous entities, sentence after sentence; all on the CPU."""

    names: tuple[str, ...]  # the D labels that have discontinuous entities
    fragments: Tensor  # [F, 2] a candidate's number in its sentence, and its label
    fragment_counts: Tensor  # [M] of each sentence
    pairs: Tensor  # [P, 3] the numbers of two candidates of one entity, and its label
    pair_counts: Tensor  # [M]

    @classmethod
    def of(cls, lengths: Tensor, entities: Sequence[Sequence[LabelledSpan[str]]], max_width: int) -> GoldFragments:
        """Lay out the discontinuous ones of sentences' entities; fragments that entities share are one.

        >>> gold = LabelledSpan(((0, 1), (2, 3)), "A")
        >>> gold_fragments = GoldFragments.of(torch.tensor([3]), [[gold]], max_width=2)
        >>> gold_fragments.fragments.tolist(), gold_fragments.pairs.tolist()
        ([[0, 0], [4, 0]], [[0, 4, 0]])
        """
        linked = [[gold for gold in of_sentence if gold.discontinuous] for of_sentence in entities]
        names = tuple(sorted({gold.label for golds in linked for gold in golds}))
        position = {name: number for number, name in enumerate(names)}
        fragments, pairs, counts = [], [], []
        for number, golds in enumerate(linked):
            singles = dict.fromkeys((number, *part, position[gold.label]) for gold in golds for part in gold.fragments)
            doubles = dict.fromkeys(
                (number, *left, *right, position[gold.label])
                for gold in golds
                for left, right in combinations(gold.fragments, 2)
            )
            fragments += list(singles)
            pairs += list(doubles)
            counts.append((len(singles), len(doubles)))
        many = torch.tensor(counts, dtype=torch.long).view(-1, 2)
        single = torch.tensor(fragments, dtype=torch.long).view(-1, 4)
        double = torch.tensor(pairs, dtype=torch.long).view(-1, 6)

        def numbers(table: Tensor, column: int) -> Tensor:
            return candidate_number(table[:, column], table[:, column + 1], lengths[table[:, 0]], max_width)

        singles_table = torch.stack([numbers(single, 1), single[:, 3]], 1)
        doubles_table = torch.stack([numbers(double, 1), numbers(double, 3), double[:, 5]], 1)
        return cls(names, singles_table, many[:, 0], doubles_table, many[:, 1])

    def batch(self, ids: Tensor, candidates: Candidates) -> BatchFragments:
        """Those of a batch; `ids` [B] are its sentences. On the device of the candidates."""
        ids = ids.cpu()
        before = candidates.counts.cumsum(0) - candidates.counts  # [B]
        fragments, shift = _select_rows(self.fragments, self.fragment_counts, ids, before)
        pairs, both = _select_rows(self.pairs, self.pair_counts, ids, before)
        device, most = candidates.first.device, int(self.fragment_counts[ids].max()) if len(ids) else 0
        rows = (fragments[:, 0] + shift).to(device, non_blocking=True)
        labels = fragments[:, 1].to(device, non_blocking=True)
        numbers = torch.cat([pairs[:, :2] + both[:, None], pairs[:, 2:]], 1).to(device, non_blocking=True)
        return BatchFragments(rows, labels, numbers, most)


def _select_rows(table: Tensor, counts: Tensor, ids: Tensor, before: Tensor) -> tuple[Tensor, Tensor]:
    """The rows of `table` that belong to sentences `ids`, and for each how many candidates are before its sentence."""
    many = counts[ids]
    starts = (counts.cumsum(0) - counts)[ids]
    rows = torch.arange(int(many.sum())) + (starts - (many.cumsum(0) - many)).repeat_interleave(many)
    return table[rows], before.repeat_interleave(many)
