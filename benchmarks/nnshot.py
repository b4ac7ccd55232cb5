"""NNShot and StructShot (Yang and Katiyar, 2020): words are tagged by the nearest word of a support set.

Tags are IO: a label, or 0. NNShot gives a word the tag of its nearest support word, by the squared Euclidean distance d
of their states. StructShot makes emissions of it, p(y|x) ~ exp(-d(x, nearest word tagged y)), and decodes them by
Viterbi with abstract transition probabilities, counted on the source's data: between O, I, and another label's I. They
are shared out evenly among the target's labels and raised to the power of a temperature.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor

Entity = tuple[int, int, int]  # first word, stop, label


@dataclass(frozen=True)
class Transitions:
    """Probabilities of the source's abstract tags, given the tag before."""

    start: Tensor  # [2] to O, to I
    from_none: Tensor  # [2] to O, to I
    from_label: Tensor  # [3] to O, to the same label, to another one

    @classmethod
    def of(cls, sentences: Iterable[Sequence[int]]) -> Transitions:
        """Count the transitions in tagged sentences."""
        start, none, label = torch.ones(2), torch.ones(2), torch.ones(3)
        for tags in sentences:
            start[min(1, tags[0])] += 1
            for before, after in pairwise(tags):
                if before == 0:
                    none[min(1, after)] += 1
                else:
                    label[0 if after == 0 else 1 if after == before else 2] += 1
        return cls(start / start.sum(), none / none.sum(), label / label.sum())

    def logs(self, labels: int, power: float) -> tuple[Tensor, Tensor]:
        """log of the probabilities of the first tag [1 + Y], and of each tag after each [1 + Y, 1 + Y]."""
        others = max(1, labels - 1)
        table = torch.full((labels + 1, labels + 1), float(self.from_label[2]) / others)
        table[0, 0], table[0, 1:] = self.from_none[0], self.from_none[1] / labels
        table[1:, 0] = self.from_label[0]
        table[range(1, labels + 1), range(1, labels + 1)] = self.from_label[1]
        start = torch.cat([self.start[:1], (self.start[1] / labels).expand(labels)])
        start, table = start**power, table**power
        return (start / start.sum()).log(), (table / table.sum(1, keepdim=True)).log()


def distances(words: Tensor, support: Tensor, tags: Tensor, labels: int) -> Tensor:
    """The squared distance of words [N, H] to the nearest support word [M, H] of each tag [N, 1 + Y]."""
    all_distances = torch.cdist(words, support).square()
    nearest = all_distances.new_full((len(words), labels + 1), torch.inf)
    for tag in tags.unique().tolist():
        nearest[:, tag] = all_distances[:, tags == tag].amin(1)
    return nearest


def viterbi(emissions: Tensor, start: Tensor, transitions: Tensor) -> list[int]:
    """The likeliest tags, given log emissions [T, 1 + Y]."""
    score, back = start + emissions[0], []
    for emission in emissions[1:]:
        best = (score[:, None] + transitions).max(0)
        score = best.values + emission
        back.append(best.indices)
    tags = [int(score.argmax())]
    for pointers in reversed(back):
        tags.append(int(pointers[tags[-1]]))
    return tags[::-1]


def to_entities(tags: Sequence[int]) -> list[Entity]:
    """Runs of words with the same label.

    >>> to_entities([0, 2, 2, 1])
    [(1, 3, 2), (3, 4, 1)]
    """
    edges = [place for place in range(len(tags) + 1) if place in (0, len(tags)) or tags[place] != tags[place - 1]]
    return [(a, b, tags[a]) for a, b in pairwise(edges) if tags[a]]
