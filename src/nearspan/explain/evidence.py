"""Evidence: the training spans that a prediction rests on."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from nearspan.document import Span
from nearspan.explain.counter_evidence import CounterEvidence
from nearspan.explain.neighbour import Neighbour
from nearspan.explain.recalled_words import RecalledWord

Strength = Literal["exact", "attended", "nearest"]


@dataclass(frozen=True, slots=True)
class Evidence:
    """Why a span got its label.

    `exact`: the neighbours' weights add up to the probabilities; those of one label, with `unlisted` for the neighbours
    not listed, to that label's probability.
    `attended`: what each of the span's words recalled from the training data stands in `recalled`; it is a part of the
    words' states, from which the head decided.
    `nearest`: a list of look-alikes by cosine. The mechanism that decided is another one, but for the `weight` that
    the datastore has in it.
    """

    span: Span  # in the text that was asked about
    text: str
    label: str  # "" where the model sees no entity
    strength: Strength
    probabilities: dict[str, float]  # by label, the most probable first
    neighbours: dict[str, list[Neighbour]]  # by label
    unlisted: dict[str, float]  # exact only: what the neighbours not listed add
    against: list[Neighbour] = field(default_factory=list)  # the nearest spans that do not have the label
    counter_evidence: CounterEvidence | None = None  # exact only: the least to remove for another label, if anything is
    weight: float = 0.0  # of the datastore in the probabilities: 1 where it alone decides
    knn_probabilities: dict[str, float] = field(default_factory=dict)  # by label, where the datastore is interpolated
    recalled: list[RecalledWord] = field(default_factory=list)  # for each word, where the encoder recalls words

    def __repr__(self) -> str:
        probability = self.probabilities.get(self.label, 0.0)
        count = sum(map(len, self.neighbours.values()))
        label = self.label or "no entity"
        return f"Evidence({self.text!r}, {label} {probability:.3f}, {self.strength}, {count} neighbours listed)"

    def to_dict(self) -> dict[str, Any]:
        """For JSON; null stands under `null`."""
        return {
            "text": self.text,
            "start": self.span.start,
            "end": self.span.end,
            "fragments": self.span.fragments,
            "label": self.label or None,
            "strength": self.strength,
            "probabilities": _by_name(self.probabilities),
            "neighbours": _by_name(
                {label: [neighbour.to_dict() for neighbour in group] for label, group in self.neighbours.items()}
            ),
            "unlisted": _by_name(self.unlisted),
            "against": [neighbour.to_dict() for neighbour in self.against],
            "counter_evidence": self.counter_evidence.to_dict() if self.counter_evidence else None,
            "weight": self.weight,
            "knn_probabilities": _by_name(self.knn_probabilities),
            "recalled": [word.to_dict() for word in self.recalled],
        }


def _by_name(values: dict[str, Any]) -> dict[str, Any]:
    return {label or "null": value for label, value in values.items()}
