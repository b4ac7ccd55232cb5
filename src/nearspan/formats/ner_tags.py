"""Rows of words and tags as JSON, a row a line or an array of rows (`tagged_rows.py`).

Tags are names, or numbers if a `dataset_info.json` beside the file, as `datasets` writes it, has their names.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from nearspan.document import Document
from nearspan.errors import CorpusError
from nearspan.formats.corpus import Problem
from nearspan.formats.draft import Draft
from nearspan.formats.format import Format, list_changes
from nearspan.formats.json_values import read_records, to_line, write_lines
from nearspan.formats.source import Source
from nearspan.formats.tagged_rows import TaggedRows, are_bare, is_row, names_of, rows, words_and_tags


def read(source: Source) -> Iterator[Draft]:
    """Read rows."""
    tags = [tag for record in source.first_records if is_row(record) for tag in words_and_tags(record)[1] or ()]
    names = _names_beside(source.path)
    if any(isinstance(tag, int) for tag in tags) and names is None:
        raise CorpusError(
            f"the tags of {source.name} are numbers, and no dataset_info.json beside it has their names; write it from "
            "`datasets` with names, or as parquet, which keeps them"
        )
    reader = TaggedRows(source, names, are_bare(names or tags))
    yield from read_records(source, reader.count, lambda record, name, line: [reader.read(record, name, line)])
    reader.finish()


def detect(source: Source) -> bool:
    """Whether one of the first records has words and as many tags."""
    return any(map(is_row, source.first_records))


def write(documents: Iterable[Document], path: Path) -> tuple[Problem, ...]:
    """Write a document a row; entities that share words or are discontinuous do not fit."""
    changes: Counter[str] = Counter()
    write_lines(path, map(to_line, rows(documents, "ner-tags", changes)))
    return list_changes(path, changes)


def _names_beside(path: Path) -> list[str] | None:
    """The names of tags that a description beside a file gives."""
    for name in ("dataset_info.json", "dataset_infos.json"):
        with suppress(OSError, ValueError, AttributeError, RecursionError):
            description: dict[str, Any] = json.loads(path.with_name(name).read_text(encoding="utf-8"))
            for part in (description, *description.values()):
                for names in names_of(part.get("features") if isinstance(part, dict) else None):
                    return names
    return None


FORMAT = Format("ner-tags", read, detect, write, discontinuous=False, nested=False, streams=True)
