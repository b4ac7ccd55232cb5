"""The values of a JSON file, each with its line, whether it is an array, holds one value a line or a single object."""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar, cast

from nearspan.errors import CorpusError
from nearspan.formats.corpus import excerpt
from nearspan.formats.document_stream import Block
from nearspan.formats.format import ending
from nearspan.formats.source import Source, has_lines_of_arrays
from nearspan.io.atomic import write_file

T = TypeVar("T")

_DECODER = json.JSONDecoder()
_SPACE = " \t\r\n"
_SURROGATE = re.compile("[\ud800-\udfff]")


class Malformed(ValueError):
    """A value or a part of one that has not the shape that its format gives it."""


def read_records(
    source: Source,
    count: Callable[[Any], int],
    read: Callable[[Any, str, int], Iterable[T]],
    plain: Callable[[Any, int, int], T | None] = lambda *_: None,
    plain_block: Callable[[str, int, int], T | None] | None = None,
) -> Iterator[T]:
    """The documents of all values of a file; of those that `read` calls malformed, what `count` says is listed as lost.

    `read` is given a value, a name for a document that has none, and the line. `plain` is asked first, with the value's
    number: it gives a document of which all annotations are counted, or nothing. `plain_block` is asked before that,
    with some lines, of which the first has a line and a number, and gives all their documents or nothing.
    """
    file = source.file
    number = 0
    for line, record in _values(source, plain_block):
        if isinstance(record, Block):
            number += len(record)
            yield cast("T", record)
            continue
        number += 1
        if (document := plain(record, number, line)) is not None:
            yield document
            continue
        total, before = count(record), len(source.problems)
        source.count(total)
        try:
            yield from list(read(record, f"{file}#{number}", line))
        except (Malformed, RecursionError) as error:
            del source.problems[before:]
            source.add_problem("malformed", f"{_reason(error)}; the document is not read", line, lost=total)


def _values(source: Source, plain_block: Callable[[str, int, int], Any] | None) -> Iterator[tuple[int, Any]]:
    """Each value, or each block that is plain, with its line; what is no JSON is listed."""
    text = source.sample
    if text.lstrip().startswith("[") and not has_lines_of_arrays(text):
        yield from _array(source)
    elif (whole := _whole(source)) is not None:
        yield whole
    else:
        number = 1
        for line, block in source.blocks():
            plain = plain_block(block, line, number) if plain_block is not None and source.is_long else None
            for value in _lines(block, line, source) if plain is None else [(line, plain)]:
                number += 1 if plain is None else len(plain)
                yield value


def to_line(value: Any) -> str:
    """A value on one line, without its end; a CorpusError if JSON cannot hold it.

    >>> to_line({"text": "Oslo"})
    '{"text": "Oslo"}'
    """
    try:
        line = json.dumps(value, ensure_ascii=False, allow_nan=False)
    except ValueError as error:
        raise CorpusError(f"a document cannot be written as JSON: {error}") from None
    # Some tools end a line at these; inside a JSON string they can be escaped.
    return line.replace("\x85", "\\u0085").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """Write values, each on a line, as an array if the name ends in `.json`."""
    write_file(path, _array_of(lines) if ending(path) == ".json" else (line + "\n" for line in lines))


def json_type(value: Any) -> str:
    """What JSON calls a value.

    >>> json_type([]), json_type(1.5)
    ('an array', 'a number')
    """
    names = {dict: "an object", list: "an array", str: "a string", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")


def _array_of(lines: Iterable[str]) -> Iterator[str]:
    yield "[\n"
    for index, line in enumerate(lines):
        yield (",\n" if index else "") + line
    yield "\n]\n"


def _lines(block: str, first: int, source: Source) -> Iterator[tuple[int, Any]]:
    """The values of some lines."""
    for number, line in enumerate(block.split("\n"), first):
        if not line.strip():
            continue
        try:
            record = _plain_record(line)
            if record is None:
                record = _decode(line, None, source, number)[0]
        except (ValueError, RecursionError) as error:
            _add_lost(source, f"not JSON: {_reason(error)}; the line is not read", number)
        else:
            yield number, record


def _whole(source: Source) -> tuple[int, Any] | None:
    """The only object of a file, with its line, if it takes several."""
    with suppress(ValueError, RecursionError):
        first = next((line for line in source.sample_lines if line.strip()), "")
        if not first.strip().endswith("}"):
            line = source.text[: len(source.text) - len(source.text.lstrip())].count("\n") + 1
            return line, _decode(source.text, None, source, line)[0]
    return None


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


def _plain_record(line: str) -> dict[str, Any] | None:
    """The object of a line, if it is sure that no key is repeated in it and no character escaped; otherwise nothing.

    It is the quick way for most lines: there are as many braces and colons after quotes as objects and keys.

    >>> _plain_record('{"text": "Oslo", "entities": [{"start": 0}]}'), _plain_record('{"id": "1", "id": "2"}')
    ({'text': 'Oslo', 'entities': [{'start': 0}]}, None)
    """
    if '" ' in line or '"\t' in line or ("\\" in line and "\\u" in line) or "\r" in line:
        return None
    try:
        record, end = _DECODER.raw_decode(line)
    except ValueError:  # such as blanks before it; whoever decodes it again says what is wrong
        return None
    if type(record) is not dict or end < len(line):
        return None
    objects, keys = 1, len(record)
    for value in record.values():
        if type(value) is list and value and type(value[0]) is dict:
            if set(map(type, value)) != {dict}:
                return None
            objects += len(value)
            keys += sum(map(len, value))
    return record if line.count("{") == objects and line.count('":') == keys else None


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
