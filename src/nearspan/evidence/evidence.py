"""Evidence: the training spans that a prediction rests on."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from torch import Tensor

from nearspan.document import Span
from nearspan.memory import Memory

NULL = ""  # the label of a span that is no entity

Strength = Literal["exact", "attended", "nearest"]


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A training span, and its share in a prediction (exact), its attention (attended) or its likeness (nearest)."""

    label: str  # "" for a span that is no entity
    weight: float
    span: Span  # in `sentence`
    sentence: str
    document: str
    row: int  # its row in the memory; of a recalled word its slot

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
        }


@dataclass(frozen=True, slots=True)
class Recollection:
    """A word of a span, and the training occurrences of the word that were blended into its state."""

    text: str
    share: float  # of all the occurrences together in the word's state, 1 - lambda; 0 where training lacks the word
    neighbours: list[Neighbour]  # the word where it occurs, with the label of the entity it is in; weights add up to 1
    unlisted: float  # the weight of the occurrences not listed

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "text": self.text,
            "share": self.share,
            "neighbours": [neighbour.as_dict() for neighbour in self.neighbours],
            "unlisted": self.unlisted,
        }


@dataclass(frozen=True, slots=True)
class Evidence:
    """Why a span got its label.

    `exact`: the neighbours' weights are the probabilities of equation 1; those of one label, with
    `unlisted` for the neighbours not listed, add up to that label's probability.
    `attended`: what each of the span's words recalled from the training data stands in `recalled`; it is a part of the
    words' states, from which the head decided.
    `nearest`: a list of look-alikes by cosine; the mechanism that decided is another one.
    """

    span: Span  # in the text that was asked about
    text: str
    label: str  # "" where the model sees no entity
    strength: Strength
    probabilities: dict[str, float]  # by label, the most probable first
    neighbours: dict[str, list[Neighbour]]  # by label
    unlisted: dict[str, float]  # exact only: what the neighbours not listed add
    recalled: list[Recollection] = field(default_factory=list)  # for each word, where the encoder recalls words

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
            "recalled": [one.as_dict() for one in self.recalled],
        }


def neighbour(memory: Memory, labels: list[str], row: int, weight: float) -> Neighbour:
    """The memory's span at a row, with the weight it has for somebody."""
    sentence = memory.sentences[int(memory.sentence[row])]
    span = sentence.span(int(memory.first[row]), int(memory.stop[row]))
    return Neighbour(labels[int(memory.labels[row])], weight, span, sentence.text, sentence.document, row)


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
