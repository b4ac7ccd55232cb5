"""What would have to go for a prediction of the instance head to change."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from nearspan.explain.neighbour import Neighbour, neighbour
from nearspan.knn import Datastore

LISTED = 100  # neighbours that are listed; a span may be null because of thousands


@dataclass(frozen=True, slots=True)
class CounterEvidence:
    """The smallest set of memory spans whose removal changes a span's label, and what the label would be."""

    size: int
    label: str  # "" for no entity
    neighbours: list[Neighbour]  # the heaviest first, at most 100 of them

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "size": self.size,
            "label": self.label or None,
            "neighbours": [one.to_dict() for one in self.neighbours],
        }


def flip(memory: Datastore, labels: list[str], rows: Tensor, weights: Tensor, predicted: int) -> CounterEvidence | None:
    """The smallest set among the memory's `rows` [N] with `weights` [N]; None where no removal changes the label."""
    found = smallest(weights, memory.labels[rows], predicted, len(labels))
    if found is None:
        return None
    gone, label = found
    first = gone[:LISTED]
    pairs = zip(rows[first].tolist(), weights[first].tolist(), strict=True)
    return CounterEvidence(len(gone), labels[label], [neighbour(memory, labels, row, weight) for row, weight in pairs])


def smallest(weights: Tensor, labels: Tensor, predicted: int, count: int) -> tuple[Tensor, int] | None:
    """Which of N voters [N] must go, so few as can be, for another of `count` labels to win; and that label.

    Without a voter of another label its sum never rises, so only voters of the predicted label are worth removing, and
    of these the heaviest: of any set of the same size they leave the least behind. So the shortest prefix of them that
    is enough is the smallest set. Where sums are equal the label with the lower number wins, as in `argmax`; where
    nobody is left it is null. None: all of them together are not enough.
    """
    sums = torch.zeros(count, dtype=torch.double).index_add_(0, labels.cpu(), weights.double().cpu())
    mine = (labels == predicted).nonzero().flatten()
    order = mine[weights[mine].argsort(descending=True, stable=True)]
    others = sums.clone()
    others[predicted] = -1
    rival = int(others.argmax())
    # what is left of the predicted label after the first n are gone, from the small ones up: no cancellation
    left = weights[order].double().cpu().flip(0).cumsum(0).flip(0)
    left = torch.cat([left, left.new_zeros(1)])
    enough = left <= others[rival] if rival < predicted else left < others[rival]
    if bool(enough.any()):
        size = int(enough.byte().argmax())
        return order[:size], rival
    return (order, 0) if predicted and not bool((labels != predicted).any()) else None
