"""What would have to be removed for a prediction to change."""

import torch
from torch import Tensor

from nearspan.explain.evidence import CounterEvidence, neighbours_at
from nearspan.knn import Datastore

LISTED = 100  # neighbours that are listed; a span may be null because of thousands


def smallest_removal(
    datastore: Datastore, labels: list[str], rows: Tensor, weights: Tensor, predicted: int
) -> CounterEvidence | None:
    """The smallest set among the datastore's `rows` [N] with `weights` [N]; None where no removal changes the label."""
    removal = fewest_to_remove(weights, datastore.labels[rows], predicted, len(labels))
    if removal is None:
        return None
    removed, label = removal
    listed = removed[:LISTED]
    return CounterEvidence(len(removed), labels[label], neighbours_at(datastore, labels, weights[listed], rows[listed]))


def fewest_to_remove(weights: Tensor, labels: Tensor, predicted: int, count: int) -> tuple[Tensor, int] | None:
    """Which of N neighbours [N] must go, so few as can be, for another of `count` labels to win; and that label.

    Without a neighbour of another label its sum never rises, so only neighbours of the predicted label are worth
    removing, and of these the heaviest: of any set of the same size they leave the least behind. So the shortest prefix
    of them that is enough is the smallest set. Where sums are equal the label with the lower number wins, as in
    `argmax`; where nobody is left it is null. None: all of them together are not enough.
    """
    sums = torch.zeros(count, dtype=torch.double).index_add_(0, labels.cpu(), weights.double().cpu())
    supporting = (labels == predicted).nonzero().flatten()
    order = supporting[weights[supporting].argsort(descending=True, stable=True)]
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
