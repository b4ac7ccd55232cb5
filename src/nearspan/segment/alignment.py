"""Alignment: entities in characters become entities in words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from nearspan.document import Entity, Fragment
from nearspan.segment.coverage import Coverage
from nearspan.segment.sentences import Sentence

MISALIGNED = "misaligned"
CROSSING = "crosses a sentence"


@dataclass(frozen=True, slots=True)
class Gold:
    """An entity over the words of one sentence, or over its pieces; several fragments if discontinuous.

    Indexes are half-open.

    >>> gold = Gold(((0, 2), (4, 5)), "ADR")
    >>> gold.first, gold.stop, gold.width, gold.discontinuous
    (0, 5, 3, True)
    """

    fragments: tuple[Fragment, ...]
    label: str

    @property
    def first(self) -> int:
        """The first word."""
        return self.fragments[0][0]

    @property
    def stop(self) -> int:
        """One past the last word."""
        return self.fragments[-1][1]

    @property
    def width(self) -> int:
        """How many words the fragments hold."""
        return sum(stop - first for first, stop in self.fragments)

    @property
    def discontinuous(self) -> bool:
        """Whether there are several fragments. Such entities are for the model to take or to refuse."""
        return len(self.fragments) > 1

    def shift(self, by: int) -> Gold:
        """The same entity in a sentence that begins `by` words earlier."""
        return Gold(tuple((first + by, stop + by) for first, stop in self.fragments), self.label)


@dataclass(frozen=True, slots=True)
class Alignment:
    """The entities of each sentence, and those that no words of one sentence can stand for.

    `golds[i]` belongs to the sentence at position `i`; `sources[i]` holds the entities they come from.
    """

    golds: list[list[Gold]]
    sources: list[list[Entity]]
    unreachable: list[tuple[Entity, str]]
    words: int

    @property
    def coverage(self) -> Coverage:
        """What was read of this document, and what is out of reach so far."""
        reasons: dict[str, int] = {}
        for _, reason in self.unreachable:
            reasons[reason] = reasons.get(reason, 0) + 1
        entities = sum(map(len, self.golds)) + len(self.unreachable)
        return Coverage(1, len(self.golds), self.words, entities, reasons)


def align(sentences: Sequence[Sentence], entities: Iterable[Entity]) -> Alignment:
    """Place a document's entities on the words of its sentences. An entity given twice counts once.

    Fragments stay as they are given, also when nothing but whitespace parts them.

    >>> from nearspan.document import Document
    >>> from nearspan.segment.sentences import split
    >>> document = Document("Ann left Oslo.", (Entity.of(0, 3, "PER"), Entity.of(9, 12, "LOC")))
    >>> alignment = align(split(document), document.entities)
    >>> alignment.golds
    [[Gold(fragments=((0, 1),), label='PER')]]
    >>> [reason for entity, reason in alignment.unreachable]
    ['misaligned']
    """
    starts: dict[int, tuple[int, int]] = {}
    stops: dict[int, tuple[int, int]] = {}
    for position, sentence in enumerate(sentences):
        starts.update((start, (position, first)) for start, first in sentence.starts.items())
        stops.update((end, (position, stop)) for end, stop in sentence.stops.items())
    golds: list[list[Gold]] = [[] for _ in sentences]
    sources: list[list[Entity]] = [[] for _ in sentences]
    unreachable: list[tuple[Entity, str]] = []
    for entity in dict.fromkeys(entities):
        edges = [(starts.get(start), stops.get(end)) for start, end in entity.fragments]
        aligned = [(first, stop) for first, stop in edges if first is not None and stop is not None]
        if len(aligned) < len(edges):
            unreachable.append((entity, MISALIGNED))
        elif len({position for pair in aligned for position, _ in pair}) > 1:
            unreachable.append((entity, CROSSING))
        else:
            fragments = tuple((first, stop) for (_, first), (_, stop) in aligned)
            position = aligned[0][0][0]
            golds[position].append(Gold(fragments, entity.label))
            sources[position].append(entity)
    return Alignment(golds, sources, unreachable, sum(len(sentence.runs) for sentence in sentences))
