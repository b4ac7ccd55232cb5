"""The majority by string: the label that an entity's text has most often in the training data.

It reads no context and learns nothing else, so a system that types given spans has to be better than this.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from nearspan.document import Document


@dataclass(frozen=True)
class StringMajority:
    """A label for every text: its own most frequent one, or for a text that is new the most frequent of all.

    >>> from nearspan.formats.markup import parse
    >>> strings = StringMajority.of([parse("[Paris](PLACE) and [Paris](PERSON)"), parse("[Oslo](PLACE)")])
    >>> strings.label("Paris"), strings.label("Lima")
    ('PLACE', 'PLACE')
    """

    labels: Mapping[str, str]
    other: str

    @classmethod
    def of(cls, documents: Iterable[Document]) -> StringMajority:
        """Count the entities of training documents. Of labels that are level the more frequent of all is taken."""
        counts: dict[str, Counter[str]] = {}
        for document in documents:
            for entity in dict.fromkeys(document.entities):
                counts.setdefault(entity.span.text(document.text), Counter())[entity.label] += 1
        total = Counter(label for labels in counts.values() for label in labels.elements())
        order = sorted(total, key=lambda label: (-total[label], label))
        rank = {label: place for place, label in enumerate(order)}
        majority = {
            text: min(labels, key=lambda label: (-labels[label], rank[label])) for text, labels in counts.items()
        }
        return cls(majority, order[0] if order else "")

    def label(self, text: str) -> str:
        """The label of an entity with this text."""
        return self.labels.get(text, self.other)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {"labels": dict(self.labels), "other": self.other}

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> StringMajority:
        """What `to_dict` made."""
        return cls({str(text): str(label) for text, label in content["labels"].items()}, str(content["other"]))
