"""UMLS: the file MRCONSO.RRF, a name a line, columns separated by |.

    C0000123|ENG|P|L0000123|PF|S0000123|Y|A0000123||||SRC|PT|123|heart attack|0|N||

Lines with the same first column are one concept. Names that the file marks as suppressed or obsolete (any but N in the
column before the last) are left out, as are those in other languages than asked for.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from itertools import groupby

from nearspan.formats.corpus import excerpt
from nearspan.formats.synonyms.lines import Concept, Lines

_ROW = re.compile(r"C\d{7}\|[A-Z]{3}\|")
_COLUMNS = 18
_CONCEPT, _LANGUAGE, _NAME, _SUPPRESS = 0, 1, 14, 16


def detect(lines: Lines) -> bool:
    """Whether the first line that is not blank begins with a concept and a language."""
    first = next((line for _, line in lines.head if line.strip()), "")
    return _ROW.match(first) is not None


def read(lines: Lines, languages: Collection[str] | None) -> Iterator[Concept]:
    """Read the names in some languages, such as ENG; None: in all."""
    for concept, rows in groupby(_rows(lines, languages), key=lambda row: row[0]):
        yield concept, [name for _, name in rows]


def _rows(lines: Lines, languages: Collection[str] | None) -> Iterator[tuple[str, str]]:
    for number, line in lines:
        if not line.strip():
            continue
        cells = line.split("|")
        if len(cells) not in (_COLUMNS, _COLUMNS + 1) or not cells[_CONCEPT]:
            message = f"found {len(cells)} columns in {excerpt(line)}, expected {_COLUMNS} as MRCONSO.RRF has; not read"
            lines.add_problem("malformed", message, number)
        elif not cells[_NAME].strip():
            lines.add_problem("empty", f"{cells[_CONCEPT]} has an empty name; not read", number)
        elif (languages is None or cells[_LANGUAGE] in languages) and cells[_SUPPRESS] in ("N", ""):
            yield cells[_CONCEPT], cells[_NAME]
