"""The memory's sentences as people read them: with ids, characters and labels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any

from nearspan.document import IDENTIFIER, NO_ATTRIBUTES, Document, Entity, Span
from nearspan.knn import MemorySentence
from nearspan.segment import LabelledSpan


@dataclass(frozen=True, slots=True)
class SentenceView:
    """A sentence of the memory; offsets are into its own text."""

    id: int  # stays the same through all edits
    text: str
    entities: tuple[Entity, ...]
    removed: tuple[Span, ...]  # spans that are remembered no more, neither as entities nor as none
    document: str
    weight: float = 1.0  # so many copies does it count as; 0: it speaks for its corrected words alone
    entity_weight: float = 1.0  # and each of its entities as so many times more
    span_weights: tuple[tuple[Span, float], ...] = ()  # spans that count so many times
    carried: tuple[
        tuple[Span, float, float], ...
    ] = ()  # spans that count so much more for their words, here, elsewhere

    @classmethod
    def of(cls, number: int, sentence: MemorySentence) -> SentenceView:
        """A remembered sentence with characters for words."""
        entities = tuple(sorted(_entity(sentence, gold) for gold in sentence.entities))
        removed = tuple(sentence.span(*span) for span in sentence.removed)
        weights = tuple((sentence.span(first, stop), weight) for first, stop, weight in sentence.span_weights)
        carried = tuple((sentence.span(first, stop), own, like) for first, stop, own, like in sentence.carried)
        place = (sentence.document, sentence.weight, sentence.entity_weight, weights, carried)
        return cls(number, sentence.text, entities, removed, *place)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "id": self.id,
            "text": self.text,
            "entities": [
                {
                    "text": entity.span.text(self.text),
                    "label": entity.label,
                    "start": entity.start,
                    "end": entity.end,
                    "fragments": entity.span.fragments,
                    "score": None,
                    **({"attributes": {IDENTIFIER: entity.identifier}} if entity.identifier else {}),
                }
                for entity in self.entities
            ],
            "removed": [{"start": span.start, "end": span.end} for span in self.removed],
            "document": self.document,
            "weight": self.weight,
            "entity_weight": self.entity_weight,
            "span_weights": [
                {"start": span.start, "end": span.end, "weight": weight} for span, weight in self.span_weights
            ],
            "carried": [
                {"start": span.start, "end": span.end, "weight": own, "elsewhere": like}
                for span, own, like in self.carried
            ],
        }


def matching(
    sentences: Mapping[int, MemorySentence], text: str = "", label: str = "", document: str = ""
) -> Iterator[tuple[int, MemorySentence]]:
    """Sentences that hold a text (in any case), an entity with a label, or come from a document."""
    folded = text.casefold()
    for number, sentence in sentences.items():
        if document and sentence.document != document:
            continue
        if label and all(gold.label != label for gold in sentence.entities):
            continue
        if folded and folded not in sentence.text.casefold():
            continue
        yield number, sentence


def by_document(sentences: Sequence[MemorySentence]) -> list[list[MemorySentence]]:
    """Sentences of a memory by the documents that they came in, several of which may have the same name."""
    groups: list[list[MemorySentence]] = []
    for sentence in sentences:
        last = groups[-1][-1] if groups else None
        if last is None or last.document != sentence.document or last.number >= sentence.number:
            groups.append([])
        groups[-1].append(sentence)
    return groups


def as_document(sentences: Sequence[MemorySentence], unit: str) -> Document:
    """Remembered sentences as a document, with their words where these are the `unit` that is read."""
    starts = list(accumulate((len(sentence.text) + 1 for sentence in sentences), initial=0))[:-1]
    placed = list(zip(starts, sentences, strict=True))
    words = tuple((at + start, at + end) for at, sentence in placed for start, end in sentence.words)
    edges = tuple((at, at + len(sentence.text)) for at, sentence in placed)
    text = " ".join(sentence.text for sentence in sentences)
    return Document(text, (), sentences[0].document, words if unit == "words" else None, edges)


def labelled_document(sentences: Sequence[MemorySentence], unit: str) -> Document:
    """The same with their entities."""
    document = as_document(sentences, unit)
    starts = accumulate((len(sentence.text) + 1 for sentence in sentences), initial=0)
    return document.with_entities(
        replace(entity, span=entity.span.shift(start))
        for start, sentence in zip(starts, sentences, strict=False)
        for entity in (_entity(sentence, gold) for gold in sentence.entities)
    )


def _entity(sentence: MemorySentence, gold: LabelledSpan[str]) -> Entity:
    """A remembered entity in characters, with its identifier."""
    attributes = {IDENTIFIER: gold.identifier} if gold.identifier else NO_ATTRIBUTES
    return Entity(sentence.characters(gold.fragments), gold.label, attributes=attributes)
