"""Evidence: the training spans that a prediction rests on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from torch import Tensor

from nearspan.document import Span
from nearspan.memory import Memory

NULL = ""  # the label of a span that is no entity

Strength = Literal["exact", "nearest"]


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A training span, and its share in a prediction (exact) or its likeness (nearest)."""

    label: str  # "" for a span that is no entity
    weight: float
    span: Span  # in `sentence`
    sentence: str
    document: str
    row: int  # its row in the memory, which edits may change
    sentence_id: int  # which edits do not change

    @property
    def text(self) -> str:
        """The span's characters."""
        return self.span.text(self.sentence)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "label": self.label or None,
            "weight": self.weight,
            "text": self.text,
            "fragments": self.span.fragments,
            "sentence": self.sentence,
            "document": self.document,
            "row": self.row,
            "sentence_id": self.sentence_id,
        }


@dataclass(frozen=True, slots=True)
class Evidence:
    """Why a span got its label.

    `exact`: the neighbours' weights are the probabilities of equation 1; those of one label, with
    `unlisted` for the neighbours not listed, add up to that label's probability.
    `nearest`: a list of look-alikes by cosine; the mechanism that decided is another one.
    """

    span: Span  # in the text that was asked about
    text: str
    label: str  # "" where the model sees no entity
    strength: Strength
    probabilities: dict[str, float]  # by label, the most probable first
    neighbours: dict[str, list[Neighbour]]  # by label
    unlisted: dict[str, float]  # exact only: what the neighbours not listed add

    def as_dict(self) -> dict[str, Any]:
        """For JSON; null stands under `null`."""
        return {
            "text": self.text,
            "fragments": self.span.fragments,
            "label": self.label or None,
            "strength": self.strength,
            "probabilities": {label or "null": value for label, value in self.probabilities.items()},
            "neighbours": {
                label or "null": [neighbour.as_dict() for neighbour in group]
                for label, group in self.neighbours.items()
            },
            "unlisted": {label or "null": value for label, value in self.unlisted.items()},
        }


def neighbour(memory: Memory, labels: list[str], row: int, weight: float) -> Neighbour:
    """The memory's span at a row, with the weight it has for somebody."""
    number = int(memory.sentence[row])
    sentence = memory.sentences[number]
    span = sentence.span(int(memory.first[row]), int(memory.stop[row]))
    label, number = labels[int(memory.labels[row])], memory.ids[number]
    return Neighbour(label, weight, span, sentence.text, sentence.document, row, number)


def grouped(memory: Memory, labels: list[str], rows: Tensor, weights: Tensor, count: int) -> dict[str, list[Neighbour]]:
    """For each label its `count` heaviest neighbours among `rows` [N] with `weights` [N]."""
    found: dict[str, list[Neighbour]] = {}
    of_row = memory.labels[rows]
    for number, label in enumerate(labels):
        mine = (of_row == number).nonzero().flatten()
        if len(mine):
            best = weights[mine].topk(min(count, len(mine)))
            pairs = zip(rows[mine[best.indices]].tolist(), best.values.tolist(), strict=True)
            found[label] = [neighbour(memory, labels, row, weight) for row, weight in pairs]
    return found
