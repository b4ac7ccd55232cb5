"""Reading JSON lines and JSON arrays, one value at a time."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

from nearspan.formats.corpus import Corpus, Problem, excerpt
from nearspan.formats.draft import Draft, to_corpus
from nearspan.formats.jsonl.records import read_record, replace_surrogates
from nearspan.formats.jsonl.shapes import Malformed
from nearspan.formats.source import Source

_SPACE = " \t\r\n"


def read(source: Source) -> Corpus:
    """Read JSON lines or a JSON array."""
    problems = list(source.problems)
    drafts: list[Draft] = []
    is_array = source.text.lstrip().startswith("[")
    records = _array(source, problems) if is_array else _lines(source, problems)
    for number, (line, record) in enumerate(records, 1):
        try:
            drafts.append(read_record(record, f"{source.file}#{number}", source.name, line, problems))
        except Malformed as error:
            problems.append(Problem("malformed", f"{error}; the document is not read", source.name, line))
    return to_corpus(drafts, problems, "jsonl")


def detect(source: Source) -> bool:
    """Whether the text begins like a JSON object or an array of them."""
    start = source.text[:4096].lstrip()
    return start[:1] in ("{", "[") and start[1:].lstrip()[:1] in ('"', "{", "}", "]")


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
    at, line, counted_to = text.index("[") + 1, 1, 0
    expected, decoder = "a value", _Decoder()
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
        return self._check(self._decoder.decode(text), text, path, line, problems)

    def first(self, text: str, at: int, path: str, line: int, problems: list[Problem]) -> tuple[Any, int]:
        """The value that begins at `at`, and where it ends."""
        self._repeated.clear()
        record, end = self._decoder.raw_decode(text, at)
        return self._check(record, text[at:end], path, line, problems), end

    def _object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        value = dict(pairs)
        if len(value) < len(pairs):
            counts = Counter(key for key, _ in pairs)
            self._repeated += [key for key, count in counts.items() if count > 1]
        return value

    def _check(self, record: Any, text: str, path: str, line: int, problems: list[Problem]) -> Any:
        for key in self._repeated:
            message = f"the key {excerpt(key)} is there more than once in an object; only its last value is read"
            problems.append(Problem("malformed", message, path, line))
        if "\\ud" not in text and "\\uD" not in text:  # only an escape can bring in a lone surrogate
            return record
        count, record = replace_surrogates(record)
        if count:
            message = f"{count} lone surrogates, which are no characters; each is read as U+FFFD"
            problems.append(Problem("lone surrogate", message, path, line))
        return record


def _reason(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg} at character {error.colno}"
    return "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
