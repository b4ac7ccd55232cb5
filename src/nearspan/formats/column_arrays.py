"""Long column files, quickly: a block of lines becomes a few arrays, and no object is made for a word.

A block is read so if it is regular: each line has the same columns, parted by single blanks or tabs, the word is the
first, and the tags of the one label column are plain. What is not regular is left to `conll.py`, which reads the block
line by line.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from nearspan.formats.column_piece import Piece
from nearspan.formats.columns import DOCSTART, Columns
from nearspan.formats.tags import CLOSERS, OPENERS, Chunk, PlainTags, Tag

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Numbers = NDArray[np.int64]
    Flags = NDArray[np.bool_]
    Bytes = NDArray[np.uint8]

_BLANK, _TAB, _NEWLINE, _OUTSIDE = b" \t\nO"
_DOCSTART = DOCSTART.encode()


@dataclass(frozen=True)
class _Lines:
    """Where the words and the tags of a block are, in bytes; a row for each line that is not empty."""

    starts: Numbers  # of the words
    stops: Numbers
    tag_starts: Numbers
    tag_stops: Numbers
    rows: Numbers  # line of the block, from 0
    ends_sentence: Flags

    @classmethod
    def find(cls, data: bytes, layout: Columns) -> _Lines | None:
        """The lines of a block, which ends in a newline; None unless each has the columns of the layout."""
        separator = _TAB if b"\t" in data else _BLANK
        codes = np.frombuffer(data, np.uint8)
        is_end, is_separator = codes == _NEWLINE, codes == separator
        empty = (is_separator[1:] & (is_end | is_separator)[:-1]) | (is_end[1:] & is_separator[:-1])
        if (separator == _TAB and b" " in data) or is_separator[0] or empty.any():
            return None
        ends = np.flatnonzero(is_end)
        begins = np.concatenate([[0], ends[:-1] + 1])
        rows = np.flatnonzero(ends > begins)
        begins, ends = begins[rows], ends[rows]
        separators = np.flatnonzero(is_separator)
        if len(separators) != len(rows) * (layout.size - 1):
            return None
        cells = separators.reshape(len(rows), layout.size - 1)
        if not ((begins < cells[:, 0]) & (cells[:, -1] < ends)).all():
            return None
        label = layout.labels[0]
        tag_stops = cells[:, label] if label < layout.size - 1 else ends
        ends_sentence = np.append(np.diff(rows) > 1, True)[: len(rows)]
        return cls(begins, cells[:, 0], cells[:, label - 1] + 1, tag_stops, rows, ends_sentence)


@dataclass(frozen=True)
class Entities:
    """The entities of a block: the first and last of their words, by number, and the tags of these."""

    first: Numbers
    last: Numbers
    first_tags: Numbers  # numbers in `tags`
    last_tags: Numbers
    tags: Sequence[Tag]
    prefixes: Counter[str]  # of all tags

    @cached_property
    def labels(self) -> list[str]:
        """The label of each."""
        names = [tag.label for tag in self.tags]
        return [names[number] for number in self.first_tags.tolist()]

    def chunks(self, numbers: Numbers) -> Iterator[tuple[int, Chunk]]:
        """Some entities with the numbers of their first words; words count from the beginning of the block."""
        columns = (self.first, self.last, self.first_tags, self.last_tags)
        for first, last, opens, closes in zip(*(column[numbers].tolist() for column in columns), strict=True):
            label, last_prefix = self.tags[opens].label, self.tags[closes].prefix
            yield first, Chunk(first, last + 1, label, self.tags[opens].prefix, last_prefix)

    def suspects(self, scheme: str) -> Numbers:
        """The numbers of those whose tags are wrong under a scheme; all where none is known yet."""
        opens, closes = _kinds(self.tags)
        wrong_first, wrong_last = ~opens[self.first_tags], ~closes[self.last_tags]
        wrong = wrong_first if scheme == "IOB2" else wrong_first | wrong_last
        return np.flatnonzero(wrong) if scheme not in ("", "IOB1") else np.arange(len(wrong) if not scheme else 0)


@dataclass(frozen=True)
class ArrayBlock:
    """A block of a column file: pieces of documents, each but the first behind a -DOCSTART- line."""

    docstarts: list[tuple[int, str]]  # line and text of each
    pieces: list[Piece]
    entities: Entities
    lines: Numbers  # the line of each word
    has_long_sentence: bool  # one of several words

    @classmethod
    def read(cls, text: str, line: int, layout: Columns, plain: PlainTags) -> ArrayBlock | None:
        """A block of whole sentences that begins in a line; None if it has to be read line by line."""
        parts = _take_docstarts(text.encode() + b"\n")
        if parts is None:
            return None
        data, docstarts = parts
        if data.startswith(b"#") or b"\n\n#" in data:
            return None
        lines = _Lines.find(data, layout)
        entities = None if lines is None else _entities(data, lines, plain)
        if lines is None or entities is None:
            return None
        pieces = _pieces(data, lines, entities, [number for number, _ in docstarts], line)
        has_long_sentence = not bool(lines.ends_sentence.all())
        named = [(line + number, docstart) for number, docstart in docstarts]
        return cls(named, pieces, entities, lines.rows + line, has_long_sentence)


def _take_docstarts(data: bytes) -> tuple[bytes, list[tuple[int, str]]] | None:
    """A block with its -DOCSTART- lines made empty, and these by number; None where the word is in other lines."""
    parts: list[bytes] = []
    docstarts: list[tuple[int, str]] = []
    at = number = 0
    while (start := data.find(_DOCSTART, at)) >= 0:
        if (start and data[start - 1] != _NEWLINE) or data[start + len(_DOCSTART)] not in b" \t\n":
            return None
        end = data.index(b"\n", start)
        number += data.count(b"\n", at, start)
        parts.append(data[at:start])
        docstarts.append((number, data[start:end].decode()))
        at = end
    return (b"".join([*parts, data[at:]]) if parts else data), docstarts


def _kinds(tags: Sequence[Tag]) -> tuple[Flags, Flags]:
    """Which tags always begin an entity, and which end one."""
    opens = np.array([tag.prefix in OPENERS for tag in tags], bool)
    return opens, np.array([tag.prefix in CLOSERS for tag in tags], bool)


def _entities(data: bytes, lines: _Lines, plain: PlainTags) -> Entities | None:
    """The entities of the tags other than `O`; None if there is a tag that is not plain."""
    codes = np.frombuffer(data, np.uint8)
    is_outside = (lines.tag_stops - lines.tag_starts == 1) & (codes[lines.tag_starts] == _OUTSIDE)
    inside = np.flatnonzero(~is_outside)
    bounds = zip(lines.tag_starts[inside].tolist(), lines.tag_stops[inside].tolist(), strict=True)
    texts = [data[start:stop] for start, stop in bounds]
    numbers = {text: number for number, text in enumerate(dict.fromkeys(texts))}
    known = [plain[text.decode()] for text in numbers]
    tags = [tag for tag in known if tag is not None]
    if len(tags) < len(known):
        return None
    tag = np.fromiter(map(numbers.__getitem__, texts), np.int64, len(texts))
    opens, closes = _kinds(tags)
    label_numbers = {label: number for number, label in enumerate(dict.fromkeys(each.label for each in tags))}
    label = np.array([label_numbers[each.label] for each in tags], np.int64)[tag]
    # Whether the tag after each one goes on with its entity.
    goes_on = (np.diff(inside) == 1) & ~lines.ends_sentence[inside[:-1]] & (label[1:] == label[:-1])
    goes_on &= ~opens[tag[1:]] & ~closes[tag[:-1]]
    first = np.flatnonzero(np.append(True, ~goes_on)[: len(inside)])
    last = np.flatnonzero(np.append(~goes_on, True)[: len(inside)])
    prefixes: Counter[str] = Counter()
    for each, count in zip(tags, np.bincount(tag).tolist(), strict=True):
        prefixes[each.prefix] += count
    return Entities(inside[first], inside[last], tag[first], tag[last], tags, prefixes)


def _pieces(data: bytes, lines: _Lines, entities: Entities, docstarts: list[int], line: int) -> list[Piece]:
    """The text and the entities of the documents of a block, which begin in some of its lines."""
    codes = np.frombuffer(data, np.uint8)
    step = np.zeros(len(codes) + 1, np.int8)
    step[lines.starts] = 1
    step[lines.stops + 1] = -1
    joined = codes[np.cumsum(step[:-1], dtype=np.int8).view(bool)]  # the words, each with the separator after it
    after = np.cumsum(lines.stops - lines.starts + 1)
    joined[after - 1] = np.where(lines.ends_sentence, _NEWLINE, _BLANK)
    text = joined.tobytes().decode()
    begins, ends = after - (lines.stops - lines.starts + 1), after - 1
    if len(text) < len(joined):  # from bytes to characters
        characters = np.concatenate([[0], np.cumsum((joined & 0xC0) != 0x80)])
        begins, ends = characters[begins], characters[ends]
    bounds = np.concatenate([[0], np.searchsorted(lines.rows, docstarts), [len(lines.rows)]])
    sentences = np.concatenate([[0], np.cumsum(lines.ends_sentence)])[bounds].tolist()
    cuts = np.searchsorted(entities.first, bounds)
    bases = np.append(begins, len(text))[bounds]
    shift = np.repeat(bases[:-1], np.diff(cuts))
    starts = (begins[entities.first] - shift).tolist()
    stops = (ends[entities.last] - shift).tolist()
    numbers = (lines.rows[entities.first] + line).tolist()
    widths = (entities.last - entities.first + 1).tolist()
    labels = entities.labels
    pieces: list[Piece] = []
    rows = zip(pairwise(bounds.tolist()), pairwise(bases.tolist()), pairwise(cuts.tolist()), strict=True)
    for number, ((first, stop), (base, limit), (a, b)) in enumerate(rows):
        count = sentences[number + 1] - sentences[number]
        columns = starts[a:b], stops[a:b], labels[a:b], numbers[a:b], widths[a:b]
        pieces.append(Piece(text[base : max(limit - 1, base)], stop - first, count, *columns))
    return pieces
