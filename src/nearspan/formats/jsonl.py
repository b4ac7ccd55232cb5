"""JSON: one document a line, or one array of documents.

The shape of `Document.to_dict` is written, and read without loss; offsets are half-open characters:

    {"id": "1", "text": "pain in arms and legs", "words": [[0, 4], [5, 7], ...], "sentences": [[0, 21]],
     "entities": [{"text": "pain in legs", "label": "SYMPTOM", "start": 0, "end": 21,
                   "fragments": [[0, 7], [17, 21]], "score": 0.97}]}

Read as well (`json_records.py`): the same with `start` and `end` or `fragments` alone, without `text` and `score`, as
one writes it by hand; with the keys of HAREM (`doc_id`, `doc_text`, `start_offset`, `end_offset`); with entities as
`[start, end, label]`; `{"tokens": [...], "entities": [[start, end, label]]}` with half-open word indexes; and
`{"sentence": [...], "ner": [{"index": [0, 1, 4], "type": "ADR"}]}`, where a gap in the indexes makes it discontinuous.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from nearspan.document import Document
from nearspan.errors import CorpusError
from nearspan.formats.corpus import Corpus, Place, Problem, excerpt
from nearspan.formats.json_records import Malformed, draft, mended
from nearspan.formats.source import Source
from nearspan.io.atomic import write_file

_SPACE = " \t\r\n"


def read(source: Source) -> Corpus:
    """Read JSON lines or a JSON array."""
    problems = list(source.problems)
    documents: list[Document] = []
    places: list[Place] = []
    is_array = source.text.lstrip().startswith("[")
    records = _array(source, problems) if is_array else _lines(source, problems)
    for number, (line, record) in enumerate(records, 1):
        try:
            read_one = draft(record, f"{source.file}#{number}", source.name, line, problems)
        except Malformed as error:
            problems.append(Problem("malformed", f"{error}; the document is not read", source.name, line))
            continue
        documents.append(read_one.document())
        places.append(read_one.place())
    return Corpus(tuple(documents), tuple(problems), "jsonl", 0, tuple(places))


def detect(source: Source) -> bool:
    """Whether the text begins like a JSON object or an array of them."""
    start = source.text[:4096].lstrip()
    return start[:1] in ("{", "[") and start[1:].lstrip()[:1] in ('"', "{", "}", "]")


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


def _lines(source: Source, problems: list[Problem]) -> Iterator[tuple[int, Any]]:
    decoder = _Decoder()
    for number, line in enumerate(source.lines, 1):
        if not line.strip():
            continue
        try:
            yield number, decoder.decode(line, source.name, number, problems)
        except (ValueError, RecursionError) as error:
            message = f"not JSON: {_reason(error)}; the line is not read"
            problems.append(Problem("malformed", message, source.name, number))


def _array(source: Source, problems: list[Problem]) -> Iterator[tuple[int, Any]]:
    """The elements of an array, one by one, each with its line."""
    text, size = source.text, len(source.text)
    at, line, counted = text.index("[") + 1, 1, 0
    expected, decoder = "a value", _Decoder()
    while True:
        while at < size and text[at] in _SPACE:
            at += 1
        line, counted = line + text.count("\n", counted, at), at
        if text[at : at + 1] == "]" and not text[at + 1 :].strip():
            return
        if text[at : at + 1] == "," and expected == "a comma":
            at, expected = at + 1, "a value"
            continue
        try:
            if expected != "a value":
                raise ValueError("expected a comma or the end of the array")
            record, end = decoder.first(text, at, source.name, line, problems)
            yield line, record
        except (ValueError, RecursionError) as error:
            message = f"not JSON: {_reason(error)}; the file is not read from here on"
            problems.append(Problem("malformed", message, source.name, line))
            return
        at, expected = end, "a comma"


class _Decoder:
    """Reads JSON values; keys that an object repeats and lone surrogates are listed."""

    def __init__(self) -> None:
        self._repeated: list[str] = []
        self._decoder = json.JSONDecoder(object_pairs_hook=self._object)

    def decode(self, text: str, path: str, line: int, problems: list[Problem]) -> Any:
        """The value that the whole text is."""
        self._repeated.clear()
        return self._checked(self._decoder.decode(text), text, path, line, problems)

    def first(self, text: str, at: int, path: str, line: int, problems: list[Problem]) -> tuple[Any, int]:
        """The value that begins at `at`, and where it ends."""
        self._repeated.clear()
        record, end = self._decoder.raw_decode(text, at)
        return self._checked(record, text[at:end], path, line, problems), end

    def _object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            given = Counter(key for key, _ in pairs)
            self._repeated += [key for key, count in given.items() if count > 1]
        return found

    def _checked(self, record: Any, text: str, path: str, line: int, problems: list[Problem]) -> Any:
        for key in self._repeated:
            message = f"the key {excerpt(key)} is there more than once in an object; only its last value is read"
            problems.append(Problem("malformed", message, path, line))
        if "\\ud" not in text and "\\uD" not in text:  # only an escape can bring in a lone surrogate
            return record
        count, record = mended(record)
        if count:
            message = f"{count} lone surrogates, which are no characters; each is read as U+FFFD"
            problems.append(Problem("lone surrogate", message, path, line))
        return record


def _reason(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg} at character {error.colno}"
    return "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
