"""What a document of a column file holds, in a few lists: the objects are made when somebody asks for them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import repeat

from nearspan.document import NO_ATTRIBUTES, Entity, Fragment, Span

_WORD = re.compile("[^ \n]+")
_LINE = re.compile("[^\n]+")


@dataclass(frozen=True)
class Piece:
    """Sentences of one document: words joined by blanks, sentences by newlines, and entities that share no words.

    >>> piece = Piece("Ada wrote\\nYes", 3, 2, [0], [3], ["PER"], [1], [1])
    >>> piece.words(piece.text), piece.entities(piece.text)
    (((0, 3), (4, 9), (10, 13)), (Entity(PER 0-3 'Ada'),))
    """

    text: str
    word_count: int
    sentence_count: int
    starts: list[int]  # of the entities, in order
    ends: list[int]
    labels: list[str]
    lines: list[int]
    widths: list[int]  # in words

    @property
    def entity_count(self) -> int:
        """How many entities there are."""
        return len(self.starts)

    def entities(self, text: str) -> tuple[Entity, ...]:
        """The entities, each with its text."""
        places = list(zip(self.starts, self.ends, strict=True))
        texts = (text[start:end] for start, end in places)
        rest = repeat(False), repeat(NO_ATTRIBUTES)
        return tuple(map(Entity, map(Span, zip(places, strict=True)), self.labels, repeat(None), texts, *rest))

    def words(self, text: str) -> tuple[Fragment, ...]:
        """The words."""
        return tuple(match.span() for match in _WORD.finditer(text))

    def sentences(self, text: str) -> tuple[Fragment, ...]:
        """The sentences."""
        return tuple(match.span() for match in _LINE.finditer(text))

    @classmethod
    def join(cls, pieces: Sequence[Piece]) -> Piece:
        """The pieces of a document as one.

        >>> Piece.join([Piece("Ada", 1, 1, [], [], [], [], []), Piece("Yes", 1, 1, [0], [3], ["X"], [9], [1])]).starts
        [4]
        """
        pieces = [piece for piece in pieces if piece.word_count]
        if len(pieces) == 1:
            return pieces[0]
        joined = cls("\n".join(piece.text for piece in pieces), 0, 0, [], [], [], [], [])
        words = sentences = shift = 0
        for piece in pieces:
            words, sentences = words + piece.word_count, sentences + piece.sentence_count
            joined.starts.extend(start + shift for start in piece.starts)
            joined.ends.extend(end + shift for end in piece.ends)
            joined.labels.extend(piece.labels)
            joined.lines.extend(piece.lines)
            joined.widths.extend(piece.widths)
            shift += len(piece.text) + 1
        return cls(joined.text, words, sentences, *(getattr(joined, name) for name in _LISTS))


_LISTS = ("starts", "ends", "labels", "lines", "widths")
