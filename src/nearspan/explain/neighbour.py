"""Neighbours: spans of the memory, and what each has to do with a prediction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from torch import Tensor

from nearspan.document import Span
from nearspan.knn import Datastore

NULL = ""  # the label of a span that is no entity


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A training span, and its share in a prediction (exact), its attention (attended) or its likeness (nearest)."""

    label: str  # "" for a span that is no entity
    weight: float
    span: Span  # in `sentence`
    sentence: str
    document: str
    row: int  # its row in the datastore, which edits may change; of a recalled word its slot
    sentence_id: int  # which edits do not change

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
        }


def neighbour_at(datastore: Datastore, labels: list[str], row: int, weight: float) -> Neighbour:
    """The datastore's span at a row, with the weight it has for another span."""
    number = int(datastore.sentence[row])
    sentence = datastore.sentences[number]
    span = sentence.span(int(datastore.first[row]), int(datastore.stop[row]))
    label = labels[int(datastore.labels[row])]
    return Neighbour(label, weight, span, sentence.text, sentence.document, row, datastore.ids[number])


def neighbours_at(datastore: Datastore, labels: list[str], weights: Tensor, rows: Tensor) -> list[Neighbour]:
    """The datastore's spans at rows [N], with their weights [N]."""
    pairs = zip(rows.tolist(), weights.tolist(), strict=True)
    return [neighbour_at(datastore, labels, row, weight) for row, weight in pairs]


def heaviest_by_label(
    datastore: Datastore, labels: list[str], rows: Tensor, weights: Tensor, count: int
) -> dict[str, list[Neighbour]]:
    """For each label its `count` heaviest neighbours among `rows` [N] with `weights` [N]."""
    by_label: dict[str, list[Neighbour]] = {}
    row_labels = datastore.labels[rows]
    for number, label in enumerate(labels):
        places = (row_labels == number).nonzero().flatten()
        if len(places):
            best = weights[places].topk(min(count, len(places)))
            by_label[label] = neighbours_at(datastore, labels, best.values, rows[places[best.indices]])
    return by_label
