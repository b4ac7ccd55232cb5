"""The cells of WebAnno TSV: annotations that stand beside each other, and what is escaped."""

import re

_STACK = re.compile(r"(?:\\.|[^|\\])+", re.DOTALL)
_NUMBERED = re.compile(r"(.*)(?<!\\)\[(\d{1,9})\]", re.DOTALL)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_SPECIAL = re.compile(r"[\\\[\]|_;*\t\n\r]|->")
SPECIAL_IN_TEXT = re.compile(r"[\\\t\n\r]")
_LETTERS = {"\t": "\\t", "\n": "\\n", "\r": "\\r"}
_CHARACTERS = {"t": "\t", "n": "\n", "r": "\r", "b": "\b", "f": "\f"}

Stack = list[tuple[str | None, str]]
"""The annotations of a cell: the value of each, if it has one, and its number or nothing."""


def parse_stack(cell: str) -> Stack:
    """The annotations of a cell: the value of each, None if it has none, and its number if it has one.

    >>> parse_stack("PER[1]|LOC"), parse_stack("*"), parse_stack("_")
    ([('PER', '1'), ('LOC', '')], [(None, '')], [])
    """
    if cell in ("_", ""):
        return []
    values: Stack = []
    for part in _STACK.findall(cell):
        match = _NUMBERED.fullmatch(part)
        value, number = (match[1], match[2]) if match else (part, "")
        values.append((None if value == "*" else unescape(value), number))
    return values


def unescape(text: str) -> str:
    """A text as it was before it was written."""
    return _ESCAPED.sub(lambda match: _CHARACTERS.get(match[1], match[1]), text) if "\\" in text else text


def escape(text: str, special: re.Pattern[str] = _SPECIAL) -> str:
    """A text with a backslash before what is special in a cell; in the words of a text less is."""
    return special.sub(lambda match: _LETTERS.get(match[0], "\\" + match[0]), text)
