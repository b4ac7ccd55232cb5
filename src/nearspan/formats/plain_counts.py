"""Words, sentences and widths of plain blocks, counted without making them.

A text is counted here if it is of ASCII on one line, and no full stop, comma or apostrophe stands between letters or
digits: then words are runs of letters and digits, runs of one repeated mark, and other marks each alone, as `segment`
has them. The documents of other texts, and of entities that overlap or cut a word, are given back.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import compress
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nearspan.formats.document_stream import Block, Placed
from nearspan.formats.plain_block import PlainBlock
from nearspan.segment import ends_sentence

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Numbers = NDArray[np.int64]
    Flags = NDArray[np.bool_]

_SPACE = re.compile(r"\s*")
_REPEATED = ".!?-_=*~"  # of which the first three end sentences
_CLOSERS = '")]}'

# Kinds of characters: those of one number belong together where they stand in a row, but for `_SINGLE` and above.
_BLANK, _BREAK, _INNER, _STOP = range(4)
_LAST_STOP = _STOP + 2
_SINGLE = _STOP + len(_REPEATED)
_COMMA, _CLOSER, _APOSTROPHE = range(_SINGLE + 1, _SINGLE + 4)


def _kind(character: str) -> int:
    if character.isspace():
        return _BLANK if character in " \t" else _BREAK
    if character.isalnum():
        return _INNER
    if character in _REPEATED:
        return _STOP + _REPEATED.index(character)
    if character < " " or character == "'":
        return _APOSTROPHE  # what is left to `segment`
    return _COMMA if character == "," else _CLOSER if character in _CLOSERS else _SINGLE


_KINDS = bytes(_kind(chr(code)) if code < 128 else _APOSTROPHE for code in range(256))


class PlainCounts(NamedTuple):
    """What was counted of a block, and the documents that were not."""

    documents: int
    sentences: int
    tokens: int
    labels: Iterable[str]  # of the entities
    widths: dict[int, int]
    rest: Iterator[Placed]


def count_block(block: Block) -> PlainCounts:
    """Count the documents of a block."""
    if not isinstance(block, PlainBlock) or not len(block):
        return PlainCounts(0, 0, 0, (), {}, iter(block))
    texts = _Texts(block)
    document, width, is_right = texts.entities(block)
    is_rest = texts.irregular()
    is_rest[document[~is_right]] = True
    kept = ~is_rest
    chosen, words = kept[document], texts.word_counts[kept]
    return PlainCounts(
        documents=int(kept.sum()),
        sentences=int((words > 0).sum()) + texts.inner_edges(block, kept),
        tokens=int(words.sum()),
        labels=block.labels if chosen.all() else compress(block.labels, chosen.tolist()),
        widths={size: count for size, count in enumerate(np.bincount(width[chosen]).tolist()) if count},
        rest=block.documents(np.flatnonzero(is_rest).tolist()),
    )


class _Texts:
    """The texts of a block as one, a line each, and where its words are."""

    def __init__(self, block: PlainBlock) -> None:
        texts: Sequence[str] = block.texts
        self.is_ascii = np.ones(len(block), bool)
        if not (joined := "\n".join(texts)).isascii():
            self.is_ascii = np.fromiter(map(str.isascii, texts), bool, len(texts))
            texts = [text if text.isascii() else "" for text in texts]
            joined = "\n".join(texts)
        data = f"\n{joined}\n".encode("ascii")
        sizes = np.fromiter(map(len, texts), np.int64, len(texts))
        self.begins = np.concatenate([[1], 1 + np.cumsum(sizes + 1)])  # of the texts, and of one after the last
        self.kinds = np.frombuffer(data.translate(_KINDS), np.uint8)
        is_edge = (self.kinds[1:] != self.kinds[:-1]) | (self.kinds[1:] >= _SINGLE)
        is_word = self.kinds > _BREAK
        self.is_start, self.is_end = is_edge & is_word[1:], is_edge & is_word[:-1]  # of words; from the second place on
        self.starts = np.flatnonzero(self.is_start) + 1
        self.word_counts = np.diff(np.searchsorted(self.starts, self.begins))

    def irregular(self) -> Flags:
        """Which texts have to be read by `segment`."""
        kinds, inner = self.kinds, self.kinds == _INNER
        is_left = (kinds == _BREAK) | (kinds == _APOSTROPHE)
        is_left[self.begins - 1] = False
        is_left[1:-1] |= inner[:-2] & inner[2:] & ((kinds == _STOP) | (kinds == _COMMA))[1:-1]
        is_irregular = ~self.is_ascii
        is_irregular[self.text_of(np.flatnonzero(is_left))] = True
        return is_irregular

    def text_of(self, places: Numbers) -> Numbers:
        """The texts that some places are in."""
        return np.searchsorted(self.begins, places, "right") - 1

    def entities(self, block: PlainBlock) -> tuple[Numbers, Numbers, Flags]:
        """The text of each entity, its width in words, and whether it is one of whole words, behind the one before."""
        document = np.repeat(np.arange(len(block)), block.counts)
        last = len(self.is_start)  # texts that are left out are empty here
        start, end = (np.minimum(places + self.begins[document], last) for places in (block.starts, block.ends))
        is_right = self.is_start[start - 1] & self.is_end[end - 1]
        width = np.searchsorted(self.starts, end) - np.searchsorted(self.starts, start)
        is_right[1:] &= (end[:-1] <= start[1:]) | (document[1:] != document[:-1])
        return document, width, is_right

    def inner_edges(self, block: PlainBlock, kept: Flags) -> int:
        """How many sentences end in some texts before a word."""
        before, after = self.kinds[:-1], self.kinds[1:]
        is_gap = (((before >= _STOP) & (before <= _LAST_STOP)) | (before == _CLOSER)) & (after == _BLANK)
        gaps = np.flatnonzero(is_gap) + 1
        texts = self.text_of(gaps)
        inside = kept[texts] & (gaps + 1 < self.begins[texts + 1])
        edges = 0
        for gap, index in zip((gaps - self.begins[texts])[inside].tolist(), texts[inside].tolist(), strict=True):
            text = block.texts[index]
            end = _SPACE.match(text, gap).end()  # type: ignore[union-attr]
            edges += end < len(text) and ends_sentence(text, gap, end)
        return edges
