"""Evidence: the training spans that a prediction rests on."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from nearspan.document import Span
from nearspan.explain.counter_evidence import CounterEvidence
from nearspan.explain.neighbour import Neighbour
from nearspan.explain.recollection import RecalledWord

Strength = Literal["exact", "attended", "nearest"]


@dataclass(frozen=True, slots=True)
class Evidence:
    """Why a span got its label.

    `exact`: the neighbours' weights are the probabilities of equation 1; those of one label, with
    `unlisted` for the neighbours not listed, add up to that label's probability.
    `attended`: what each of the span's words recalled from the training data stands in `recalled`; it is a part of the
    words' states, from which the head decided.
    `nearest`: a list of look-alikes by cosine; the mechanism that decided is another one, but for the `share` that
    the memory's vote has in it.
    """

    span: Span  # in the text that was asked about
    text: str
    label: str  # "" where the model sees no entity
    strength: Strength
    probabilities: dict[str, float]  # by label, the most probable first
    neighbours: dict[str, list[Neighbour]]  # by label
    unlisted: dict[str, float]  # exact only: what the neighbours not listed add
    against: list[Neighbour] = field(default_factory=list)  # the nearest spans that do not have the label
    flip: CounterEvidence | None = (
        None  # exact only: the least that would have to go for another label; None: nothing would do
    )
    share: float = 0.0  # of the memory in the probabilities: 1 where it alone decides
    voted: dict[str, float] = field(default_factory=dict)  # by label, what the memory says where it has a vote
    recalled: list[RecalledWord] = field(default_factory=list)  # for each word, where the encoder recalls words

    def to_dict(self) -> dict[str, Any]:
        """For JSON; null stands under `null`."""
        return {
            "text": self.text,
            "fragments": self.span.fragments,
            "label": self.label or None,
            "strength": self.strength,
            "probabilities": {label or "null": value for label, value in self.probabilities.items()},
            "neighbours": {
                label or "null": [neighbour.to_dict() for neighbour in group]
                for label, group in self.neighbours.items()
            },
            "unlisted": {label or "null": value for label, value in self.unlisted.items()},
            "against": [one.to_dict() for one in self.against],
            "flip": self.flip.to_dict() if self.flip else None,
            "share": self.share,
            "voted": {label or "null": value for label, value in self.voted.items()},
            "recalled": [one.to_dict() for one in self.recalled],
        }
