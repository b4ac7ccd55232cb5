"""Matching: which predicted entities are exactly those of the gold standard, and which overlap."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from itertools import zip_longest

from nearspan.document import Document, Entity, Span
from nearspan.errors import NearspanError
from nearspan.evaluation.scores import Labelled, Scores

Slicer = Callable[[Entity], str]  # an entity to the name of its slice

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
    return score_by(gold, predicted, lambda _: lambda _: "all").get("all", Scores())


def score_by(
    gold: Iterable[Document], predicted: Iterable[Document], slicer: Callable[[Document], Slicer]
) -> dict[str, Scores]:
    """Scores of each slice. `slicer` takes the gold document and returns what names the slice of an entity.

    >>> gold = [Document("Ann in Oslo", (Entity.of(0, 3, "PER"), Entity.of(7, 11, "LOC")))]
    >>> thirds = score_by(gold, gold, lambda document: lambda entity: f"third {1 + 3 * entity.start // 11}")
    >>> {name: scores.f1 for name, scores in thirds.items()}
    {'third 1': 1.0, 'third 2': 1.0}
    """
    golds, predictions = defaultdict[str, set[Labelled]](set), defaultdict[str, set[Labelled]](set)
    for position, (truth, prediction) in enumerate(pair_documents(gold, predicted)):
        slice_of = slicer(truth)
        for slices, document in ((golds, truth), (predictions, prediction)):
            for entity in document.entities:
                slices[slice_of(entity)].add(((position, entity.span), entity.label))
    return {name: Scores.of(golds[name], predictions[name]) for name in sorted(golds.keys() | predictions.keys())}


def pair_documents(gold: Iterable[Document], predicted: Iterable[Document]) -> Iterator[tuple[Document, Document]]:
    """Each gold document with its prediction, or an error when they do not belong together."""
    for position, (truth, prediction) in enumerate(zip_longest(gold, predicted)):
        if truth is None or prediction is None:
            longer, shorter = ("predicted", "gold") if truth is None else ("gold", "predicted")
            raise NearspanError(
                f"there are only {position} {shorter} documents but more {longer} ones; "
                "give the same documents, in the same order, on both sides"
            )
        if truth.text != prediction.text:
            raise NearspanError(
                f"document {position + 1} differs: gold {truth.id!r} begins {truth.text[:40]!r}, predicted "
                f"{prediction.id!r} begins {prediction.text[:40]!r}, and their texts are not equal; give the same "
                "documents, in the same order, on both sides"
            )
        yield truth, prediction


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
