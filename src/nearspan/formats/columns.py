"""Text in columns: lines become the rows of sentences and documents, and columns are told apart by what they hold."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from operator import itemgetter

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

Row = list[str]
"""The columns of a line."""


@dataclass(slots=True)
class Rows:
    """The lines of a sentence, which follow one another: the number of the first, and the columns of each.

    `size` is how many columns each line has where all have as many, no word is empty, and none has blanks in it.
    """

    line: int
    rows: list[Row]
    size: int = 0


@dataclass
class Block:
    """The lines of one document, by sentence, and whether it begins with a -DOCSTART- line."""

    id: str
    line: int
    is_begun: bool
    sentences: list[Rows] = field(default_factory=list)


@dataclass(frozen=True)
class Columns:
    """How many columns most lines have, and which of them hold the word and the labels.

    A label column is one most of whose values are `O` or PREFIX-LABEL. If all columns after the word are label columns,
    each is a layer of (nested) entities; otherwise only the last column is read, so the part of speech and chunk
    columns of CoNLL-2003 are left alone. The word is in the first column, or in the second if most lines of the first
    count the words of their sentence. A label column is bare if it has `O` and labels, but no label with a prefix.

    >>> rows = [["EU", "NNP", "I-NP", "I-ORG"], ["rejects", "VBZ", "I-VP", "O"]]
    >>> Columns.detect([Block("", 1, False, [Rows(1, rows)])]).labels
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
        sentences = [sentence.rows for block in blocks for sentence in block.sentences]
        rows = list(chain.from_iterable(sentences))
        size = _usual_size(rows)
        usual = [cells for cells in rows if len(cells) == size]
        values = [Counter(map(itemgetter(index), usual)) if index else Counter() for index in range(size)]
        label_columns = [index for index in range(1, size) if _holds_labels(values[index])]
        # GermEval's own files count the words of a sentence in the first column
        word = int(size > 2 and 1 not in label_columns and _count_words(sentences, size, len(usual)))
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
        bare = frozenset(layer for layer, index in enumerate(chosen) if _is_bare(values[index].keys()))
        return cls(size, word, chosen, layered, bare)

    def tags(self, cells: list[str]) -> list[str]:
        """The tags of a line, also of one with too many columns or too few."""
        if len(cells) != self.size and not self.layered and len(cells) > 1:
            return [cells[-1]]
        return [cells[index] if index < len(cells) else "" for index in self.labels]


def _count_words(sentences: list[list[list[str]]], size: int, lines: int) -> bool:
    """Whether most lines count the words of their sentences in the first column."""
    numbered = (sentence for sentence in sentences if any(cells[0].isdecimal() for cells in sentence))
    right = sum(
        sum(len(cells) == size for cells in sentence) - len(wrong_numbers(sentence, size)) for sentence in numbered
    )
    return 2 * (lines - right) < lines


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
    rows = [_cells(line) for line in source.sample_lines[:2000] if line.strip(" \t") and not _is_docstart(line)]
    tagged = sum(len(cells) > 1 and parse(cells[-1]) is not None for cells in rows)
    return 2 * tagged > len(rows) or (not rows and any(map(_is_docstart, source.sample_lines)))


def read_blocks(lines: Sequence[str], source: Source, first: int = 1, size: int | None = None) -> list[Block]:
    """The documents of some lines, of which `first` is the first one's number, without their comments.

    What is before a -DOCSTART- line, if anything, is the first block. `size` is how many columns most lines of the file
    have, where that is known.
    """
    blocks: list[Block] = []
    for number, stretch in _stretches(lines, first):
        if not stretch[0].startswith((DOCSTART, " ")) and (cells := _plain_cells(stretch)) is not None:
            if not blocks:
                blocks.append(Block("", number, False))
            sizes = set(map(len, cells))
            blocks[-1].sentences.append(Rows(number, cells, sizes.pop() if len(sizes) == 1 else 0))
        else:
            _read_lines(stretch, number, blocks, source)
    _drop_comments(blocks, lines, first, size)
    return blocks


def read_docstart(line: str, number: int, source: Source) -> str:
    """The id of the document that a -DOCSTART- line begins; a tag in it is listed."""
    if tag := _docstart_tag(line):
        message = f"{excerpt(tag)} at {DOCSTART}, which is no word; expected O, not read"
        source.add_problem("unknown tag", message, number)
    id = line.removeprefix(DOCSTART).split("\t")[0].strip(" ")
    return "" if NO_ID.issuperset(id.split(" ")) else id


def _stretches(lines: Sequence[str], first: int) -> Iterator[tuple[int, Sequence[str]]]:
    """The lines between empty ones, with the number of the first."""
    start = 0
    while start < len(lines):
        try:
            stop = lines.index("", start)
        except ValueError:
            stop = len(lines)
        if stop > start:
            yield start + first, lines[start:stop]
        start = stop + 1


def _plain_cells(lines: Sequence[str]) -> list[list[str]] | None:
    """The columns of lines that are parted by single tabs, or single blanks, alone; None where there is more to see to.

    >>> _plain_cells(["Ada\\tB-PER", "wrote\\tO"]), _plain_cells(["Ada  B-PER"])
    ([['Ada', 'B-PER'], ['wrote', 'O']], None)
    """
    text = "\n".join(lines)
    if DOCSTART in text:
        return None
    if "\t" not in text:
        if "  " in text or " \n" in text or "\n " in text or text[0] == " " or text[-1] == " ":
            return None
        cells = [line.split(" ") for line in lines]
    elif " " in text or "\t\n" in text or "\t\t" in text or "\n\t" in text or text[0] == "\t" or text[-1] == "\t":
        return None
    else:
        cells = [line.split("\t") for line in lines]
    return cells if max(map(len, cells)) <= MOST_LAYERS else None


def _read_lines(lines: Sequence[str], start: int, blocks: list[Block], source: Source) -> None:
    """Add any lines to the documents, one after another."""
    sentence: Rows | None = None
    for number, line in enumerate(lines, start):
        if _is_docstart(line.lstrip(" ")):
            blocks.append(Block(read_docstart(line.lstrip(" "), number, source), number, True))
            sentence = None
        elif not line.strip(" \t"):
            sentence = None
        else:
            if not blocks:
                blocks.append(Block("", number, False))
            if sentence is None:
                sentence = Rows(number, [])
                blocks[-1].sentences.append(sentence)
            sentence.rows.append(_cells(line))


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


def _drop_comments(blocks: list[Block], lines: Sequence[str], first: int, size: int | None) -> None:
    """Leave out lines before a sentence that begin with # and do not end in a tag, if they have no word's columns."""
    if not any(sentence.rows[0][0].startswith("#") for block in blocks for sentence in block.sentences):
        return
    rows = (cells for block in blocks for sentence in block.sentences for cells in sentence.rows)
    size = size or _usual_size(cells for cells in rows if not _may_be_comment(cells))
    for block in blocks:
        for sentence in block.sentences:
            while sentence.rows and _may_be_comment(sentence.rows[0]):
                cells = sentence.rows[0]
                if len(cells) == size and ("\t" in lines[sentence.line - first] or cells[0] != "#"):
                    break
                del sentence.rows[0]
                sentence.line += 1
        block.sentences = [sentence for sentence in block.sentences if sentence.rows]


def _may_be_comment(cells: list[str]) -> bool:
    return cells[0].startswith("#") and len(cells) > 1 and parse(cells[-1]) is None


def _usual_size(rows: Iterable[list[str]]) -> int:
    """How many columns most lines have."""
    sizes = Counter(map(len, rows))
    return sizes.most_common(1)[0][0] if sizes else 2


def _holds_labels(values: Counter[str]) -> bool:
    return 2 * sum(count for value, count in values.items() if is_labelled(value)) > values.total()


def _is_bare(values: Iterable[str]) -> bool:
    """Whether a column holds `O` and labels without a prefix, and nothing else."""
    others = [value for value in values if value != "O"]
    return "O" in values and bool(others) and all(map(is_bare_label, others))
