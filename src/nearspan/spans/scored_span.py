"""A labelled span of a sentence, as a model predicts it: words, label and probability."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from nearspan.document import Fragment

Fragments = tuple[Fragment, ...]  # over words, in order


@dataclass(frozen=True, slots=True)
class ScoredSpan:
    """Words with a label and its probability; several fragments where they are discontinuous.

    >>> ScoredSpan.of(0, 2, 1, 0.9) == ScoredSpan(((0, 2),), 1, 0.9)
    True
    """

    fragments: Fragments
    label: int  # from 1 on; 0 is null
    score: float

    @classmethod
    def of(cls, first: int, stop: int, label: int, score: float) -> Self:
        """A contiguous span."""
        return cls(((first, stop),), label, score)

    @property
    def first(self) -> int:
        """The first word."""
        return self.fragments[0][0]

    @property
    def stop(self) -> int:
        """One past the last word."""
        return self.fragments[-1][1]

    def shift(self, by: int) -> ScoredSpan:
        """The same words in a sentence that begins `by` words earlier."""
        return ScoredSpan(tuple((first + by, stop + by) for first, stop in self.fragments), self.label, self.score)
