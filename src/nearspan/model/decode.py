"""From label probabilities to entities."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, Self

from nearspan.document import Fragment

Overlap = Literal["flat", "nested", "any"]
Fragments = tuple[Fragment, ...]  # over words, in order


@dataclass(frozen=True, slots=True)
class ScoredSpan:
    """Words that some label claims; several fragments if they are discontinuous.

    >>> ScoredSpan.of(0, 2, 1, 0.9) == ScoredSpan(((0, 2),), 1, 0.9)
    True
    """

    fragments: Fragments
    label: int
    score: float

    @classmethod
    def of(cls, first: int, stop: int, label: int, score: float) -> Self:
        """A contiguous guess."""
        return cls(((first, stop),), label, score)

    @property
    def first(self) -> int:
        """The first word."""
        return self.fragments[0][0]

    @property
    def stop(self) -> int:
        """One past the last word."""
        return self.fragments[-1][1]

    def shifted(self, by: int) -> ScoredSpan:
        """The same words in a sentence that begins `by` words earlier."""
        return ScoredSpan(tuple((first + by, stop + by) for first, stop in self.fragments), self.label, self.score)


def decode(
    guesses: Iterable[ScoredSpan], overlap: Overlap, joined: Overlap = "any", standing: Iterable[Fragments] = ()
) -> list[ScoredSpan]:
    """Keep the best guesses that may stand together, and beside what is `standing` already, the most probable first.

    `flat`: no two share a word. `nested`: all words of the one may be words of the other, none may cross. `any`: all
    stay. `overlap` is for contiguous guesses, `joined` for two of which one is discontinuous; such a guess holds the
    words of its fragments, not those between them.
    Several labels on one span may always stand together; only heads that give several make such guesses.

    >>> kept = decode([ScoredSpan.of(0, 2, 1, 0.9), ScoredSpan.of(1, 3, 1, 0.8), ScoredSpan(((0, 1), (3, 4)), 2, 0.7)], "flat")
    >>> [guess.fragments for guess in kept]
    [((0, 2),), ((0, 1), (3, 4))]
    """
    kept: list[ScoredSpan] = []
    at: dict[int, list[Fragments]] = {}  # what stands, by the words it holds
    for span in standing:
        for word in _words(span):
            at.setdefault(word, []).append(span)
    choosy = (overlap, joined) != ("any", "any")
    for guess in sorted(guesses, key=lambda g: (-g.score, g.fragments, g.label)):
        words = _words(guess.fragments)
        others = (other for word in words for other in at.get(word, ()))
        if choosy and any(_clash(guess.fragments, other, overlap, joined) for other in others):
            continue
        kept.append(guess)
        for word in words:
            at.setdefault(word, []).append(guess.fragments)
    return kept


def _words(span: Fragments) -> list[int]:
    return [word for first, stop in span for word in range(first, stop)]


def found_overlap(sentences: Iterable[Iterable[Fragments]]) -> Overlap:
    """The least level that allows all contiguous ones of these spans, sentence by sentence; equal ones are one.

    >>> found_overlap([[((0, 2),), ((1, 2),)], [((4, 5),)]])
    'nested'
    """
    return _least(_contiguous([span[0] for span in set(spans) if len(span) == 1]) for spans in sentences)


def found_joined(sentences: Iterable[Iterable[Fragments]]) -> Overlap:
    """The least level that allows all pairs of these spans of which one is discontinuous, sentence by sentence.

    >>> found_joined([[((0, 2),), ((0, 1), (4, 5))]])
    'any'
    """
    return _least(
        _together(one, other)
        for spans in sentences
        for one in set(spans)
        if len(one) > 1
        for other in set(spans)
        if one != other
    )


def _least(levels: Iterable[Overlap]) -> Overlap:
    """The least level that allows what each of these allows."""
    found = set(levels)
    return "any" if "any" in found else "nested" if "nested" in found else "flat"


def _contiguous(spans: list[Fragment]) -> Overlap:
    """The least level for contiguous spans of one sentence."""
    level: Overlap = "flat"
    stack: list[Fragment] = []
    for first, stop in sorted(spans, key=lambda span: (span[0], -span[1])):
        while stack and stack[-1][1] <= first:
            stack.pop()
        if stack:
            if stop > stack[-1][1]:
                return "any"
            level = "nested"
        stack.append((first, stop))
    return level


def _together(one: Fragments, other: Fragments) -> Overlap:
    """The least level at which two different spans may stand together."""
    if not any(a < stop and first < b for a, b in one for first, stop in other):
        return "flat"
    return "nested" if _inside(one, other) or _inside(other, one) else "any"


def _clash(one: Fragments, other: Fragments, overlap: Overlap, joined: Overlap) -> bool:
    """Whether two spans that share a word may not stand together."""
    level = overlap if len(one) == len(other) == 1 else joined
    if level == "flat":
        return one != other
    return level == "nested" and not (_inside(one, other) or _inside(other, one))


def _inside(one: Fragments, other: Fragments) -> bool:
    """Whether every fragment of the one lies in a fragment of the other."""
    return all(any(a <= first and stop <= b for a, b in other) for first, stop in one)
