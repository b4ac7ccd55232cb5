"""Boundary smoothing: an entity lends some of its probability to the spans around it (Zhu & Li, 2022)."""

from typing import ClassVar, Literal

import torch
from pydantic import Field
from torch import Tensor

from nearspan.losses.loss import Loss
from nearspan.registry import register
from nearspan.settings import Settings
from nearspan.spans import Candidates, candidate_number


class BoundarySmoothingSettings(Settings):
    """How much an entity lends, and how far."""

    kind: Literal["boundary_smoothing"] = "boundary_smoothing"
    epsilon: float = Field(default=0.1, ge=0, lt=1)  # the probability it lends in all
    distance: int = Field(default=1, ge=1, le=10_000)  # D: how far its ends may move, both together


class BoundarySmoothing(Loss):
    """Makes targets soft at the boundaries."""

    Settings: ClassVar[type[Settings]] = BoundarySmoothingSettings

    def change_targets(self, targets: Tensor, candidates: Candidates) -> Tensor:
        """Soft targets [S, 1 + Y]."""
        return smooth_targets(targets, candidates, self.settings)


def smooth_targets(one_hot: Tensor, candidates: Candidates, settings: BoundarySmoothingSettings) -> Tensor:
    """Soft targets [S, 1 + Y] for gold labels that are ones in [S, 1 + Y], null first.

    For d = 1..D the 4d spans whose ends have moved by d words in all get epsilon / (4d D) of an entity's label each;
    what those that are no candidates would get stays with the entity.

    Distance is symmetric: a span gets from the very spans that it would lend to, at the same shares. Null may be lent
    like any label then, and each row is a mean of labels: no mass has to be cut off, and where every span has one label
    each row adds up to 1. Nothing here waits for the device.

    >>> from nearspan.spans import enumerate_spans
    >>> spans = enumerate_spans(torch.tensor([3]), max_width=3)
    >>> gold = torch.eye(2)[[0, 0, 0, 0, 1, 0]]  # the words [1, 3)
    >>> targets = smooth_targets(gold, spans, BoundarySmoothingSettings())
    >>> for first, stop, target in zip(spans.first, spans.stop, targets):
    ...     print(first.item(), stop.item(), [round(share, 3) for share in target.tolist()])
    0 1 [1.0, 0.0]
    0 2 [1.0, 0.0]
    0 3 [0.975, 0.025]
    1 2 [0.975, 0.025]
    1 3 [0.075, 0.925]
    2 3 [0.975, 0.025]
    """
    most, device = settings.distance, one_hot.device
    steps = range(-most, most + 1)
    ways = [(a, b) for a in steps for b in steps if 1 <= abs(a) + abs(b) <= most]  # O ways to move a span's two ends
    moves = torch.tensor(ways).T.to(device, non_blocking=True)  # [2, O]
    shares = torch.tensor([settings.epsilon / (4 * (abs(a) + abs(b)) * most) for a, b in ways])
    rows, exists = _moved_rows(candidates, moves)
    lent = shares.to(device, non_blocking=True) * exists  # [S, O]
    targets = one_hot * (1 - lent.sum(1, keepdim=True))
    for row, share in zip(rows.unbind(1), lent.unbind(1), strict=True):
        targets.addcmul_(one_hot[row], share[:, None])
    return targets


def _moved_rows(candidates: Candidates, moves: Tensor) -> tuple[Tensor, Tensor]:
    """The rows of the moved spans among the candidates [S, O], and whether they are candidates (if not, row 0)."""
    first = candidates.first[:, None] + moves[0]
    stop = candidates.stop[:, None] + moves[1]
    length = candidates.lengths[candidates.sentence][:, None]
    width = stop - first
    exists = (first >= 0) & (stop <= length) & (width >= 1) & (width <= candidates.max_width)
    start = torch.arange(len(candidates), device=first.device) - candidates.number  # row of the sentence's first one
    rows = start[:, None] + candidate_number(first, stop, length, candidates.max_width)
    return rows * exists, exists


register("loss", BoundarySmoothing)
