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
    row: int  # its row in the memory, which edits may change; of a recalled word its slot
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
            "fragments": self.span.fragments,
            "sentence": self.sentence,
            "document": self.document,
            "row": self.row,
            "sentence_id": self.sentence_id,
        }


def neighbour(memory: Datastore, labels: list[str], row: int, weight: float) -> Neighbour:
    """The memory's span at a row, with the weight it has for somebody."""
    number = int(memory.sentence[row])
    sentence = memory.sentences[number]
    span = sentence.span(int(memory.first[row]), int(memory.stop[row]))
    label, number = labels[int(memory.labels[row])], memory.ids[number]
    return Neighbour(label, weight, span, sentence.text, sentence.document, row, number)


def grouped(
    memory: Datastore, labels: list[str], rows: Tensor, weights: Tensor, count: int
) -> dict[str, list[Neighbour]]:
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
