"""CoNLL columns: one word a line, a blank line after a sentence, labels as chunk tags in the last columns.

The text of a document is its words joined by blanks and its sentences joined by newlines. Lines with a tab
are split at tabs, others at blanks. A `-DOCSTART-` line begins a document; a file without one is one
document. A line before a sentence that begins with # and does not end in a tag is a comment, unless it has the
columns of a word: as many as most lines, and a tab or no blank after the #. `Columns` says which columns hold labels.

Written are tabs, IOB2, and as many label columns as the nesting needs, innermost first.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryFile
from typing import TextIO

from nearspan.document import Document, Fragment
from nearspan.formats.column_documents import Begun, ColumnReader
from nearspan.formats.column_piece import Piece
from nearspan.formats.columns import (
    DOCSTART,
    MOST_LAYERS,
    NO_ID,
    Columns,
    detect,
    read_blocks,
)
from nearspan.formats.corpus import Corpus, Problem, excerpt
from nearspan.formats.document_stream import Readable, Stream
from nearspan.formats.draft import Draft
from nearspan.formats.format import (
    ATTRIBUTES,
    Format,
    count_attributes,
    count_scores,
    list_changes,
    unwritable,
)
from nearspan.formats.grid import WordGrid
from nearspan.formats.source import Line, Source
from nearspan.formats.tags import parse_all
from nearspan.io.atomic import descriptor, name_in_errors, resolve_target, write_file

_SAMPLE = 1 << 19  # characters of a long file by which its columns are found

_AT_ONCE = 1 << 16  # characters that are written at once
_REFUSED = re.compile(rf"[\t\n\r]|{DOCSTART}")  # in words

_unwritable = partial(unwritable, format="CoNLL columns")


def read(source: Source, columns: Sequence[int] | None = None) -> Iterator[Readable]:
    """Read column text; `columns` names the label columns, counted from 0 or, if negative, from the end."""
    parts: Iterator[Begun | Draft | Piece]
    if source.is_long:
        sample = Source(source.path, source.sample[:_SAMPLE].rpartition("\n\n")[0] or source.sample)
        reader = ColumnReader(source, Columns.detect(read_blocks(sample.lines, sample), columns, source.name))
        parts = (part for line, text in _whole_sentences(source.blocks()) for part in reader.read_text(text, line))
    else:
        blocks = read_blocks(source.lines, source)
        reader = ColumnReader(source, Columns.detect(blocks, columns, source.name))
        parts = reader.read_blocks(blocks)
    begun: Begun | None = None
    number = 0
    for part in parts:
        if isinstance(part, Begun):
            if begun is not None:
                number += 1
                yield begun.finish(f"{source.file}#{number}", source)
            begun = part
        else:
            begun = begun or Begun("", reader.first_line or 1)
            begun.parts.append(part)
    if begun is not None:
        yield begun.finish(f"{source.file}#{number + 1}" if number else source.file, source)
    reader.finish()
    source.problems.sort(key=lambda problem: problem.line)


def _whole_sentences(blocks: Iterable[Line]) -> Iterator[Line]:
    """Blocks of lines cut at empty lines, where sentences end."""
    start, rest = 1, ""
    for line, block in blocks:
        start, text = (start, f"{rest}\n{block}") if rest else (line, block)
        head, empty, rest = text.rpartition("\n\n")
        if empty:
            yield start, head
            start += head.count("\n") + 2
    if rest:
        yield start, rest


def write(documents: Corpus | Stream, path: Path) -> tuple[Problem, ...]:
    """Write documents as columns; the problems returned are what the format could not keep.

    A word is cut where an entity begins or ends inside it, two sentences become one where an entity spans both, and
    entities of the same words and label become one. Discontinuous entities do not fit into this format: they raise a
    CorpusError and nothing is written. How many label columns there are is known at the end, so the rows wait in a file
    without a name.
    """
    changes: Counter[str] = Counter()
    lost_ids = {True: 0, False: 0}  # by whether there are -DOCSTART- lines
    count = words = 0
    depths: set[int] = set()
    with name_in_errors(path), TemporaryFile("w+", encoding="utf-8", newline="\n", dir=_scratch_folder(path)) as rows:
        for document in documents:
            grid = _Grid.of(document)
            if len(grid.layers) > MOST_LAYERS:
                raise _unwritable(document, f"its entities need {len(grid.layers)} layers, more than {MOST_LAYERS}")
            rows.write(_rows(grid))
            count, words = count + 1, words + len(grid.words)
            depths.add(len(grid.layers))
            changes.update(grid.changes)
            changes["scores not kept"] += count_scores([document])
            changes[ATTRIBUTES] += count_attributes([document])
            for docstarts in lost_ids:
                lost_ids[docstarts] += _loses_id(document, docstarts, path.name)
        has_docstarts = count != 1 or documents.docstarts > 0 or not words
        rows.seek(0)
        is_ready = has_docstarts and len(depths) == 1
        write_file(path, _blocks(rows) if is_ready else _columns(rows, max(depths, default=1), has_docstarts))
    changes["document ids not kept"] = lost_ids[has_docstarts]
    return list_changes(path, changes)


@dataclass(frozen=True)
class _Grid:
    """A document as columns: its words, where its sentences begin, the tags of each layer, and what was changed."""

    document: Document
    words: list[Fragment]
    begins: list[int]
    layers: list[list[str]]
    changes: dict[str, int]

    @classmethod
    def of(cls, document: Document) -> _Grid:
        """Lay a document out in columns.

        >>> from nearspan.formats.markup import parse
        >>> _Grid.of(parse("[University of [Oslo](PLACE)](ORG)")).layers
        [['O', 'O', 'B-PLACE'], ['B-ORG', 'I-ORG', 'I-ORG']]
        """
        grid = WordGrid.of(document, "CoNLL columns")
        _refuse_words(document, grid.words)
        for _, _, entity in grid.entities:
            if len(parse_all(f"B-{entity.label}")) > 1:
                raise _unwritable(document, f"the label {excerpt(entity.label)} would be read as several")
        entities = [(first, stop, entity.label) for first, stop, entity in grid.entities]
        layers = _layers(entities, len(grid.words)) or [["O"] * len(grid.words)]
        return cls(document, grid.words, grid.begins, layers, grid.changes)


def _loses_id(document: Document, docstarts: bool, name: str) -> bool:
    """Whether a document that has an id has another when it is read again."""
    if not docstarts:
        return document.id not in ("", name)
    return bool(document.id) and (" ".join(document.id.split()) != document.id or NO_ID.issuperset(document.id.split()))


def _layers(entities: Iterable[tuple[int, int, str]], size: int) -> list[list[str]]:
    """Tags by layer: an entity lies in the first one that is free above all those inside it."""
    layers: list[list[str]] = []
    owners: list[list[Fragment | None]] = []  # by layer, whose each word is
    for first, stop, label in sorted(entities, key=lambda entity: (entity[1] - entity[0], entity)):
        layer = len(layers)
        while layer and not _covers(first, stop, owners[layer - 1]):
            layer -= 1
        while layer < len(layers) and any(owners[layer][first:stop]):
            layer += 1
        if layer == len(layers):
            layers.append(["O"] * size)
            owners.append([None] * size)
        layers[layer][first:stop] = [f"B-{label}"] + [f"I-{label}"] * (stop - first - 1)
        owners[layer][first:stop] = [(first, stop)] * (stop - first)
    return layers


def _covers(first: int, stop: int, owners: list[Fragment | None]) -> bool:
    """Whether an entity of a layer lies within the words `first` to `stop`."""
    return any(owner is not None and first <= owner[0] and owner[1] <= stop for owner in owners[first:stop])


def _scratch_folder(path: Path) -> Path | None:
    """Where as much fits as will be written; None where a pipe or an open file is written to."""
    target = resolve_target(path)
    return target.parent if descriptor(path) is None and (target.is_file() or not target.exists()) else None


def _rows(grid: _Grid) -> str:
    """A -DOCSTART- line and the words of a document, with as many label columns as it needs itself."""
    text, layers = grid.document.text, grid.layers
    lines = ["\t".join((text[start:end], *tags)) for (start, end), *tags in zip(grid.words, *layers, strict=True)]
    for begin in grid.begins[1:]:
        lines[begin] = "\n" + lines[begin]
    first = f"{DOCSTART} {' '.join(grid.document.id.split())}".rstrip() + "\tO" * len(layers)
    return "\n".join([first, "", *lines, "", ""] if lines else [first, "", ""])


def _blocks(rows: TextIO) -> Iterator[str]:
    """A file of rows, some at a time."""
    while block := "".join(rows.readlines(_AT_ONCE)):
        yield block


def _columns(rows: TextIO, depth: int, docstarts: bool) -> Iterator[str]:
    """Rows with as many label columns as all documents need; a file of one document may be without its first line."""
    after_docstart = False
    while some := rows.readlines(_AT_ONCE):
        lines: list[str] = []
        for row in some:
            is_docstart = row.startswith(DOCSTART)
            if docstarts or not (is_docstart or after_docstart):
                lines.append(row if row == "\n" else row[:-1] + "\tO" * (depth - row.count("\t")) + "\n")
            after_docstart = is_docstart
        yield "".join(lines)


def _refuse_words(document: Document, words: Iterable[Fragment]) -> None:
    """Refuse words that would be read as something else; cutting may have made them."""
    if not _REFUSED.search(document.text):
        return
    for start, end in words:
        word = document.text[start:end]
        if "\t" in word or "\n" in word or "\r" in word:
            raise _unwritable(document, f"the word {excerpt(word)} holds a tab or a line end")
        if word.startswith(DOCSTART):
            raise _unwritable(document, f"the word {excerpt(word)} begins with {DOCSTART}")


FORMAT = Format(
    "conll",
    read,
    detect,
    write,
    endings=(".conll", ".iob", ".iob2", ".bio", ".tsv"),
    columns=True,
    discontinuous=False,
    streams=True,
)
