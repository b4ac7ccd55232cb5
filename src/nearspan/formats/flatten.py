"""Entities that a format cannot hold: left out, or made flat, and counted."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from typing import Literal

from nearspan.document import Document, Entity, Fragment, Span
from nearspan.formats.format import LEFT_OUT

Unfit = Literal["refuse", "drop", "flatten"]
"""What happens to entities that a format cannot hold."""

DISCONTINUOUS = f"{LEFT_OUT}: discontinuous"
WIDER = f"{LEFT_OUT}: they share words with a wider one"
SECOND = f"{LEFT_OUT}: a second label of the same words"
JOINED = "discontinuous entities made contiguous"


def drop_discontinuous(document: Document, changes: Counter[str]) -> Document:
    """A document without its discontinuous entities, which are counted."""
    flat = [entity for entity in document.entities if not entity.span.discontinuous]
    changes[DISCONTINUOUS] += len(document.entities) - len(flat)
    return document.with_entities(flat)


def drop_overlapping(document: Document, changes: Counter[str]) -> Document:
    """A document without the entities that share characters with a wider one, or have a second label of the same."""
    dropped = Counter[str]()
    flat = document.with_entities(_flat(document.entities, dropped))
    del dropped[JOINED]
    changes.update(dropped)
    return flat


def flatten(document: Document, changes: Counter[str]) -> Document:
    """A document in which no two entities share a character, and what was changed is counted.

    A discontinuous entity becomes the stretch from its first character to its last. Of entities that share characters
    the widest stays, of several labels on the same ones that with the highest score, or the first.
    """
    return document.with_entities(_flat(document.entities, changes))


def _flat(entities: Iterable[Entity], changes: Counter[str]) -> list[Entity]:
    """The entities that stay.

    >>> changes = Counter()
    >>> nested = Entity.of(0, 4, "PLACE"), Entity.of(0, 9, "ORG"), Entity(Span(((12, 13), (15, 16))), "DRUG")
    >>> _flat(nested, changes)
    [Entity(ORG 0-9), Entity(DRUG 12-16)]
    >>> changes[WIDER], changes[JOINED]
    (1, 1)
    """
    kept: list[Entity] = []
    places: list[Fragment] = []  # of those kept, in order
    for entity in sorted(entities, key=lambda entity: (entity.start - entity.end, entity.start, -(entity.score or 0))):
        place = (entity.start, entity.end)
        at = bisect_left(places, place)
        if place in places[at : at + 1]:
            changes[SECOND] += 1
        elif any(start < entity.end and entity.start < end for start, end in places[max(at - 1, 0) : at + 1]):
            changes[WIDER] += 1
        else:
            changes[JOINED] += entity.span.discontinuous
            kept.append(replace(entity, span=Span.of(*place), text=""))
            places.insert(at, place)
    return kept
