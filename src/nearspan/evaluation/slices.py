"""Slices: scores of the entities that have something in common.

Every entity, gold or predicted, is in exactly one slice, found from its span and the gold document alone.
So a correct prediction is in the slice of its gold entity, and the slices' counts add up to the whole.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable

from nearspan.document import Document, Entity, Span
from nearspan.evaluation.matching import Tally, pairs
from nearspan.evaluation.overlaps import Overlaps
from nearspan.evaluation.scores import Scores
from nearspan.segment import split
from nearspan.segment.words import words

Slicer = Callable[[Entity], str]


def sliced(
    gold: Iterable[Document], predicted: Iterable[Document], slicer: Callable[[Document], Slicer]
) -> dict[str, Scores]:
    """Scores for each slice. `slicer` takes the gold document and returns what names an entity's slice.

    >>> gold = [Document("Ann in Oslo", (Entity.of(0, 3, "PER"), Entity.of(7, 11, "LOC")))]
    >>> thirds = sliced(gold, gold, lambda document: lambda entity: f"third {1 + 3 * entity.start // 11}")
    >>> {name: scores.f1 for name, scores in thirds.items()}
    {'third 1': 1.0, 'third 2': 1.0}
    """
    tallies: defaultdict[str, Tally] = defaultdict(Tally)
    for truth, guess in pairs(gold, predicted):
        name = slicer(truth)
        golds, guesses = _grouped(truth.entities, name), _grouped(guess.entities, name)
        for key in golds.keys() | guesses.keys():
            tallies[key].add(golds[key], guesses[key])
    return {key: tallies[key].scores() for key in sorted(tallies)}


def by_width(
    gold: Iterable[Document], predicted: Iterable[Document], *, widest: int = 6, characters: bool = False
) -> dict[str, Scores]:
    """Scores by width in words: "1", "2" and so on, and all that are wider than `widest` together.

    The words are the gold document's, or those found in its text. A discontinuous entity is as wide as its
    fragments together; a word that an entity holds in part counts as a word.

    >>> gold = [Document("Ann Li in Oslo", (Entity.of(0, 6, "PER"), Entity.of(10, 14, "LOC")))]
    >>> {width: scores.total.gold for width, scores in by_width(gold, gold).items()}
    {'1': 1, '2': 1}
    """

    def slicer(document: Document) -> Slicer:
        found = document.words if document.words is not None else words(document.text, characters)
        starts, ends = [start for start, _ in found], [end for _, end in found]

        def width(entity: Entity) -> str:
            touched = (bisect_left(starts, b) - bisect_right(ends, a) for a, b in entity.span.fragments)
            count = sum(touched)
            return str(count) if count <= widest else f"{widest + 1}+"

        return width

    scores = sliced(gold, predicted, slicer)
    return {key: scores[key] for key in sorted(scores, key=lambda key: int(key.rstrip("+")))}


def by_structure(gold: Iterable[Document], predicted: Iterable[Document]) -> dict[str, Scores]:
    """Scores by how a span lies among nested gold entities (Zhu et al., 2023, section 4.5).

    - "nested": inside a gold entity that covers a gold entity;
    - "covering": around a gold entity that is inside a gold entity;
    - "both";
    - "flat": neither.

    Inside and around are meant of different spans: two labels on one span do not nest, nor do entities that
    cross. For a gold entity the rule comes to "inside another" and "around another". A wrong prediction inside or
    around an entity that has nothing to do with nesting is flat.

    >>> nested = (Entity.of(0, 18, "ORG"), Entity.of(14, 18, "LOC"), Entity.of(22, 25, "PER"))
    >>> gold = [Document("University of Oslo by Ann", nested)]
    >>> {name: scores.total.gold for name, scores in by_structure(gold, gold).items()}
    {'covering': 1, 'flat': 1, 'nested': 1}
    """

    def slicer(document: Document) -> Slicer:
        index = Overlaps(document.entities)
        nests = [
            (one.span, other.span)
            for one in document.entities
            for other in index.of(one.span)
            if _around(one.span, other.span)
        ]
        outer, inner = {one for one, _ in nests}, {other for _, other in nests}

        def structure(entity: Entity) -> str:
            near = {other.span for other in index.of(entity.span)}
            inside = any(_around(span, entity.span) for span in near & outer)
            around = any(_around(entity.span, span) for span in near & inner)
            return {(False, False): "flat", (True, False): "nested", (False, True): "covering"}.get(
                (inside, around), "both"
            )

        return structure

    return sliced(gold, predicted, slicer)


def by_continuity(gold: Iterable[Document], predicted: Iterable[Document]) -> dict[str, Scores]:
    """Scores of "contiguous" and of "discontinuous" entities.

    >>> gold = [Document("pain in arms and legs", (Entity.of(0, 12, "ADR"), Entity(Span(((0, 7), (17, 21))), "ADR")))]
    >>> {name: scores.total.gold for name, scores in by_continuity(gold, gold).items()}
    {'contiguous': 1, 'discontinuous': 1}
    """

    def name(entity: Entity) -> str:
        return "discontinuous" if entity.span.discontinuous else "contiguous"

    return sliced(gold, predicted, lambda _: name)


def by_sentence_continuity(gold: Iterable[Document], predicted: Iterable[Document]) -> dict[str, Scores]:
    """Scores in sentences with a gold entity that is discontinuous ("discontinuous"), and in all others ("contiguous").

    An entity is in the sentence in which it begins; the sentences are the gold document's, or those found in its text.
    """

    def slicer(document: Document) -> Slicer:
        broken = [entity.start for entity in document.entities if entity.span.discontinuous]
        starts = [sentence.start for sentence in split(document)] if broken else []
        held = {bisect_right(starts, start) for start in broken}
        return lambda entity: "discontinuous" if bisect_right(starts, entity.start) in held else "contiguous"

    return sliced(gold, predicted, slicer)


def _around(one: Span, other: Span) -> bool:
    return one != other and one.covers(other)


def _grouped(entities: Iterable[Entity], name: Slicer) -> defaultdict[str, set[Entity]]:
    groups: defaultdict[str, set[Entity]] = defaultdict(set)
    for entity in entities:
        groups[name(entity)].add(entity)
    return groups
