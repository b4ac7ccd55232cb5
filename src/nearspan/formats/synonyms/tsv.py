"""Tab-separated names: a line is a concept.

    heart attack	myocardial infarction	MI
    stroke	cerebrovascular accident

A first column of identifiers (`HEART:12`, `C0000123`, `0000123`) is found and left out; lines with the same
identifier are one concept. A line that begins with # is a comment if it has no tab or is the file's first.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from nearspan.formats.corpus import excerpt
from nearspan.formats.synonyms.lines import Concept, Line, Lines

_IDENTIFIER = re.compile(r"[A-Za-z][A-Za-z0-9.]*:\w+|[A-Z]{0,2}\d{4,}")


def detect(lines: Lines) -> bool:
    """Whether most of the first lines have a tab."""
    rows = [line for _, line in _rows(lines.head)]
    return 2 * sum("\t" in line for line in rows) > len(rows)


def has_identifiers(lines: Lines) -> bool:
    """Whether the first column of all of the first lines holds identifiers, and others hold names."""
    rows = [line.split("\t") for _, line in _rows(lines.head)]
    return bool(rows) and all(len(row) > 1 and _IDENTIFIER.fullmatch(row[0].strip()) for row in rows)


def read(lines: Lines) -> Iterator[Concept]:
    """Read lines of names."""
    for number, line in _rows(lines):
        names = [cell for cell in line.split("\t") if cell.strip()]
        if len(names) < 2:
            message = f"found {excerpt(line)}, expected names with a tab between; kept alone"
            lines.add_problem("malformed", message, number)
        yield "", names


def read_with_identifiers(lines: Lines, *, strict: bool) -> Iterator[Concept]:
    """Read lines of an identifier and names; with `strict`, one that looks like none is taken for a name and listed."""
    for number, line in _rows(lines):
        identifier, *names = [cell.strip() for cell in line.split("\t")]
        if strict and identifier and not _IDENTIFIER.fullmatch(identifier):
            message = f"{excerpt(identifier)} is no identifier like those of the first lines; read as a name"
            lines.add_problem("malformed", message, number)
            yield "", [identifier, *names]
        elif identifier and any(names):
            yield identifier, names
        else:
            message = f"found {excerpt(line)}, expected an identifier, a tab and names; not read"
            lines.add_problem("malformed", message, number)


def _rows(lines: Iterable[Line]) -> Iterator[Line]:
    """The lines that are neither blank nor comments."""
    for number, line in lines:
        if line.strip() and not (line.startswith("#") and (number == 1 or "\t" not in line)):
            yield number, line
