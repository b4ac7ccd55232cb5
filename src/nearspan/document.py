"""Characters are the truth: a document is its text, everything else points into it.

All offsets are half-open character offsets into `Document.text`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Self

Fragment = tuple[int, int]


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """One or more fragments of a text; several fragments make it discontinuous.

    >>> Span.of(0, 4).text("pain in arms and legs")
    'pain'
    >>> Span(((0, 7), (17, 21))).text("pain in arms and legs")
    'pain in legs'
    """

    fragments: tuple[Fragment, ...]

    def __post_init__(self) -> None:
        if not self.fragments:
            raise ValueError("a span needs at least one fragment")
        before = -1
        for start, end in self.fragments:
            if start < 0 or end <= start:
                raise ValueError(f"a fragment needs 0 <= start < end, found ({start}, {end})")
            if start < before:
                raise ValueError(f"fragments must be in order and not overlap: {self.fragments}")
            before = end

    @classmethod
    def of(cls, start: int, end: int) -> Self:
        """A contiguous span."""
        return cls(((start, end),))

    @classmethod
    def joining(cls, fragments: Iterable[Fragment]) -> Self:
        """A span of fragments in any order; touching and overlapping ones become one."""
        joined: list[Fragment] = []
        for start, end in sorted(fragments):
            if joined and start <= joined[-1][1]:
                joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
            else:
                joined.append((start, end))
        return cls(tuple(joined))

    @property
    def start(self) -> int:
        """The first character."""
        return self.fragments[0][0]

    @property
    def end(self) -> int:
        """The character after the last."""
        return self.fragments[-1][1]

    @property
    def discontinuous(self) -> bool:
        """Whether there are several fragments."""
        return len(self.fragments) > 1

    def text(self, of: str) -> str:
        """The span's characters, fragments joined by a blank."""
        return " ".join(of[start:end] for start, end in self.fragments)

    def covers(self, other: Span) -> bool:
        """Whether every fragment of `other` lies inside a fragment of this span."""
        return all(any(a <= start and end <= b for a, b in self.fragments) for start, end in other.fragments)

    def overlaps(self, other: Span) -> bool:
        """Whether the two spans share a character."""
        return any(a < end and start < b for a, b in self.fragments for start, end in other.fragments)

    def shifted(self, by: int) -> Span:
        """The same span in a text that begins `by` characters earlier."""
        return Span(tuple((start + by, end + by) for start, end in self.fragments))


@dataclass(frozen=True, slots=True, order=True)
class Entity:
    """A labelled span. The score is a model's and does not count for equality."""

    span: Span
    label: str
    score: float | None = field(default=None, compare=False)

    @classmethod
    def of(cls, start: int, end: int, label: str, score: float | None = None) -> Self:
        """A contiguous entity."""
        return cls(Span.of(start, end), label, score)

    @property
    def start(self) -> int:
        """The first character."""
        return self.span.start

    @property
    def end(self) -> int:
        """The character after the last."""
        return self.span.end


@dataclass(frozen=True, slots=True)
class Document:
    """A text with its entities, and its words and sentences where the source gave them.

    `words` and `sentences` hold character offsets, in order; `None` means that the source did not say, and
    `nearspan.segment.split` finds them when they are needed.

    >>> document = Document("Ada Lovelace wrote.", (Entity.of(0, 12, "PER"),))
    >>> [(e.label, e.span.text(document.text)) for e in document.entities]
    [('PER', 'Ada Lovelace')]
    """

    text: str
    entities: tuple[Entity, ...] = ()
    id: str = ""
    words: tuple[Fragment, ...] | None = None
    sentences: tuple[Fragment, ...] | None = None

    def __post_init__(self) -> None:
        size = len(self.text)
        for entity in self.entities:
            if entity.end > size:
                raise ValueError(f"entity {entity} ends after the text's {size} characters (document {self.id!r})")
        for name, parts in (("words", self.words), ("sentences", self.sentences)):
            before = 0
            for start, end in parts or ():
                if not before <= start <= end <= size:
                    raise ValueError(
                        f"{name} must be in order and inside the text: ({start}, {end}) (document {self.id!r})"
                    )
                before = end

    def with_entities(self, entities: Iterable[Entity]) -> Document:
        """The same document with other entities, in order of their spans."""
        return Document(self.text, tuple(sorted(entities)), self.id, self.words, self.sentences)
