"""The columns of a CoNLL file: which one holds the word, and which hold labels."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from nearspan.errors import CorpusError
from nearspan.formats.tags import is_labelled

_NUMBER = re.compile("[0-9]{1,9}")

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

    A label column is one most of whose values are `O` or PREFIX-LABEL. If all columns after the word are
    label columns, each is a layer; otherwise only the last column is read. The word is in the first column,
    or in the second if most lines of the first count the words of their sentence.

    >>> rows = [(1, ["EU", "NNP", "I-NP", "I-ORG"]), (2, ["rejects", "VBZ", "I-VP", "O"])]
    >>> Columns.detect([Block("", 1, [rows])]).labels
    (3,)
    """

    size: int
    word: int
    labels: tuple[int, ...]
    layered: bool

    @classmethod
    def detect(cls, blocks: list[Block], labels: Sequence[int] | None = None, name: str = "") -> Columns:
        """The columns of a file, by its lines; `labels` says which hold labels where that is known."""
        sentences = [[cells for _, cells in sentence] for block in blocks for sentence in block.sentences]
        rows = [cells for sentence in sentences for cells in sentence]
        size = Counter(map(len, rows)).most_common(1)[0][0] if rows else 2
        usual = [cells for cells in rows if len(cells) == size]
        label_columns = [index for index in range(1, size) if _holds_labels(usual, index)]
        word = int(size > 2 and 1 not in label_columns and _has_word_numbers(sentences, size))
        if labels is not None:
            for index in labels:
                if not -size <= index < size or index % size == word:
                    message = f"{name} has {size} columns and its words in column {word}"
                    raise CorpusError(f"{message}, so column {index} cannot hold labels")
            return cls(size, word, tuple(index % size for index in labels), True)
        rest = tuple(range(word + 1, size))
        layered = len(rest) > 1 and label_columns == list(rest)
        return cls(size, word, rest if layered else rest[-1:], layered)

    def tags(self, cells: list[str]) -> list[str]:
        """The tags of a line, also of one with too many columns or too few."""
        if len(cells) != self.size and not self.layered and len(cells) > 1:
            return [cells[-1]]
        return [cells[index] if index < len(cells) else "" for index in self.labels]


def _holds_labels(rows: list[list[str]], index: int) -> bool:
    values = Counter(cells[index] for cells in rows)
    return 2 * sum(count for value, count in values.items() if is_labelled(value)) > len(rows)


def _has_word_numbers(sentences: list[list[list[str]]], size: int) -> bool:
    """Whether the first column counts the words from 1 in most lines, as in GermEval's own files."""
    wrong = sum(len(wrong_numbers(sentence, size)) for sentence in sentences)
    return 2 * wrong < sum(len(cells) == size for sentence in sentences for cells in sentence)


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
