"""JSON: one document a line, or one array of documents.

The shape of `Document.to_dict` is written, and read without loss; `document.py` shows it.

Read as well (`json_records.py`): the same with `start` and `end` or `fragments` alone, without `text` and `score`, as
one writes it by hand; with the keys of HAREM (`doc_id`, `doc_text`, `start_offset`, `end_offset`); with entities as
`[start, end, label]`; `{"tokens": [...], "entities": [[start, end, label]]}` with half-open word indexes; and
`{"sentence": [...], "ner": [{"index": [0, 1, 4], "type": "ADR"}]}`, where a gap in the indexes makes it discontinuous.
"""

import json
import math
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from nearspan.document import Document
from nearspan.errors import CorpusError
from nearspan.formats.corpus import Corpus, Problem, clean_label, excerpt
from nearspan.formats.draft import Draft, to_corpus
from nearspan.formats.format import Format, ending
from nearspan.formats.json_records import Malformed, count_entities, read_record
from nearspan.formats.source import Source
from nearspan.io.atomic import write_file

_SPACE = " \t\r\n"
_SURROGATE = re.compile("[\ud800-\udfff]")


def read(source: Source) -> Corpus:
    """Read JSON lines or a JSON array."""
    drafts: list[Draft] = []
    records = _array(source) if source.text.lstrip().startswith("[") else _lines(source)
    for number, (line, record) in enumerate(records, 1):
        count, before = count_entities(record), len(source.problems)
        source.count(count)
        try:
            drafts.append(read_record(record, f"{source.file}#{number}", source, line))
        except (Malformed, RecursionError) as error:
            del source.problems[before:]
            source.add_problem("malformed", f"{_reason(error)}; the document is not read", line, lost=count)
    return to_corpus(drafts, source, "jsonl")


def detect(source: Source) -> bool:
    """Whether the text begins like a JSON object or an array of them."""
    start = source.text[:4096].lstrip()
    return start[:1] in ("{", "[") and start[1:].lstrip()[:1] in ('"', "{", "}", "]")


def write(corpus: Corpus, path: Path) -> tuple[Problem, ...]:
    """Write JSON lines, or one array if the name ends in `.json`."""
    write_file(path, _pieces(corpus, array=ending(path) == ".json"))
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
    line = json.dumps(document.to_dict(), ensure_ascii=False)
    # Some tools end a line at these; inside a JSON string they can be escaped.
    return line.replace("\x85", "\\u0085").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _pieces(corpus: Corpus, array: bool) -> Iterator[str]:
    if not array:
        yield from (json_line(document) + "\n" for document in corpus)
        return
    yield "[\n"
    for index, document in enumerate(corpus):
        yield (",\n" if index else "") + json_line(document)
    yield "\n]\n"


def _lines(source: Source) -> Iterator[tuple[int, Any]]:
    for number, line in enumerate(source.lines, 1):
        if not line.strip():
            continue
        try:
            yield number, _decode(line, None, source, number)[0]
        except (ValueError, RecursionError) as error:
            _add_lost(source, f"not JSON: {_reason(error)}; the line is not read", number)


def _array(source: Source) -> Iterator[tuple[int, Any]]:
    """The elements of an array, one by one, each with its line."""
    text, size = source.text, len(source.text)
    at, line, counted_to = text.index("[") + 1, 1, 0
    expected = "a value"
    while True:
        while at < size and text[at] in _SPACE:
            at += 1
        line, counted_to = line + text.count("\n", counted_to, at), at
        if text[at : at + 1] == "]" and not text[at + 1 :].strip():
            return
        if text[at : at + 1] == "," and expected == "a comma":
            at, expected = at + 1, "a value"
            continue
        try:
            if expected != "a value":
                raise ValueError("expected a comma or the end of the array")
            record, at = _decode(text, at, source, line)
            yield line, record
        except (ValueError, RecursionError) as error:
            _add_lost(source, f"not JSON: {_reason(error)}; the file is not read from here on", line)
            return
        expected = "a comma"


def _add_lost(source: Source, message: str, line: int) -> None:
    """List what is not JSON, and so may hold any number of annotations, as one that is lost."""
    source.count(1)
    source.add_problem("malformed", message, line, lost=1)


def _decode(text: str, at: int | None, source: Source, line: int) -> tuple[Any, int]:
    """The JSON value that begins at a place, or that all of the text is, and where it ends.

    Keys that an object repeats and lone surrogates are listed.
    """
    repeated: list[str] = []

    def to_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        value = dict(pairs)
        if len(value) < len(pairs):
            repeated.extend(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
        return value

    decoder = json.JSONDecoder(object_pairs_hook=to_object)
    record, end = (decoder.decode(text), len(text)) if at is None else decoder.raw_decode(text, at)
    for key in repeated:
        message = f"the key {excerpt(key)} is there more than once in an object; only its last value is read"
        source.add_problem("malformed", message, line)
    written = text[at:end]
    if "\\ud" in written or "\\uD" in written:  # only an escape can bring in a lone surrogate
        mended, count = _SURROGATE.subn("\ufffd", json.dumps(record, ensure_ascii=False))
        if count:
            message = f"{count} lone surrogates, which are no characters; each is read as U+FFFD"
            source.add_problem("lone surrogate", message, line)
            record = json.loads(mended)
    return record, end


def _reason(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg} at character {error.colno}"
    return "it is nested too deeply" if isinstance(error, RecursionError) else str(error)


FORMAT = Format("jsonl", read, detect, write, endings=(".jsonl", ".json", ".ndjson"))
