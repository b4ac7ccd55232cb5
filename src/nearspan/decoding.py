"""From label probabilities to entities."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from nearspan.settings import Settings

Overlap = Literal["flat", "nested", "any"]


class DecodingSettings(Settings):
    """How entities of one sentence may overlap; `auto` takes what the training data shows."""

    overlap: Literal["auto", "flat", "nested", "any"] = "auto"


@dataclass(frozen=True, slots=True)
class Guess:
    """A candidate that some label claims."""

    first: int
    stop: int
    label: int
    score: float


def decode(guesses: Iterable[Guess], overlap: Overlap) -> list[Guess]:
    """Keep the best guesses that may stand together, the most probable first.

    `flat`: no two share a word. `nested`: one may lie inside the other, none may cross. `any`: all stay.
    Several labels on one span may always stand together; only heads that give several make such guesses.

    >>> decode([Guess(0, 2, 1, 0.9), Guess(1, 3, 1, 0.8), Guess(0, 1, 2, 0.7)], "nested")
    [Guess(first=0, stop=2, label=1, score=0.9), Guess(first=0, stop=1, label=2, score=0.7)]
    """
    kept: list[Guess] = []
    at: dict[int, list[Guess]] = {}  # kept guesses by the words they hold
    for guess in sorted(guesses, key=lambda g: (-g.score, g.first, g.stop, g.label)):
        words = range(guess.first, guess.stop)
        if overlap != "any" and any(_clash(guess, other, overlap) for word in words for other in at.get(word, ())):
            continue
        kept.append(guess)
        for word in words:
            at.setdefault(word, []).append(guess)
    return kept


def _clash(one: Guess, other: Guess, overlap: Overlap) -> bool:
    """Whether two guesses that share a word may not stand together."""
    if overlap == "flat":
        return (one.first, one.stop) != (other.first, other.stop)
    inside = one.first >= other.first and one.stop <= other.stop
    around = one.first <= other.first and one.stop >= other.stop
    return not (inside or around)


def found_overlap(sentences: Iterable[list[tuple[int, int]]]) -> Overlap:
    """The least overlap level that allows all these (first, stop) spans, sentence by sentence; equal ones are one.

    >>> found_overlap([[(0, 2), (1, 2)], [(4, 5)]])
    'nested'
    """
    level: Overlap = "flat"
    for spans in sentences:
        stack: list[tuple[int, int]] = []
        for first, stop in sorted(set(spans), key=lambda span: (span[0], -span[1])):
            while stack and stack[-1][1] <= first:
                stack.pop()
            if stack:
                if stop > stack[-1][1]:
                    return "any"
                level = "nested"
            stack.append((first, stop))
    return level
