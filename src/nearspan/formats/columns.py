"""Text in columns: lines become the rows of sentences and documents, and columns are told apart by what they hold."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from nearspan.errors import CorpusError
from nearspan.formats.corpus import excerpt
from nearspan.formats.source import Source
from nearspan.formats.tags import is_bare_label, is_labelled, parse

DOCSTART = "-DOCSTART-"
NO_ID = frozenset({"O", "-X-", "_", DOCSTART})
"""What may follow -DOCSTART- and is no id."""
MOST_LAYERS = 64  # label columns that are read

_NUMBER = re.compile("[0-9]{1,9}")
_BLANKS = re.compile(" +")

Row = tuple[int, list[str]]
"""A line's number and its columns."""


@dataclass
class Block:
    """The lines of one document, by sentence."""

    id: str
    line: int
    sentences: list[list[Row]] = field(default_factory=list)


@dataclass(frozen=True)
class Columns:
    """How many columns most lines have, and which of them hold the word and the labels.

    A label column is one most of whose values are `O` or PREFIX-LABEL. If all columns after the word are label columns,
    each is a layer of (nested) entities; otherwise only the last column is read, so the part of speech and chunk
    columns of CoNLL-2003 are left alone. The word is in the first column, or in the second if most lines of the first
    count the words of their sentence. A label column is bare if it has `O` and labels, but no label with a prefix.

    >>> rows = [(1, ["EU", "NNP", "I-NP", "I-ORG"]), (2, ["rejects", "VBZ", "I-VP", "O"])]
    >>> Columns.detect([Block("", 1, [rows])]).labels
    (3,)
    """

    size: int
    word: int
    labels: tuple[int, ...]
    layered: bool
    bare: frozenset[int] = frozenset()  # which of `labels`, from 0

    @classmethod
    def detect(cls, blocks: list[Block], labels: Sequence[int] | None = None, name: str = "") -> Columns:
        """The columns of a file, by its lines; `labels` says which hold labels where that is known."""
        sentences = [[cells for _, cells in sentence] for block in blocks for sentence in block.sentences]
        rows = [cells for sentence in sentences for cells in sentence]
        size = _usual_size(rows)
        usual = [cells for cells in rows if len(cells) == size]
        label_columns = [index for index in range(1, size) if _holds_labels(usual, index)]
        wrong = sum(len(wrong_numbers(sentence, size)) for sentence in sentences)
        # GermEval's own files count the words of a sentence in the first column
        word = int(size > 2 and 1 not in label_columns and 2 * wrong < len(usual))
        if labels is not None:
            for index in labels:
                if not -size <= index < size or index % size == word:
                    message = f"{name} has {size} columns and its words in column {word}"
                    raise CorpusError(f"{message}, so column {index} cannot hold labels")
            chosen, layered = tuple(index % size for index in labels), True
        else:
            rest = tuple(range(word + 1, size))
            layered = len(rest) > 1 and label_columns == list(rest)
            chosen = rest if layered else rest[-1:]
        bare = frozenset(layer for layer, index in enumerate(chosen) if _is_bare(usual, index))
        return cls(size, word, chosen, layered, bare)

    def tags(self, cells: list[str]) -> list[str]:
        """The tags of a line, also of one with too many columns or too few."""
        if len(cells) != self.size and not self.layered and len(cells) > 1:
            return [cells[-1]]
        return [cells[index] if index < len(cells) else "" for index in self.labels]


def wrong_numbers(sentence: list[list[str]], size: int) -> list[int]:
    """Which lines of a sentence have a number that is neither their place nor the next after the last number.

    Lines of other than `size` columns are passed over.

    >>> wrong_numbers([["1", "a", "O"], ["1", "b", "O"], ["3", "c", "O"], ["3-4", "d", "O"], ["4", "e", "O"]], 3)
    [1, 3]
    """
    wrong: list[int] = []
    last = 0
    for index, cells in enumerate(sentence):
        if len(cells) != size:
            continue
        number = cells[0]
        if number not in (str(index + 1), str(last + 1)):
            wrong.append(index)
        if _NUMBER.fullmatch(number):
            last = int(number)
    return wrong


def detect(source: Source) -> bool:
    """Whether most of the first lines end in a tag."""
    rows = [_cells(line) for line in source.lines[:2000] if line.strip(" \t") and not _is_docstart(line)]
    tagged = sum(len(cells) > 1 and parse(cells[-1]) is not None for cells in rows)
    return 2 * tagged > len(rows) or (not rows and any(map(_is_docstart, source.lines)))


def read_blocks(source: Source) -> tuple[list[Block], int]:
    """The documents of a file without its comments, and how many -DOCSTART- lines it has."""
    blocks: list[Block] = []
    docstarts = 0
    sentence: list[Row] = []
    for number, line in enumerate(source.lines, 1):
        if _is_docstart(line.lstrip(" ")):
            line = line.lstrip(" ")
            docstarts += 1
            if tag := _docstart_tag(line):
                message = f"{excerpt(tag)} at {DOCSTART}, which is no word; expected O, not read"
                source.add_problem("unknown tag", message, number)
            id = line.removeprefix(DOCSTART).split("\t")[0].strip(" ")
            blocks.append(Block("" if NO_ID.issuperset(id.split(" ")) else id, number))
            sentence = []
        elif not line.strip(" \t"):
            sentence = []
        else:
            if not blocks:
                blocks.append(Block("", number))
            if not sentence:
                blocks[-1].sentences.append(sentence)
            sentence.append((number, _cells(line)))
    for index, block in enumerate(blocks, 1):
        block.id = block.id or (f"{source.file}#{index}" if len(blocks) > 1 else source.file)
    _drop_comments(blocks, source)
    return blocks, docstarts


def _cells(line: str) -> list[str]:
    if "\t" in line:
        cells = line.rstrip(" \t").split("\t", MOST_LAYERS)
        if " " in line:
            cells[1:] = [cell.strip(" ") for cell in cells[1:]]
        return cells
    line = line.strip(" ")
    return _BLANKS.split(line, maxsplit=MOST_LAYERS) if "  " in line else line.split(" ", MOST_LAYERS)


def _is_docstart(line: str) -> bool:
    return line.startswith(DOCSTART) and line[len(DOCSTART) :][:1] in ("", " ", "\t")


def _docstart_tag(line: str) -> str:
    """The tag of a -DOCSTART- line that is not `O` or the like; after blanks alone it may be part of an id."""
    cells = _cells(line)[1:]
    wrong = [cell for cell in cells if cell != "O" and is_labelled(cell)] if "\t" in line else []
    wrong += [cell for cell in cells[-1:] if cell not in NO_ID and ("\t" in line or is_labelled(cell))]
    return wrong[0] if wrong else ""


def _drop_comments(blocks: list[Block], source: Source) -> None:
    """Leave out lines before a sentence that begin with # and do not end in a tag, if they have no word's columns."""
    rows = (cells for block in blocks for sentence in block.sentences for _, cells in sentence)
    size = _usual_size(cells for cells in rows if not _may_be_comment(cells))
    for block in blocks:
        for sentence in block.sentences:
            while sentence and _may_be_comment(sentence[0][1]):
                number, cells = sentence[0]
                if len(cells) == size and ("\t" in source.lines[number - 1] or cells[0] != "#"):
                    break
                del sentence[0]
        block.sentences = [sentence for sentence in block.sentences if sentence]


def _may_be_comment(cells: list[str]) -> bool:
    return cells[0].startswith("#") and len(cells) > 1 and parse(cells[-1]) is None


def _usual_size(rows: Iterable[list[str]]) -> int:
    """How many columns most lines have."""
    sizes = Counter(map(len, rows))
    return sizes.most_common(1)[0][0] if sizes else 2


def _holds_labels(rows: list[list[str]], index: int) -> bool:
    values = Counter(cells[index] for cells in rows)
    return 2 * sum(count for value, count in values.items() if is_labelled(value)) > len(rows)


def _is_bare(rows: list[list[str]], index: int) -> bool:
    """Whether a column holds `O` and labels without a prefix, and nothing else."""
    values = {cells[index] for cells in rows}
    return "O" in values and len(values) > 1 and all(map(is_bare_label, values - {"O"}))
