"""Slices: scores of the entities that have something in common.

Every entity, gold or predicted, is in exactly one slice, which depends on its span and the gold document alone. So a
correct prediction is in the slice of its gold entity, and the counts of the slices add up to those of the corpus.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Container, Iterable

from nearspan.document import Document, Entity, Span
from nearspan.evaluation.matching import Overlaps, Slicer, score_by
from nearspan.evaluation.scores import Scores
from nearspan.segment import split
from nearspan.segment.words import words

VOCABULARIES = ("IV", "OOTV", "OOEV", "OOBV")


def by_width(
    gold: Iterable[Document], predicted: Iterable[Document], *, widest: int = 6, characters: bool = False
) -> dict[str, Scores]:
    """Scores by width in words: "1", "2" and so on, and all that are wider than `widest` together.

    The words are the gold document's, or those of its text. A discontinuous entity is as wide as its fragments
    together; a word that an entity holds in part counts as a word.

    >>> gold = [Document("Ann Li in Oslo", (Entity.of(0, 6, "PER"), Entity.of(10, 14, "LOC")))]
    >>> {width: scores.total.gold for width, scores in by_width(gold, gold).items()}
    {'1': 1, '2': 1}
    """

    def width(words: list[str]) -> str:
        return str(len(words)) if len(words) <= widest else f"{widest + 1}+"

    scores = _score_by_words(gold, predicted, width, characters)
    return {width: scores[width] for width in sorted(scores, key=lambda width: int(width.rstrip("+")))}


def by_structure(gold: Iterable[Document], predicted: Iterable[Document]) -> dict[str, Scores]:
    """Scores by how a span lies among nested gold entities (Zhu et al., 2023, section 4.5).

    - "nested": inside a gold entity that covers a gold entity;
    - "covering": around a gold entity that is inside a gold entity;
    - "both";
    - "flat": neither.

    Inside and around are meant of different spans: two labels on one span do not nest, nor do entities that cross.
    For a gold entity the rule comes to "inside another" and "around another". A wrong prediction inside or around an
    entity that has nothing to do with nesting is flat.

    >>> nested = (Entity.of(0, 18, "ORG"), Entity.of(14, 18, "LOC"), Entity.of(22, 25, "PER"))
    >>> gold = [Document("University of Oslo by Ann", nested)]
    >>> {name: scores.total.gold for name, scores in by_structure(gold, gold).items()}
    {'covering': 1, 'flat': 1, 'nested': 1}
    """

    def slicer(document: Document) -> Slicer:
        index = Overlaps(document.entities)
        nests = [
            (entity.span, inner.span)
            for entity in document.entities
            for inner in index.of(entity.span)
            if _is_around(entity.span, inner.span)
        ]
        outer_spans, inner_spans = {outer for outer, _ in nests}, {inner for _, inner in nests}

        def structure(entity: Entity) -> str:
            near = {neighbour.span for neighbour in index.of(entity.span)}
            inside = any(_is_around(span, entity.span) for span in near & outer_spans)
            around = any(_is_around(entity.span, span) for span in near & inner_spans)
            return ("flat", "nested", "covering", "both")[inside + 2 * around]

        return structure

    return score_by(gold, predicted, slicer)


def by_continuity(gold: Iterable[Document], predicted: Iterable[Document]) -> dict[str, Scores]:
    """Scores of "contiguous" and of "discontinuous" entities.

    >>> gold = [Document("pain in arms and legs", (Entity.of(0, 12, "ADR"), Entity(Span(((0, 7), (17, 21))), "ADR")))]
    >>> {name: scores.total.gold for name, scores in by_continuity(gold, gold).items()}
    {'contiguous': 1, 'discontinuous': 1}
    """

    return score_by(gold, predicted, lambda _: lambda e: "discontinuous" if e.span.discontinuous else "contiguous")


def by_sentence_continuity(gold: Iterable[Document], predicted: Iterable[Document]) -> dict[str, Scores]:
    """Scores in sentences with a discontinuous gold entity ("discontinuous"), and in all others ("contiguous").

    An entity is in the sentence in which it begins; the sentences are the gold document's, or those of its text.
    """

    def slicer(document: Document) -> Slicer:
        discontinuous = [entity.start for entity in document.entities if entity.span.discontinuous]
        starts = [sentence.start for sentence in split(document)] if discontinuous else []
        sentences = {bisect_right(starts, start) for start in discontinuous}
        return lambda entity: "discontinuous" if bisect_right(starts, entity.start) in sentences else "contiguous"

    return score_by(gold, predicted, slicer)


def by_vocabulary(
    gold: Iterable[Document],
    predicted: Iterable[Document],
    training: Container[str],
    vectors: Container[str],
    *,
    characters: bool = False,
) -> dict[str, Scores]:
    """Scores by vocabulary (Ma & Hovy, 2016), given the words of the training data and those that have a vector.

    - "IV": all words of the entity are in both;
    - "OOTV": a word is not in the training data, and all have vectors;
    - "OOEV": all words are in the training data, and a word has no vector;
    - "OOBV": a word is not in the training data, and a word (maybe another) has no vector.

    A word is in a vocabulary if it is there as it is written, or in lower case.

    >>> gold = [Document("Ann in Oslo", (Entity.of(0, 3, "PER"), Entity.of(7, 11, "LOC")))]
    >>> slices = by_vocabulary(gold, gold, training={"Ann", "in"}, vectors={"ann", "oslo"})
    >>> {name: scores.total.gold for name, scores in slices.items()}
    {'IV': 1, 'OOTV': 1}
    """

    def vocabulary(words: list[str]) -> str:
        in_training, have_vectors = (
            all(word in known or word.lower() in known for word in words) for known in (training, vectors)
        )
        return VOCABULARIES[(not in_training) + 2 * (not have_vectors)]

    scores = _score_by_words(gold, predicted, vocabulary, characters)
    return {name: scores[name] for name in VOCABULARIES if name in scores}


def _score_by_words(
    gold: Iterable[Document], predicted: Iterable[Document], slice_of: Callable[[list[str]], str], characters: bool
) -> dict[str, Scores]:
    """Scores by the words that an entity holds, be it in part."""

    def slicer(document: Document) -> Slicer:
        spans = document.words if document.words is not None else words(document.text, characters)
        starts, ends = [start for start, _ in spans], [end for _, end in spans]
        texts = [document.text[start:end] for start, end in spans]
        return lambda entity: slice_of(
            [word for a, b in entity.fragments for word in texts[bisect_right(ends, a) : bisect_left(starts, b)]]
        )

    return score_by(gold, predicted, slicer)


def _is_around(outer: Span, inner: Span) -> bool:
    return outer != inner and outer.covers(inner)
