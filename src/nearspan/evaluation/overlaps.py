"""Overlaps: the entities that share a character with a span, without comparing all with all."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from nearspan.document import Entity, Span

_BUCKET = 64  # characters; about a dozen words


class Overlaps:
    """An index of entities by their characters.

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
