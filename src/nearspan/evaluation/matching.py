"""Matching: which predicted entities are exactly those of the gold standard, and which overlap."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from itertools import zip_longest

from nearspan.document import Document, Entity, Span
from nearspan.errors import NearspanError
from nearspan.evaluation.scores import Counts, Scores

_BUCKET = 64  # characters; about a dozen words


def score(gold: Iterable[Document], predicted: Iterable[Document]) -> Scores:
    """Compare documents, first with first and so on; an entity is its fragments and its label.

    Entities are sets: their order never matters, and an entity that is listed twice counts once. Flat, nested,
    overlapping and discontinuous entities are all compared in this way; on flat data the result is conlleval's.
    Without gold or without predictions the undefined measures are 0.0.

    >>> gold = [Document("Ann in Oslo", (Entity.of(0, 3, "PER"), Entity.of(7, 11, "LOC")))]
    >>> scores = score(gold, [gold[0].with_entities([Entity.of(7, 11, "LOC")])])
    >>> scores.precision, scores.recall, scores.labels["PER"].fn
    (1.0, 0.5, 1)
    """
    tally = Tally()
    for gold_document, predicted_document in pair_documents(gold, predicted):
        tally.add(set(gold_document.entities), set(predicted_document.entities))
    return tally.scores()


def pair_documents(gold: Iterable[Document], predicted: Iterable[Document]) -> Iterator[tuple[Document, Document]]:
    """Each gold document with its prediction, or an error when they do not belong together."""
    for position, (truth, guess) in enumerate(zip_longest(gold, predicted)):
        if truth is None or guess is None:
            longer, shorter = ("predicted", "gold") if truth is None else ("gold", "predicted")
            raise NearspanError(
                f"there are only {position} {shorter} documents but more {longer} ones; "
                "give the same documents, in the same order, on both sides"
            )
        if truth.text != guess.text:
            raise NearspanError(
                f"document {position + 1} differs: gold {truth.id!r} begins {truth.text[:40]!r}, predicted "
                f"{guess.id!r} begins {guess.text[:40]!r}, and their texts are not equal; give the same "
                "documents, in the same order, on both sides"
            )
        yield truth, guess


class Tally:
    """Counts entities by label, document by document.

    >>> tally = Tally()
    >>> tally.add({Entity.of(0, 3, "PER")}, {Entity.of(0, 3, "PER"), Entity.of(4, 8, "PER")})
    >>> tally.scores().labels
    {'PER': Counts(correct=1, predicted=2, gold=1)}
    """

    def __init__(self) -> None:
        self._correct: Counter[str] = Counter()
        self._predicted: Counter[str] = Counter()
        self._gold: Counter[str] = Counter()

    def add(self, gold: set[Entity], predicted: set[Entity]) -> None:
        """Count the entities of one document."""
        self._gold.update(entity.label for entity in gold)
        self._predicted.update(entity.label for entity in predicted)
        self._correct.update(entity.label for entity in gold & predicted)

    def scores(self) -> Scores:
        """The scores so far, labels in alphabetical order."""
        labels = sorted(self._gold.keys() | self._predicted.keys())
        return Scores({y: Counts(self._correct[y], self._predicted[y], self._gold[y]) for y in labels})


class Overlaps:
    """An index of entities by their characters, so that not all are compared with all.

    >>> index = Overlaps([Entity.of(0, 6, "ORG"), Entity.of(4, 9, "LOC")])
    >>> [entity.label for entity in index.of(Span.of(5, 8))]
    ['ORG', 'LOC']
    >>> index.of(Span.of(9, 12))
    []
    """

    def __init__(self, entities: Iterable[Entity]) -> None:
        self._buckets: defaultdict[int, list[Entity]] = defaultdict(list)
        for entity in dict.fromkeys(entities):
            for bucket in _buckets(entity.span):
                self._buckets[bucket].append(entity)

    def of(self, span: Span) -> list[Entity]:
        """The entities that share a character with `span`, sorted."""
        near = {entity for bucket in _buckets(span) for entity in self._buckets.get(bucket, ())}
        return sorted(entity for entity in near if entity.span.overlaps(span))


def _buckets(span: Span) -> Iterator[int]:
    last = -1
    for start, end in span.fragments:
        first = max(start // _BUCKET, last + 1)
        last = (end - 1) // _BUCKET
        yield from range(first, last + 1)
