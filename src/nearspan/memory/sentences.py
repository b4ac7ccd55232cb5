"""The memory's sentences as people read them: with ids, characters and labels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any

from nearspan.document import Document, Entity, Span
from nearspan.knn import MemorySentence
from nearspan.segment import Sentence


@dataclass(frozen=True, slots=True)
class SentenceView:
    """A sentence of the memory; offsets are into its own text."""

    id: int  # stays the same through all edits
    text: str
    entities: tuple[Entity, ...]
    removed: tuple[Span, ...]  # spans that are remembered no more, neither as entities nor as none
    document: str
    weight: float = 1.0  # so many copies does it count as
    heavier: tuple[tuple[Span, float], ...] = ()  # spans that count so many times as much

    @classmethod
    def of(cls, number: int, one: MemorySentence) -> SentenceView:
        """A remembered sentence with characters for words."""
        whole = [Entity(one.span(first, stop), label) for first, stop, label in one.entities]
        broken = [Entity(one.joined(gold.fragments), gold.label) for gold in one.discontinuous]
        entities = tuple(sorted([*whole, *broken]))
        removed = tuple(one.span(*place) for place in one.removed)
        heavier = tuple((one.span(first, stop), times) for first, stop, times in one.heavier)
        return cls(number, one.text, entities, removed, one.document, one.weight, heavier)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "id": self.id,
            "text": self.text,
            "entities": [
                {
                    "fragments": entity.span.fragments,
                    "label": entity.label,
                    "text": entity.span.text(self.text),
                }
                for entity in self.entities
            ],
            "removed": [{"start": span.start, "end": span.end} for span in self.removed],
            "document": self.document,
            "weight": self.weight,
            "heavier": [{"start": span.start, "end": span.end, "times": times} for span, times in self.heavier],
        }

    def __str__(self) -> str:
        names = ", ".join(f"{entity.span.text(self.text)!r} {entity.label}" for entity in self.entities)
        times = f", weight {self.weight:g}" if self.weight != 1 else ""
        return f"sentence {self.id} of {self.document!r}: {self.text!r} ({names or 'no entities'}){times}"


def matching(
    sentences: Mapping[int, MemorySentence], text: str = "", label: str = "", document: str = ""
) -> Iterator[tuple[int, MemorySentence]]:
    """Sentences that hold a text (in any case), an entity with a label, or come from a document."""
    sought = text.casefold()
    for number, one in sentences.items():
        if document and one.document != document:
            continue
        labels = [*(own for _, _, own in one.entities), *(gold.label for gold in one.discontinuous)]
        if label and label not in labels:
            continue
        if sought and sought not in one.text.casefold():
            continue
        yield number, one


def in_documents(sentences: Sequence[MemorySentence]) -> list[list[MemorySentence]]:
    """Sentences of a memory by the documents that they came in, several of which may have the same name."""
    found: list[list[MemorySentence]] = []
    for one in sentences:
        last = found[-1][-1] if found else None
        if last is None or last.document != one.document or last.number >= one.number:
            found.append([])
        found[-1].append(one)
    return found


def as_document(sentences: Sequence[MemorySentence], unit: str) -> Document:
    """Remembered sentences as a document, with their words where these are the `unit` that is read."""
    starts = list(accumulate((len(one.text) + 1 for one in sentences), initial=0))[:-1]
    placed = list(zip(starts, sentences, strict=True))
    words = tuple((at + start, at + end) for at, one in placed for start, end in one.words)
    edges = tuple((at, at + len(one.text)) for at, one in placed)
    given = words if unit == "words" else None
    return Document(" ".join(one.text for one in sentences), (), sentences[0].document, given, edges)


def as_split(document: Document, sentences: Sequence[Sentence]) -> Document:
    """The document with its words and sentences said, so that it is read alike whenever it is read again."""
    words = [(one.words[first][0], one.words[stop - 1][1]) for one in sentences for first, stop in one.runs]
    return replace(document, words=tuple(words), sentences=tuple((one.start, one.end) for one in sentences))
