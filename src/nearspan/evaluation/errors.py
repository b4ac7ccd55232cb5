"""Errors: what exactly a prediction got wrong."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from nearspan.document import Document, Entity, Span
from nearspan.evaluation.matching import pairs
from nearspan.evaluation.overlaps import Overlaps

Kind = Literal["missed", "spurious", "wrong label", "wrong boundary", "wrong label and boundary"]


@dataclass(frozen=True, slots=True)
class Error:
    """One error: `gold` is None when spurious, `predicted` is None when missed."""

    kind: Kind
    document: Document
    gold: Entity | None
    predicted: Entity | None


def find_errors(gold: Iterable[Document], predicted: Iterable[Document]) -> list[Error]:
    """All errors, in order of the text. Every false negative and every false positive is in exactly one.

    Entities that are right are set aside. The rest are paired, each with one partner at most: first
    those with the same span ("wrong label"), then overlapping ones with the same label ("wrong boundary"),
    then other overlapping ones; the largest overlap first. What finds no partner is missed or spurious.

    >>> gold = [Document("Ann Li in Oslo", (Entity.of(0, 6, "PER"), Entity.of(10, 14, "LOC")))]
    >>> guess = [gold[0].with_entities([Entity.of(0, 3, "PER"), Entity.of(10, 14, "ORG")])]
    >>> [(error.kind, error.gold.label, error.predicted.label) for error in find_errors(gold, guess)]
    [('wrong boundary', 'PER', 'PER'), ('wrong label', 'LOC', 'ORG')]
    """
    return [error for truth, guess in pairs(gold, predicted) for error in _errors(truth, guess)]


def _errors(truth: Document, guess: Document) -> Iterator[Error]:
    golds, guesses = set(truth.entities), set(guess.entities)
    missed, spurious = golds - guesses, guesses - golds
    found: list[tuple[Kind, Entity | None, Entity | None]] = []
    for kind, one, other in sorted(_candidates(missed, spurious), key=_preference):
        if one in missed and other in spurious:
            missed.remove(one)
            spurious.remove(other)
            found.append((kind, one, other))
    found += [("missed", one, None) for one in missed]
    found += [("spurious", None, other) for other in spurious]
    for kind, a, b in sorted(found, key=lambda error: (error[1] or error[2], error[2] or error[1])):
        yield Error(kind, truth, a, b)


def _candidates(missed: set[Entity], spurious: set[Entity]) -> Iterator[tuple[Kind, Entity, Entity]]:
    index = Overlaps(spurious)
    for one in missed:
        for other in index.of(one.span):
            if one.span == other.span:
                yield "wrong label", one, other
            elif one.label == other.label:
                yield "wrong boundary", one, other
            else:
                yield "wrong label and boundary", one, other


def _preference(pair: tuple[Kind, Entity, Entity]) -> tuple[int, int, Entity, Entity]:
    kind, one, other = pair
    order = ("wrong label", "wrong boundary", "wrong label and boundary").index(kind)
    return order, -_shared(one.span, other.span), one, other


def _shared(one: Span, other: Span) -> int:
    """How many characters two spans share."""
    return sum(max(0, min(b, end) - max(a, start)) for a, b in one.fragments for start, end in other.fragments)
