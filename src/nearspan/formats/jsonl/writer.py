"""Writing documents as JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path

from nearspan.document import Document
from nearspan.errors import CorpusError
from nearspan.formats.corpus import Corpus, Problem, excerpt
from nearspan.io.atomic import write_file


def write(corpus: Corpus, path: Path) -> tuple[Problem, ...]:
    """Write JSON lines, or one array if the name ends in `.json`."""
    array = path.suffix.lower() == ".json"
    write_file(path, _pieces(corpus, array))
    return ()


def json_line(document: Document) -> str:
    """A document on one line, without its end.

    >>> json_line(Document("Oslo", id="1"))
    '{"id": "1", "text": "Oslo", "entities": []}'
    """
    for entity in document.entities:
        if not entity.label:
            raise CorpusError(f"document {excerpt(document.id)}: an entity has no label, and would not be read again")
        if entity.score is not None and not math.isfinite(entity.score):
            message = f"an entity's score is {entity.score}, which JSON cannot hold"
            raise CorpusError(f"document {excerpt(document.id)}: {message}")
    line = json.dumps(document.to_dict(), ensure_ascii=False)
    # Some tools end a line at these; inside a JSON string they can be escaped.
    return line.replace("\x85", "\\u0085").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _pieces(corpus: Corpus, array: bool) -> Iterator[str]:
    if array:
        yield "[\n"
    for index, document in enumerate(corpus.documents):
        if array and index:
            yield ",\n"
        yield json_line(document) + ("" if array else "\n")
    if array:
        yield "\n]\n"
