"""Alignment: entities in characters become entities in words."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from nearspan.document import Entity, given_identifier
from nearspan.segment.coverage import Coverage
from nearspan.segment.labelled_span import LabelledSpan
from nearspan.segment.sentences import Sentence

MISALIGNED = "misaligned"
CROSSING = "crosses a sentence"


@dataclass(frozen=True, slots=True)
class Alignment:
    """The entities of each sentence, and those that no words of one sentence can stand for.

    `golds[i]` belongs to the sentence at position `i`; `sources[i]` holds the entities they come from.
    """

    golds: list[list[LabelledSpan[str]]]
    sources: list[list[Entity]]
    unreachable: list[tuple[Entity, str]]
    coverage: Coverage  # what was read of this document, and what is out of reach so far


def align(sentences: Sequence[Sentence], entities: Iterable[Entity]) -> Alignment:
    """Place a document's entities on the words of its sentences. An entity given twice counts once.

    Fragments stay as they are given, also when nothing but whitespace parts them.

    >>> from nearspan.document import Document
    >>> from nearspan.segment.sentences import split
    >>> document = Document("Ann left Oslo.", (Entity.of(0, 3, "PER"), Entity.of(9, 12, "LOC")))
    >>> alignment = align(split(document), document.entities)
    >>> [[(gold.fragments, gold.label) for gold in golds] for golds in alignment.golds]
    [[(((0, 1),), 'PER')]]
    >>> [reason for entity, reason in alignment.unreachable]
    ['misaligned']
    """
    starts: dict[int, tuple[int, int]] = {}
    stops: dict[int, tuple[int, int]] = {}
    for position, sentence in enumerate(sentences):
        for first, stop in sentence.runs:
            starts[sentence.words[first][0]] = (position, first)
            stops[sentence.words[stop - 1][1]] = (position, stop)
    golds: list[list[LabelledSpan[str]]] = [[] for _ in sentences]
    sources: list[list[Entity]] = [[] for _ in sentences]
    unreachable: list[tuple[Entity, str]] = []
    for entity in dict.fromkeys(entities):
        edges = [(starts.get(start), stops.get(end)) for start, end in entity.span.fragments]
        aligned = [(first, stop) for first, stop in edges if first is not None and stop is not None]
        if len(aligned) < len(edges):
            unreachable.append((entity, MISALIGNED))
        elif len({position for pair in aligned for position, _ in pair}) > 1:
            unreachable.append((entity, CROSSING))
        else:
            fragments = tuple((first, stop) for (_, first), (_, stop) in aligned)
            position = aligned[0][0][0]
            golds[position].append(LabelledSpan(fragments, entity.label, identifier=given_identifier(entity)))
            sources[position].append(entity)
    words = sum(len(sentence.runs) for sentence in sentences)
    reasons = Counter(reason for _, reason in unreachable)
    count = sum(map(len, golds)) + len(unreachable)
    return Alignment(golds, sources, unreachable, Coverage(1, len(sentences), words, count, dict(reasons)))
