"""Long files of plain JSON lines, quickly: a block of lines is checked as a whole, and no object made for an entity.

A block is plain if each line is an object of a text, its entities and perhaps an id, and each entity is `start`, `end`
and `label` alone, contiguous and in order. Nothing can be wrong in it then. What is not plain is left to
`json_values.py`, which reads the block line by line.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain, repeat
from typing import TYPE_CHECKING, Any

from nearspan.document import Document, Entity, Span
from nearspan.formats.corpus import Place, clean_label
from nearspan.formats.document_stream import Block, Placed, without_collection
from nearspan.formats.source import Source

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Numbers = NDArray[np.int64]

_scan: Callable[[str, int], tuple[Any, int]] = json.JSONDecoder().scan_once  # type: ignore[attr-defined]
_AT_ONCE = 128  # lines whose objects are held; those of more leave the processor's cache


@dataclass(frozen=True)
class PlainBlock(Block):
    """Documents of some lines: their texts and ids, and the entities of all of them, one after another."""

    source: Source
    line: int
    texts: Sequence[str]
    ids: Sequence[str]
    counts: Sequence[int]  # of the entities of each
    starts: Numbers
    ends: Numbers
    labels: Sequence[str]

    @classmethod
    def of(cls, source: Source, text: str, line: int, number: int) -> PlainBlock | None:
        """The lines of a text, of which the first is a document with a number; None if not all are plain."""
        if "\t" in text or "\r" in text or ("\\" in text and ("\\ud" in text or "\\uD" in text)):
            return None
        lines = text.split("\n")
        block = _Lines()
        with without_collection():
            if not all(block.add(lines[first : first + _AT_ONCE]) for first in range(0, len(lines), _AT_ONCE)):
                return None
        arrays = block.check()
        if arrays is None or not block.has_keys_once(text):
            return None
        ids = block.ids or [f"{source.file}#{at}" for at in range(number, number + len(lines))]
        source.count(len(block.labels))
        return cls(source, line, block.texts, ids, block.counts, *arrays, block.labels)

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def entity_count(self) -> int:
        """How many entities there are."""
        return len(self.labels)

    def __iter__(self) -> Iterator[Placed]:
        """The documents with their places, whose entities are made when they are asked for."""
        return self.documents(range(len(self.texts)))

    def documents(self, indexes: Iterable[int]) -> Iterator[Placed]:
        """Some of the documents."""
        firsts = [0, *accumulate(self.counts)]
        for index in indexes:
            contents = PlainLine(self, index, firsts[index], self.counts[index])
            yield Document.defer(self.texts[index], self.ids[index], contents), contents.place


class PlainLine:
    """The entities of one of the lines of a block."""

    __slots__ = ("block", "entity_count", "first", "index")

    def __init__(self, block: PlainBlock, index: int, first: int, count: int) -> None:
        self.block, self.index, self.first, self.entity_count = block, index, first, count

    def place(self) -> Place:
        """Where it was read; its entities are all in its line."""
        return Place(self.block.source.name, self.block.line + self.index)

    def entities(self, text: str) -> tuple[Entity, ...]:
        """The entities."""
        these = slice(self.first, self.first + self.entity_count)
        starts, ends = self.block.starts[these].tolist(), self.block.ends[these].tolist()
        places = zip(starts, ends, self.block.labels[these], strict=True)
        return tuple(Entity(Span(((start, end),)), label, None, text[start:end]) for start, end, label in places)

    def words(self, text: str) -> None:
        """None, as it gives no words."""

    def sentences(self, text: str) -> None:
        """None, as it gives no sentences."""


class _Lines:
    """What some lines hold, gathered from a few of them at a time."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.ids: list[str] = []
        self.counts: list[int] = []
        self.labels: list[str] = []
        self.starts: list[Numbers] = []
        self.ends: list[Numbers] = []
        self.keys = 0  # of all objects

    def add(self, lines: list[str]) -> bool:
        """Take lines; whether each is an object of text, entities and perhaps an id, all of the right types."""
        import numpy as np  # which short files do not wait for

        try:
            records, ends_of_lines = zip(*map(_scan, lines, repeat(0)), strict=True)
            [size] = set(map(len, records))
            texts = [record["text"] for record in records]
            lists = [record["entities"] for record in records]
            ids = [record["id"] for record in records] if size == 3 else []
            entities = list(chain.from_iterable(lists))
            starts = [entity["start"] for entity in entities]
            ends = [entity["end"] for entity in entities]
            labels = [entity["label"] for entity in entities]
            arrays = np.fromiter(starts, np.int64, len(starts)), np.fromiter(ends, np.int64, len(ends))
        except (ValueError, StopIteration, RecursionError, LookupError, TypeError, OverflowError):
            return False
        self.keys += size * len(records) + 3 * len(entities)
        self.texts += texts
        self.ids += ids
        self.counts += map(len, lists)
        self.labels += labels
        self.starts.append(arrays[0])
        self.ends.append(arrays[1])
        return (
            size in (2, 3)
            and ends_of_lines == tuple(map(len, lines))
            and len(self.ids) in (0, len(self.texts))
            and _are(dict, records, entities)
            and _are(list, lists)
            and _are(str, texts, ids, labels)
            and _are(int, starts, ends)
            and set(map(len, entities)) <= {3}
        )

    def check(self) -> tuple[Numbers, Numbers] | None:
        """The starts and ends of entities; None unless they are right and, within a document, in order."""
        import numpy as np

        if any(not label or clean_label(label) != label for label in set(self.labels)):
            return None
        starts, ends = np.concatenate(self.starts), np.concatenate(self.ends)
        document = np.repeat(np.arange(len(self.texts)), self.counts)
        sizes = np.fromiter(map(len, self.texts), np.int64, len(self.texts))
        is_right = (starts >= 0) & (starts < ends) & (ends <= sizes[document])
        is_later = (starts[1:] > starts[:-1]) | ((starts[1:] == starts[:-1]) & (ends[1:] > ends[:-1]))
        is_right[1:] &= is_later | (document[1:] != document[:-1])
        return (starts, ends) if is_right.all() else None

    def has_keys_once(self, text: str) -> bool:
        """Whether it is sure that no object of a text has a key twice: there are as many colons as keys are known.

        Where there are more, as in texts, those behind quotes count, if none is behind a quote and a blank.
        """
        if text.count(":") == self.keys:
            return True
        return text.count('":') == self.keys and '" :' not in text and "  :" not in text


def _are(kind: type, *several: Iterable[Any]) -> bool:
    return all(set(map(type, values)) <= {kind} for values in several)
