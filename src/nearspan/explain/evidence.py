"""Evidence: the training spans that a prediction rests on, and what each has to do with it."""

from dataclasses import dataclass, field
from typing import Any, Literal

from torch import Tensor

from nearspan.document import Span
from nearspan.knn import Datastore, LinkedSpan

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
    row: int  # its row in the datastore, which edits may change; of a recalled word its slot; -1 of a linked one
    sentence_id: int  # which edits do not change
    identifier: str = ""  # of its concept; "" where the memory has none

    @property
    def text(self) -> str:
        """The span's characters."""
        return self.span.text(self.sentence)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "label": self.label or None,
            "weight": self.weight,
            "text": self.text,
            "start": self.span.start,
            "end": self.span.end,
            "fragments": self.span.fragments,
            "sentence": self.sentence,
            "document": self.document,
            "row": self.row,
            "sentence_id": self.sentence_id,
            "identifier": self.identifier or None,
        }


@dataclass(frozen=True, slots=True)
class CounterEvidence:
    """The smallest set of memory spans whose removal changes a span's label, and what the label would be."""

    size: int
    label: str  # "" for no entity
    neighbours: list[Neighbour]  # the heaviest first, at most 100 of them

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        neighbours = [neighbour.to_dict() for neighbour in self.neighbours]
        return {"size": self.size, "label": self.label or None, "neighbours": neighbours}


@dataclass(frozen=True, slots=True)
class RecalledWord:
    """A word of a span, and the training occurrences of the word that were blended into its state."""

    text: str
    weight: float  # of all the occurrences together in the word's state, 1 - lambda; 0 where training lacks the word
    neighbours: list[Neighbour]  # the word where it occurs, with the label of the entity it is in; weights add up to 1
    unlisted: float  # the weight of the occurrences not listed

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        neighbours = [neighbour.to_dict() for neighbour in self.neighbours]
        return {"text": self.text, "weight": self.weight, "neighbours": neighbours, "unlisted": self.unlisted}


@dataclass(frozen=True, slots=True)
class Evidence:
    """Why a span got its label.

    `probabilities` are the model's own. `score` is what the entity's score says: the label's probability after
    calibration, and the same where the model is not calibrated. Evidence explains the probability.

    `exact`: the neighbours' weights add up to the probabilities; those of one label, with `unlisted` for the neighbours
    not listed, to that label's probability.
    `attended`: what each of the span's words recalled from the training data stands in `recalled`; it is a part of the
    words' states, from which the head decided.
    `nearest`: a list of look-alikes by cosine. The mechanism that decided is another one, but for the `weight` that
    the datastore has in it.

    Whatever the strength, identifiers rest on the mention's spelling alone: the shares of all training spans that have
    one add up to those of the `identifiers`, and the heaviest of them are `linked`.
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
    score: float | None = None  # of the label: its probability after calibration; None: no entity
    stranger: bool = False  # whether it is far from all entities of the memory
    cosine: float | None = None  # with the nearest of them, where a calibration asks for it
    identifiers: dict[str, float] = field(default_factory=dict)  # their shares, where the memory has some; "": none
    linked: list[Neighbour] = field(default_factory=list)  # training spans, by their shares in the identifiers

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
            "score": self.score,
            "stranger": self.stranger,
            "neighbours": _by_name(
                {label: [neighbour.to_dict() for neighbour in group] for label, group in self.neighbours.items()}
            ),
            "unlisted": _by_name(self.unlisted),
            "against": [neighbour.to_dict() for neighbour in self.against],
            "counter_evidence": self.counter_evidence.to_dict() if self.counter_evidence else None,
            "weight": self.weight,
            "knn_probabilities": _by_name(self.knn_probabilities),
            "recalled": [word.to_dict() for word in self.recalled],
            "identifiers": _by_name(self.identifiers),
            "linked": [neighbour.to_dict() for neighbour in self.linked],
        }


def _by_name(values: dict[str, Any]) -> dict[str, Any]:
    return {label or "null": value for label, value in values.items()}


def neighbour_at(datastore: Datastore, labels: list[str], row: int, weight: float) -> Neighbour:
    """The datastore's span at a row, with the weight it has for another span."""
    number = int(datastore.sentence[row])
    sentence = datastore.sentences[number]
    span = sentence.span(int(datastore.first[row]), int(datastore.stop[row]))
    label = labels[int(datastore.labels[row])]
    place = (span, sentence.text, sentence.document, row, datastore.ids[number])
    return Neighbour(label, weight, *place, datastore.identifier_of(row, label))


def linked_neighbour(linked: LinkedSpan) -> Neighbour:
    """An entity of the memory that has a share in a mention's identifier."""
    sentence, gold = linked.sentence, linked.gold
    place = (sentence.characters(gold.fragments), sentence.text, sentence.document, -1, linked.sentence_id)
    return Neighbour(gold.label, linked.share, *place, gold.identifier)


def neighbours_at(datastore: Datastore, labels: list[str], weights: Tensor, rows: Tensor) -> list[Neighbour]:
    """The datastore's spans at rows [N], with their weights [N]."""
    pairs = zip(rows.tolist(), weights.tolist(), strict=True)
    return [neighbour_at(datastore, labels, row, weight) for row, weight in pairs]
