"""WordNet's dictionary files data.noun, data.verb, data.adj and data.adv: a set of synonyms a line.

    00000123 10 n 02 night_watch 0 vigil 0 001 @ 00000045 n 0000 | what somebody stays awake for

After the offset, the file number and the part of speech comes the number of words in hexadecimal, then each word with
its own number. Underscores stand for blanks; an adjective's marker, as in galore(ip), is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from nearspan.formats.corpus import excerpt
from nearspan.formats.synonyms.lines import Concept, Lines

_SYNSET = re.compile(r"\d{8} \d\d [nvasr] [0-9a-fA-F]{2} ")
_MARKER = re.compile(r"\((?:a|p|ip)\)$")
_FILES = tuple(f"data.{part}{packed}" for part in ("noun", "verb", "adj", "adv") for packed in ("", ".gz"))


def files(folder: Path) -> list[Path]:
    """The dictionary files of a folder."""
    return [folder / name for name in _FILES if (folder / name).is_file()]


def detect(lines: Lines) -> bool:
    """Whether the first line that is not part of the licence is a set of synonyms."""
    first = next((line for _, line in lines.head if line.strip() and not line.startswith(" ")), "")
    return _SYNSET.match(first) is not None


def read(lines: Lines) -> Iterator[Concept]:
    """Read the sets of one file. Lines that begin with a blank are its licence."""
    for number, line in lines:
        if line.startswith(" ") or not line.strip():
            continue
        names = _names(line)
        if names is None:
            message = f"found {excerpt(line)}, expected OFFSET FILE n|v|a|s|r COUNT WORD ID ...; not read"
            lines.add_problem("malformed", message, number)
        else:
            yield "", names


def _names(line: str) -> list[str] | None:
    """The words of a line, or None if they are not as many as it says."""
    if _SYNSET.match(line) is None:
        return None
    cells = line.partition(" | ")[0].split(" ")
    count = int(cells[3], 16)
    words, numbers = cells[4 : 4 + 2 * count : 2], cells[5 : 5 + 2 * count : 2]
    if not count or len(numbers) < count or not all(words) or any(len(number) != 1 for number in numbers):
        return None
    if cells[2] in "as":
        words = [_MARKER.sub("", word) for word in words]
    return [word.replace("_", " ") for word in words]
