"""Sentences: the unit that models read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from nearspan.document import Document, Fragment, Span


@dataclass(frozen=True, slots=True, eq=False)
class Sentence:
    """A view of some consecutive words of a document.

    >>> document = Document("Oslo is cold.", words=((0, 4), (5, 7), (8, 12), (12, 13)))
    >>> Sentence(document, 0, document.words).tokens
    ['Oslo', 'is', 'cold', '.']
    """

    document: Document
    index: int
    words: tuple[Fragment, ...]

    def __len__(self) -> int:
        return len(self.words)

    @property
    def tokens(self) -> list[str]:
        """The words' texts."""
        text = self.document.text
        return [text[start:end] for start, end in self.words]

    @property
    def start(self) -> int:
        """Where the sentence begins in the document's text."""
        return self.words[0][0]

    @property
    def end(self) -> int:
        """Where the sentence ends in the document's text."""
        return self.words[-1][1]

    @property
    def text(self) -> str:
        """The sentence's characters."""
        return self.document.text[self.start : self.end]

    def span(self, first: int, stop: int) -> Span:
        """The characters of words `first` to `stop`, half-open."""
        return Span.of(self.words[first][0], self.words[stop - 1][1])


def split(document: Document, *, characters: bool = False) -> list[Sentence]:
    """The document's sentences that hold a word: the given ones, or those found in the text."""
    raise NotImplementedError
