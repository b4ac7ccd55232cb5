"""A sentence of the memory, as a person reads it and as `memory.jsonl` holds it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from nearspan.document import Fragment, Span
from nearspan.segment import LabelledSpan, contiguous


@dataclass(frozen=True, slots=True)
class MemorySentence:
    """A training sentence: its text, its words in it, and its entities over those words."""

    document: str
    number: int  # position in the document
    text: str
    words: tuple[Fragment, ...]
    entities: tuple[LabelledSpan[str], ...]  # contiguous ones first
    removed: tuple[tuple[int, int], ...] = ()  # spans, first word and stop, that are remembered no more
    weight: float = 1.0  # so many copies does the sentence count as; 0: it speaks for its carried spans' words alone
    entity_weight: float = 1.0  # and each of its entities as so many times more
    span_weights: tuple[tuple[int, int, float], ...] = ()  # spans, first word and stop, that count so many times
    carried: tuple[tuple[int, int, float, float], ...] = ()  # spans that count so many times more for the same words:
    # in this very sentence, and in others

    def span(self, first: int, stop: int) -> Span:
        """The characters of words `first` to `stop`, half-open."""
        return Span.of(self.words[first][0], self.words[stop - 1][1])

    def characters(self, fragments: Iterable[Fragment]) -> Span:
        """The characters of runs of words, such as the fragments of an entity."""
        return Span(tuple((self.words[first][0], self.words[stop - 1][1]) for first, stop in fragments))

    def reach(self, first: int, stop: int) -> tuple[int, int]:
        """The words, from and to, that a span takes up together with the entities that it shares words with."""
        met = [gold for gold in self.entities if gold.first < stop and first < gold.stop]
        return min([first, *(gold.first for gold in met)]), max([stop, *(gold.stop for gold in met)])

    @property
    def tokens(self) -> list[str]:
        """The words' texts."""
        return [self.text[start:end] for start, end in self.words]

    @property
    def identifiers(self) -> tuple[str, ...]:
        """The concepts of its entities, "" for those that have none."""
        return tuple(gold.identifier for gold in self.entities)

    def is_like(self, other: MemorySentence) -> bool:
        """Whether both are the same in all, identifiers too, which `==` leaves out."""
        return self is other or (self == other and self.identifiers == other.identifiers)

    def to_dict(self) -> dict[str, Any]:
        """One line of `memory.jsonl`."""
        ordered = sorted(self.entities, key=lambda gold: gold.discontinuous)
        linked = [(gold.fragments, gold.label) for gold in ordered if gold.discontinuous]
        content: dict[str, Any] = {
            "document": self.document,
            "number": self.number,
            "text": self.text,
            "words": self.words,
            "entities": [(gold.first, gold.stop, gold.label) for gold in contiguous(self.entities)],
            **({"discontinuous": linked} if linked else {}),
        }
        content |= {"identifiers": [gold.identifier for gold in ordered]} if any(self.identifiers) else {}
        content |= {"removed": self.removed} if self.removed else {}
        content |= {"weight": self.weight} if self.weight != 1 else {}
        content |= {"entity_weight": self.entity_weight} if self.entity_weight != 1 else {}
        content |= {"span_weights": self.span_weights} if self.span_weights else {}
        return content | ({"carried": self.carried} if self.carried else {})

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> MemorySentence:
        """Read one line of `memory.jsonl`."""
        if not isinstance(content, dict):
            raise TypeError(f"found {content!r}, expected an object")
        words = tuple((int(a), int(b)) for a, b in content["words"])
        runs = [(((first, stop),), label) for first, stop, label in content["entities"]]
        golds = [*runs, *content.get("discontinuous", ())]
        identifiers = [str(each) for each in content.get("identifiers", [""] * len(golds))]
        entities = tuple(
            LabelledSpan(tuple((int(a), int(b)) for a, b in fragments), str(label), identifier=identifier)
            for (fragments, label), identifier in zip(golds, identifiers, strict=True)
        )
        removed = tuple((int(a), int(b)) for a, b in content.get("removed", ()))
        span_weights = tuple((int(a), int(b), float(times)) for a, b, times in content.get("span_weights", ()))
        carried = tuple((int(a), int(b), float(own), float(like)) for a, b, own, like in content.get("carried", ()))
        others = [
            *((a, b, "carried span") for a, b, *_ in carried),
            *((*place, "removed span") for place in removed),
            *((a, b, "weighted span") for a, b, _ in span_weights),
        ]
        places = [(*fragment, gold.label) for gold in entities for fragment in gold.fragments]
        for first, stop, label in (*places, *others):
            if not 0 <= first < stop <= len(words):
                raise ValueError(f"the {label} over words {first} to {stop} is outside its sentence of {len(words)}")
        weight, entity_weight = float(content.get("weight", 1.0)), float(content.get("entity_weight", 1.0))
        for number in (entity_weight, *(times for _, _, times in span_weights), *(each[2] for each in carried)):
            if not 0 < number < math.inf:
                raise ValueError(f"a weight is {number}, not a number above 0")
        for number in (weight, *(each[3] for each in carried)):
            if not 0 <= number < math.inf:
                raise ValueError(f"a weight is {number}, not a number from 0")
        where = (str(content["document"]), int(content["number"]), str(content["text"]))
        return cls(*where, words, entities, removed, weight, entity_weight, span_weights, carried)


def folded(text: str) -> str:
    """A text as it is compared with others.

    >>> folded("New\\nYork")
    'new york'
    """
    return " ".join(text.split()).lower()
