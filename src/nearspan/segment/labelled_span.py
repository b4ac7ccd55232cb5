"""A labelled span of a sentence: words, a label and, where a model predicts it, its probability."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Generic, Self, TypeVar

from nearspan.document import Fragment

Fragments = tuple[Fragment, ...]  # over words, in order
Label = TypeVar("Label", str, int)  # a name, or for the network its number from 1 on


@dataclass(frozen=True, slots=True)
class LabelledSpan(Generic[Label]):
    """Words of one sentence, or pieces, with a label; several fragments where they are discontinuous. Half-open.

    >>> gold = LabelledSpan(((0, 2), (4, 5)), "ADR")
    >>> gold.first, gold.stop, gold.width, gold.discontinuous
    (0, 5, 3, True)
    >>> LabelledSpan.of(0, 2, 1, 0.9) == LabelledSpan(((0, 2),), 1, 0.9)
    True
    """

    fragments: Fragments
    label: Label
    score: float = 1.0  # its probability; gold spans are certain
    cosine: float | None = field(default=None, compare=False)  # with the memory's nearest entity, where that was asked
    identifier: str = field(default="", compare=False)  # of its concept, where a person has given one
    unaided: float | None = field(default=None, compare=False)  # its probability without corrections of other sentences

    @classmethod
    def of(cls, first: int, stop: int, label: Label, score: float = 1.0) -> Self:
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

    @property
    def width(self) -> int:
        """How many words the fragments hold."""
        return sum(stop - first for first, stop in self.fragments)

    @property
    def discontinuous(self) -> bool:
        """Whether there are several fragments. Such entities are for the model to take or to refuse."""
        return len(self.fragments) > 1

    def shift(self, by: int) -> Self:
        """The same words in a sentence that begins `by` words earlier."""
        return replace(self, fragments=tuple((first + by, stop + by) for first, stop in self.fragments))


def contiguous(spans: Iterable[LabelledSpan[Label]]) -> list[LabelledSpan[Label]]:
    """Those that are one run of words: what a candidate can equal, and what labels of candidates come from."""
    return [span for span in spans if not span.discontinuous]
