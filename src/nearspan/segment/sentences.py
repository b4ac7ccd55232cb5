"""Sentences: the unit that models read."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from operator import itemgetter

from nearspan.document import Document, Fragment, Span
from nearspan.segment.boundaries import boundaries
from nearspan.segment.words import words


@dataclass(frozen=True, slots=True, eq=False)
class Sentence:
    """A view of some consecutive words of a document, or of the pieces that a tokenizer makes of them.

    >>> document = Document("Oslo is cold.", words=((0, 4), (5, 7), (8, 12), (12, 13)))
    >>> Sentence(document, 0, document.words).tokens
    ['Oslo', 'is', 'cold', '.']
    """

    document: Document
    index: int
    words: tuple[Fragment, ...]
    around: Sequence[Sentence] = field(default=(), repr=False)  # the document's sentences in order, this one included
    wholes: tuple[Fragment, ...] | None = field(default=None, repr=False)  # of each word, where `words` are pieces

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

    @property
    def unit(self) -> str:
        """What `words` are."""
        return "words" if self.wholes is None else "pieces"

    @property
    def runs(self) -> Sequence[Fragment]:
        """For each whole word which of `words` it is made of, half-open."""
        return [(i, i + 1) for i in range(len(self.words))] if self.wholes is None else self.wholes

    @property
    def starts(self) -> dict[int, int]:
        """By the character at which a whole word begins, which of `words` that is."""
        return {self.words[first][0]: first for first, _ in self.runs}

    @property
    def stops(self) -> dict[int, int]:
        """By the character at which a whole word ends, one past its last of `words`."""
        return {self.words[stop - 1][1]: stop for _, stop in self.runs}

    def part(self, first: int, stop: int) -> Sentence:
        """Some whole words as a sentence of their own, with nothing around."""
        words, wholes = self.words[first:stop], self.wholes
        if wholes is not None:
            inside = slice(*(bisect_left(wholes, edge, key=itemgetter(0)) for edge in (first, stop)))
            wholes = tuple((a - first, b - first) for a, b in wholes[inside])
        return Sentence(self.document, self.index, words, wholes=wholes)

    def span(self, first: int, stop: int) -> Span:
        """The characters of words `first` to `stop`, half-open."""
        return Span.of(self.words[first][0], self.words[stop - 1][1])

    def span_of(self, fragments: Iterable[Fragment]) -> Span:
        """The characters of several runs of words."""
        return Span(tuple((self.words[first][0], self.words[stop - 1][1]) for first, stop in fragments))


def split(document: Document, *, characters: bool = False) -> list[Sentence]:
    """The document's sentences that hold a word: the given ones, or those found in the text.

    Given words and sentences are kept; what is not given is found by `words` and `boundaries`. No word
    is lost: words outside the given sentences make sentences of their own, and a given word belongs
    to the sentence in which it begins.

    >>> [sentence.text for sentence in split(Document("It was Dr. Who. He left."))]
    ['It was Dr. Who.', 'He left.']
    >>> split(Document("北京 很大"), characters=True)[0].tokens
    ['北', '京', '很', '大']
    """
    text = document.text
    if document.sentences is None:
        inner = boundaries(text)
    else:
        inner = sorted({edge for sentence in document.sentences for edge in sentence})
    edges = [0, *(edge for edge in inner if 0 < edge < len(text)), len(text)]
    groups: list[tuple[Fragment, ...]]
    if document.words is not None:
        starts = [start for start, _ in document.words]
        cuts = [0, *(bisect_left(starts, edge) for edge in edges[1:-1]), len(starts)]
        groups = [document.words[first:stop] for first, stop in pairwise(cuts)]
    else:
        groups = [
            tuple((start + first, start + last) for first, last in words(text[start:end], characters))
            for start, end in pairwise(edges)
        ]
    sentences: list[Sentence] = []
    sentences.extend(Sentence(document, index, group, sentences) for index, group in enumerate(filter(None, groups)))
    return sentences


def document_blocks(
    documents: Iterable[Document], split: Callable[[Document], list[Sentence]], most: int
) -> Iterator[list[tuple[Document, list[Sentence]]]]:
    """Documents with their sentences, some at a time: so many that they have `most` words or more.

    >>> texts = ("It rains.", "It snows.", "It is cold.")
    >>> [len(block) for block in document_blocks(map(Document, texts), split, 6)]
    [2, 1]
    """
    block, size = [], 0
    for document in documents:
        sentences = split(document)
        block.append((document, sentences))
        size += sum(map(len, sentences))
        if size >= most:
            yield block
            block, size = [], 0
    if block:
        yield block
