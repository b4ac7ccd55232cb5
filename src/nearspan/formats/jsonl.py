"""JSON: one document a line, or one array of documents.

The shape of `Document.to_dict` is written, and read without loss; `document.py` shows it.

Read as well (`json_records.py`): the same with `start` and `end` or `fragments` alone, without `text` and `score`, as
one writes it by hand; with the keys of HAREM (`doc_id`, `doc_text`, `start_offset`, `end_offset`); with entities as
`[start, end, label]`; `{"tokens": [...], "entities": [[start, end, label]]}` with half-open word indexes; and
`{"sentence": [...], "ner": [{"index": [0, 1, 4], "type": "ADR"}]}`, where a gap in the indexes makes it discontinuous.
"""

import math
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from nearspan.document import Document
from nearspan.errors import CorpusError
from nearspan.formats.corpus import Problem, clean_label, excerpt
from nearspan.formats.document_stream import Block, Readable
from nearspan.formats.format import Format
from nearspan.formats.json_records import PlainRecord, count_entities, read_record
from nearspan.formats.json_values import read_records, to_line, write_lines
from nearspan.formats.source import Source


def read(source: Source) -> Iterator[Readable | Block]:
    """Read JSON lines or a JSON array."""

    def read_one(record: Any, name: str, line: int) -> Iterable[Readable]:
        return [read_record(record, name, source, line)]

    def read_block(text: str, line: int, number: int) -> Block | None:
        from nearspan.formats.plain_block import PlainBlock  # needs numpy, which short files do not wait for

        return PlainBlock.of(source, text, line, number)

    return read_records(source, count_entities, read_one, partial(PlainRecord.of, source), read_block)


def detect(source: Source) -> bool:
    """Whether the text begins like a JSON object or an array of them."""
    start = source.sample[:4096].lstrip()
    return start[:1] in ("{", "[") and start[1:].lstrip()[:1] in ('"', "{", "}", "]")


def write(documents: Iterable[Document], path: Path) -> tuple[Problem, ...]:
    """Write JSON lines, or one array if the name ends in `.json`."""
    write_lines(path, map(json_line, documents))
    return ()


def json_line(document: Document) -> str:
    """A document on one line, without its end.

    >>> json_line(Document("Oslo", id="1"))
    '{"id": "1", "text": "Oslo", "entities": []}'
    """
    for entity in document.entities:
        if not entity.label or entity.label != clean_label(entity.label):
            message = f"the label {excerpt(entity.label)} is empty or has blanks at its ends"
            raise CorpusError(f"document {excerpt(document.id)}: {message}, and would not be read again")
        if entity.score is not None and not math.isfinite(entity.score):
            message = f"an entity's score is {entity.score}, which JSON cannot hold"
            raise CorpusError(f"document {excerpt(document.id)}: {message}")
    return to_line(document.to_dict())


FORMAT = Format("jsonl", read, detect, write, endings=(".jsonl", ".json", ".ndjson"), streams=True)
