"""Documents of column files: sentences become drafts, or pieces of arrays, and these become documents."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate, count, zip_longest
from operator import add, itemgetter
from typing import TYPE_CHECKING

from nearspan.document import Document, Entity, Fragment
from nearspan.formats.column_piece import Piece
from nearspan.formats.columns import Block, Columns, Rows, read_blocks, read_docstart, wrong_numbers
from nearspan.formats.corpus import Place, excerpt
from nearspan.formats.document_stream import Readable
from nearspan.formats.draft import Draft
from nearspan.formats.source import Source
from nearspan.formats.tags import (
    OUTSIDE,
    Chunk,
    PlainTags,
    SequenceCheck,
    Tag,
    chunks,
    count_entities,
    layers,
    parse_all,
)

if TYPE_CHECKING:
    from nearspan.formats.column_arrays import ArrayBlock


@dataclass
class Begun:
    """A document in the making: its id, its first line, and its sentences so far."""

    id: str
    line: int
    parts: list[Draft | Piece] = field(default_factory=list)

    def finish(self, name: str, source: Source) -> Readable:
        """The document; `name` is its id if it has none."""
        pieces = [part for part in self.parts if isinstance(part, Piece)]
        if pieces and len(pieces) == len(self.parts):
            return _Joined(Piece.join(pieces), source, self.line, self.id or name)
        if len(self.parts) == 1 and isinstance(self.parts[0], Draft):
            self.parts[0].id, self.parts[0].line = self.id or name, self.line
            return self.parts[0]
        whole = Draft("", source, self.line, id=self.id or name, words=[], sentences=[])
        for part in self.parts:
            whole.append(part if isinstance(part, Draft) else _to_draft(part, source))
        return whole


@dataclass(frozen=True)
class _Joined:
    """A document that was read as arrays."""

    piece: Piece
    source: Source
    line: int
    id: str

    def document(self) -> Document:
        """The document, whose entities and words are made when they are asked for."""
        return self._document

    def place(self) -> Place:
        """Where it was read."""
        return Place(self.source.name, self.line, _Lines(self._document, self.piece.lines))

    @cached_property
    def _document(self) -> Document:
        return Document.defer(self.piece.text, self.id, self.piece)


class _Lines(Mapping[Entity, int]):
    """The lines of a document's entities."""

    def __init__(self, document: Document, lines: Sequence[int]) -> None:
        self._document, self._numbers = document, lines

    @cached_property
    def _lines(self) -> dict[Entity, int]:
        return dict(zip(self._document.entities, self._numbers, strict=True))

    def __getitem__(self, entity: Entity) -> int:
        return self._lines[entity]

    def __iter__(self) -> Iterator[Entity]:
        return iter(self._lines)

    def __len__(self) -> int:
        return len(self._numbers)


class ColumnReader:
    """Makes parts of documents of blocks of lines; `finish` is called when all have been read."""

    def __init__(self, source: Source, layout: Columns) -> None:
        self.source, self.layout = source, layout
        self._plain = [PlainTags(layer in layout.bare) for layer in range(max(len(layout.labels), 1))]
        self._sequences = SequenceCheck()
        self.first_line: int | None = None
        self._prefixes: set[str] = set()
        self._has_long_sentence = False

    def read_text(self, text: str, line: int) -> Iterator[Begun | Draft | Piece]:
        """A block of whole sentences that begins in a line: as arrays if it is regular, otherwise line by line."""
        arrays = self._read_arrays(text, line) if self._may_be_arrays else None
        if arrays is None:
            yield from self.read_blocks(read_blocks(text.split("\n"), self.source, line, self.layout.size))
            return
        self._add_tags(arrays)
        if arrays.pieces[0].word_count:
            self._begin(line)
            yield arrays.pieces[0]
        for (number, docstart), piece in zip(arrays.docstarts, arrays.pieces[1:], strict=True):
            self._begin(number)
            self.source.docstarts += 1
            yield Begun(read_docstart(docstart, number, self.source), number)
            yield piece

    def read_blocks(self, blocks: Iterable[Block]) -> Iterator[Begun | Draft]:
        """Documents, or parts of them, as their lines were parted."""
        for block in blocks:
            self._begin(block.line)
            if block.is_begun:
                self.source.docstarts += 1
                yield Begun(block.id, block.line)
            draft = _draft(block, self.layout, self.source)
            self._add_entities(block, draft)
            yield draft

    def finish(self) -> None:
        """List what could be known only once all was read."""
        self._sequences.finish()
        if not self._has_long_sentence and (tails := self._prefixes & {"I", "M", "E", "L"}):
            message = f"each sentence has one word, but there are tags that go on ({', '.join(sorted(tails))})"
            line = self.first_line or 0
            self.source.add_problem("malformed", f"{message}; take out blank lines between words", line)

    @property
    def _may_be_arrays(self) -> bool:
        return self.layout.word == 0 and len(self.layout.labels) == 1 and self.layout.size > 1

    def _read_arrays(self, text: str, line: int) -> ArrayBlock | None:
        from nearspan.formats.column_arrays import ArrayBlock  # needs numpy, which short files do not wait for

        return ArrayBlock.read(text, line, self.layout, self._plain[0])

    def _begin(self, line: int) -> None:
        """Remember the first line; bare labels are listed there."""
        if self.first_line is None:
            self.first_line = line
            if self.layout.bare:
                message = "labels without B- or I-: words in a row with the same label are read as one entity"
                self.source.add_problem("no prefix", message, line)

    def _add_tags(self, block: ArrayBlock) -> None:
        """Count the entities of a block, and list those whose tags are wrong."""
        entities = block.entities
        self.source.count(len(entities.first))
        self._has_long_sentence |= block.has_long_sentence
        self._prefixes |= entities.prefixes.keys()
        self._sequences.count(entities.prefixes)
        for word, chunk in entities.chunks(entities.suspects(self._sequences.scheme)):
            self._list_sequence(chunk, int(block.lines[word]))

    def _add_entities(self, block: Block, draft: Draft) -> None:
        """Read the label columns of sentences, and add their entities to the draft."""
        words, first = draft.words or (), 0
        for sentence in block.sentences:
            self._has_long_sentence |= len(sentence.rows) > 1
            for layer, texts in enumerate(_columns(sentence, self.layout)):
                if texts.count("O") == len(texts):
                    continue
                tags = self._plain[layer].of(texts)
                for row in [tags] if tags else _tag_rows(texts, sentence, self.layout, draft, layer):
                    prefixes = [tag.prefix for tag in row if tag.label]
                    self.source.count(count_entities(row))
                    self._prefixes.update(prefixes)
                    self._sequences.count(prefixes)
                    for chunk in chunks(row):
                        number = sentence.line + chunk.first
                        self._list_sequence(chunk, number)
                        fragment = (words[first + chunk.first][0], words[first + chunk.stop - 1][1])
                        draft.add([fragment], chunk.label, number)
            first += len(sentence.rows)

    def _list_sequence(self, chunk: Chunk, line: int) -> None:
        """List an entity whose tags are wrong."""
        self._sequences.add(chunk, lambda message: self.source.add_problem("bad sequence", message, line))


def _to_draft(piece: Piece, source: Source) -> Draft:
    """A piece in the form that can be joined to what is no piece."""
    text = piece.text
    draft = Draft(text, source, 0, id="", words=piece.words(text), sentences=piece.sentences(text))
    for start, end, label, line in zip(piece.starts, piece.ends, piece.labels, piece.lines, strict=True):
        draft.add([(start, end)], label, line)
    return draft


def _draft(block: Block, layout: Columns, source: Source) -> Draft:
    words: list[Fragment] = []
    sentences: list[Fragment] = []
    lines: list[str] = []
    start = 0
    word = itemgetter(layout.word)
    for sentence in block.sentences:
        is_plain = sentence.size == layout.size > 1
        tokens = list(map(word, sentence.rows)) if is_plain else _words(sentence, layout, source)
        if layout.word:
            _list_wrong_number(sentence, layout, source)
        ends = list(map(add, accumulate(map(len, tokens)), count(start)))
        words += zip([start, *[end + 1 for end in ends[:-1]]], ends, strict=True)
        sentences.append((start, ends[-1]))
        lines.append(" ".join(tokens))
        start = ends[-1] + 1
    return Draft("\n".join(lines), source, block.line, id=block.id, words=words, sentences=sentences)


def _list_wrong_number(sentence: Rows, layout: Columns, source: Source) -> None:
    wrong = wrong_numbers(sentence.rows, layout.size)
    if wrong:
        message = f"the word number {excerpt(sentence.rows[wrong[0]][0])} does not go on counting the sentence from 1"
        source.add_problem("malformed", f"{message}; its words are kept", sentence.line + wrong[0])


def _words(sentence: Rows, layout: Columns, source: Source) -> list[str]:
    """The words of a sentence; what is wrong in its lines is listed."""
    tokens: list[str] = []
    for number, cells in enumerate(sentence.rows, sentence.line):
        if len(cells) != layout.size or len(cells) < 2:
            message = f"{len(cells)} columns where the file has {layout.size}: {excerpt(' '.join(cells[:8]))}"
            message = message if len(cells) > 1 else f"the word {excerpt(cells[0])} has no tag"
            source.add_problem("malformed", message, number)
        word = cells[layout.word] if layout.word < len(cells) else cells[0]
        if not word:
            message = f"the line has no word before its tag {excerpt(cells[-1])}; read as U+FFFD"
            source.add_problem("malformed", message, number)
        elif word[0] == " " or word[-1] == " ":
            source.add_problem("malformed", f"the word {excerpt(word)} begins or ends with a blank; kept", number)
        tokens.append(word or "\ufffd")
    return tokens


def _columns(sentence: Rows, layout: Columns) -> list[tuple[str, ...]]:
    """The tags of a sentence by layer."""
    if sentence.size == layout.size:
        return [tuple(map(itemgetter(index), sentence.rows)) for index in layout.labels]
    return list(zip_longest(*map(layout.tags, sentence.rows), fillvalue=""))


def _tag_rows(texts: tuple[str, ...], sentence: Rows, layout: Columns, draft: Draft, layer: int) -> list[list[Tag]]:
    """The tags of a column whose words may have several, or none."""
    rows = enumerate(sentence.rows, sentence.line)
    is_bare = layer in layout.bare
    return layers([_tags_of(text, *row, layout, draft, is_bare) for text, row in zip(texts, rows, strict=True)])


def _tags_of(text: str, number: int, cells: list[str], layout: Columns, draft: Draft, bare: bool) -> tuple[Tag, ...]:
    """The tags of a word; what is none is listed as lost, and what is read otherwise than it is written is listed."""
    tags = parse_all(text, bare)
    if not tags and (text or len(cells) == layout.size > 1):
        lost = any(map(str.isalpha, text))
        draft.source.count(lost)
        message = f"{excerpt(text)} at {excerpt(cells[0])}; expected O, B-LABEL, I-LABEL, ..."
        draft.add_problem("unknown tag", message, number, lost)
    elif len(tags) == 1 and not bare and len(text) > 2 and text[2:] != tags[0].label:
        message = f"the tag {excerpt(text)} is read as '{tags[0].prefix}-{tags[0].label}'"
        draft.add_problem("malformed", message, number)
    return tags or (OUTSIDE,)
