"""Formats in which a line is a concept, or one of its names: tables, MRCONSO.RRF of UMLS, and WordNet's data.noun, ...

    heart attack	myocardial infarction	MI
    C0000123|ENG|P|L0000123|PF|S0000123|Y|A0000123||||SRC|PT|123|heart attack|0|N||
    00000123 10 n 02 night_watch 0 vigil 0 001 @ 00000045 n 0000 | what somebody stays awake for

A first column of identifiers (`HEART:12`, `C0000123`, `0000123`) in a table is found and left out; lines with the same
identifier are one concept. WordNet gives the number of words in hexadecimal, then each word with its own number.
"""

import re
from collections.abc import Collection, Iterable, Iterator
from itertools import groupby
from pathlib import Path

from nearspan.formats.corpus import excerpt
from nearspan.formats.source import Line, Lines

Concept = tuple[str, list[str]]
"""An identifier, which may be "", and names."""

_IDENTIFIER = re.compile(r"[A-Za-z][A-Za-z0-9.]*:\w+|[A-Z]{0,2}\d{4,}")
_UMLS_ROW = re.compile(r"C\d{7}\|[A-Z]{3}\|")
_UMLS_COLUMNS = 18
_CONCEPT, _LANGUAGE, _NAME, _SUPPRESS = 0, 1, 14, 16
_SYNSET = re.compile(r"\d{8} \d\d [nvasr] [0-9a-fA-F]{2} ")
_MARKER = re.compile(r"\((?:a|p|ip)\)$")
_WORDNET_FILES = tuple(f"data.{part}{packed}" for part in ("noun", "verb", "adj", "adv") for packed in ("", ".gz"))


def is_tsv(lines: Lines) -> bool:
    """Whether most of the first lines have a tab."""
    rows = [line for _, line in _tsv_rows(lines.head)]
    return 2 * sum("\t" in line for line in rows) > len(rows)


def has_identifiers(lines: Lines) -> bool:
    """Whether the first column of all of the first lines holds identifiers, and others hold names."""
    rows = [line.split("\t") for _, line in _tsv_rows(lines.head)]
    return bool(rows) and all(len(row) > 1 and _IDENTIFIER.fullmatch(row[0].strip()) for row in rows)


def read_tsv(lines: Lines) -> Iterator[Concept]:
    """Read lines of names."""
    for number, line in _tsv_rows(lines):
        names = [cell for cell in line.split("\t") if cell.strip()]
        if len(names) < 2:
            lines.add_unexpected(line, "names with a tab between; kept alone", number)
        yield "", names


def read_tsv_with_identifiers(lines: Lines, *, strict: bool) -> Iterator[Concept]:
    """Read lines of an identifier and names; with `strict`, one that looks like none is taken for a name and listed."""
    for number, line in _tsv_rows(lines):
        identifier, *names = [cell.strip() for cell in line.split("\t")]
        if strict and identifier and not _IDENTIFIER.fullmatch(identifier):
            message = f"{excerpt(identifier)} is no identifier like those of the first lines; read as a name"
            lines.add_problem("malformed", message, number)
            yield "", [identifier, *names]
        elif identifier and any(names):
            yield identifier, names
        else:
            lines.add_unexpected(line, "an identifier, a tab and names; not read", number)


def _tsv_rows(lines: Iterable[Line]) -> Iterator[Line]:
    """The lines that are neither blank nor comments, which begin with # and have no tab or are the file's first."""
    for number, line in lines:
        if line.strip() and not (line.startswith("#") and (number == 1 or "\t" not in line)):
            yield number, line


def is_umls(lines: Lines) -> bool:
    """Whether the first line that is not blank begins with a concept and a language."""
    first = next((line for _, line in lines.head if line.strip()), "")
    return _UMLS_ROW.match(first) is not None


def read_umls(lines: Lines, languages: Collection[str] | None) -> Iterator[Concept]:
    """Read the names in some languages, such as ENG (None: in all), that are neither suppressed nor obsolete."""
    for concept, rows in groupby(_umls_rows(lines, languages), key=lambda row: row[0]):
        yield concept, [name for _, name in rows]


def _umls_rows(lines: Lines, languages: Collection[str] | None) -> Iterator[tuple[str, str]]:
    for number, line in lines:
        if not line.strip():
            continue
        cells = line.split("|")
        if len(cells) not in (_UMLS_COLUMNS, _UMLS_COLUMNS + 1) or not cells[_CONCEPT]:
            counts = f"found {len(cells)} columns in {excerpt(line)}, expected {_UMLS_COLUMNS}"
            lines.add_problem("malformed", f"{counts} as MRCONSO.RRF has; not read", number)
        elif not cells[_NAME].strip():
            lines.add_problem("empty", f"{cells[_CONCEPT]} has an empty name; not read", number)
        elif (languages is None or cells[_LANGUAGE] in languages) and cells[_SUPPRESS] in ("N", ""):
            yield cells[_CONCEPT], cells[_NAME]


def wordnet_files(folder: Path) -> list[Path]:
    """The dictionary files of a folder."""
    return [folder / name for name in _WORDNET_FILES if (folder / name).is_file()]


def is_wordnet(lines: Lines) -> bool:
    """Whether the first line that is not part of the licence is a set of synonyms."""
    first = next((line for _, line in lines.head if line.strip() and not line.startswith(" ")), "")
    return _SYNSET.match(first) is not None


def read_wordnet(lines: Lines) -> Iterator[Concept]:
    """Read the sets of one file. Lines that begin with a blank are its licence."""
    for number, line in lines:
        if line.startswith(" ") or not line.strip():
            continue
        names = _wordnet_names(line)
        if names is None:
            lines.add_unexpected(line, "OFFSET FILE n|v|a|s|r COUNT WORD ID ...; not read", number)
        else:
            yield "", names


def _wordnet_names(line: str) -> list[str] | None:
    """The words of a line, without markers as in galore(ip), or None if they are not as many as it says."""
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
