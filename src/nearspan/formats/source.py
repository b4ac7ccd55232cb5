"""A file as text: exact characters, exact line numbers, and what is wrong with its bytes."""

from __future__ import annotations

import codecs
import gzip
import json
import re
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from io import BytesIO
from itertools import islice
from pathlib import Path
from stat import S_ISREG
from typing import Any, BinaryIO, cast

from nearspan.errors import CorpusError
from nearspan.formats.corpus import Problem, excerpt
from nearspan.io.paths import display_path
from nearspan.progress import progress

SAMPLE = 1 << 20
"""Bytes at the beginning of a file by which its format, its columns and the like are found."""

_WIDE = {
    "UTF-32": (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE),  # first, as one of its marks begins with one of UTF-16
    "UTF-16": (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE),
}
_MARK = "\ufeff"
_GZIP = b"\x1f\x8b"
_HEAD = 200  # lines by which the format of a file of synonyms is found
_FIRST_BYTES = 512
_FIRST_RECORDS = 20
_AFTER_VALUE = re.compile(r"[\s,]*")
_BLOCK = 1 << 20  # bytes that are unpacked at once
_MOST_UNPACKED = 1 << 28  # bytes that any file may unpack to
_MOST_RATIO = 200  # of a file that unpacks to more: text shrinks to a tenth, a bomb to a thousandth

Line = tuple[int, str]
"""A line's number, from 1, and its text."""


class _File:
    """A file by its path, and what is wrong in it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.name = display_path(path)  # for messages
        self.problems: list[Problem] = []

    def add_problem(self, kind: str, message: str, line: int = 0, lost: int = 0) -> None:
        """List something that is wrong in the file, and how many annotations are not read because of it."""
        self.problems.append(Problem(kind, message, self.name, line, int(lost)))

    def add_unexpected(self, text: str, expected: str, line: int, lost: int = 0) -> None:
        """List a line, or a part of one, that is not what was expected."""
        self.add_problem("malformed", f"found {excerpt(text)}, expected {expected}", line, lost)

    def _decode(self, line: bytes, number: int) -> str:
        """A line as text; bytes that are not UTF-8 are listed and read as U+FFFD."""
        try:
            return line.decode("utf-8")
        except UnicodeDecodeError as error:
            where = f"byte 0x{line[error.start]:02x} at byte {error.start + 1} of the line"
            self.add_problem("broken UTF-8", f"{where} is not UTF-8; read as U+FFFD", number)
            return line.decode("utf-8", "replace")

    def _list_invisible(self, line: str, number: int) -> None:
        """List the NUL bytes of a line and a byte order mark before it, which are kept."""
        if nuls := line.count("\0"):
            self.add_problem("NUL byte", f"{nuls} NUL bytes in the line", number)
        if line.startswith(_MARK):
            self.add_problem("byte order mark", "the line begins with U+FEFF, which is read as part of it", number)


class Source(_File):
    """A file or a folder by its path. The text of a file is read when it is first needed: as a whole (`text`, `lines`)
    or, if it is long, in blocks of lines that are not held together (`blocks`). `sample` is its beginning.

    A byte order mark is left out of `text` and remembered in `has_mark`. Broken UTF-8 is listed line by line in
    `problems` and read as U+FFFD; NUL bytes and marks before other lines are listed and kept. Whoever reads the file
    lists there what else is wrong, and counts in `annotations` what there is to read, and in `docstarts` the
    -DOCSTART- lines of columns.

    >>> Source(Path("a.txt"), "one\\r\\ntwo\\u2028still two\\n").lines
    ['one', 'two\\u2028still two']
    """

    has_mark = False
    annotations = 0
    docstarts = 0

    def __init__(self, path: Path, text: str | None = None, *, folder: Source | None = None) -> None:
        super().__init__(path)
        self.folder = folder  # counts the annotations of its files
        self.left_out: Counter[str] = Counter()
        if text is not None:
            self.text = text

    def count(self, annotations: int) -> None:
        """Count annotations as they stand in the file, before anything is made of them.

        Each must end as an entity of the corpus or in the `lost` of a problem: `read` compares the sums.
        """
        self.annotations += annotations
        if self.folder is not None:
            self.folder.count(annotations)

    def leave_out(self, what: str, count: int = 1) -> None:
        """Count what the file says and a document has no place for; `read` lists it once for the file or folder."""
        (self.folder or self).left_out[what] += count

    def left_out_problems(self) -> tuple[Problem, ...]:
        """What was left out, a problem for each kind."""
        counts = self.left_out.items()
        return tuple(Problem("left out", f"{what}: {count:,}", self.name) for what, count in counts if count)

    def read_bytes(self) -> bytes:
        """All bytes of the file, unpacked if it is compressed with gzip, whatever its name is."""
        if "text" in self.__dict__:
            return self.text.encode("utf-8")
        return self.read_raw_bytes()

    def read_raw_bytes(self) -> bytes:
        """The same without what was mended in the text."""
        with refuse_unreadable(self.path):
            data = self.path.read_bytes()
            data = _unpack(data, self.path) if data.startswith(_GZIP) else data
        _refuse_wide(data, self.path)
        return data

    def head(self, size: int) -> str:
        """The beginning of the text, by as many bytes, without reading the rest."""
        if "text" in self.__dict__:
            return self.text[:size]
        with refuse_unreadable(self.path), self.path.open("rb") as file:
            packed = file.peek(2)[:2] == _GZIP
            stream = cast(BinaryIO, gzip.GzipFile(fileobj=file)) if packed else file
            return stream.read(size).removeprefix(codecs.BOM_UTF8).decode("utf-8", "replace")

    @cached_property
    def text(self) -> str:
        """All characters of the file."""
        data = self.read_bytes()
        self.has_mark = data.startswith(codecs.BOM_UTF8)
        data = data.removeprefix(codecs.BOM_UTF8)
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError:
            end = line_end(data.decode("utf-8", "replace"))
            text = end.join(self._decode(line, number) for number, line in enumerate(data.split(end.encode()), 1))
        if "\0" in text or _MARK in text:
            for number, line in enumerate(text.split(line_end(text)), 1):
                self._list_invisible(line, number)
        return text

    @cached_property
    def file(self) -> str:
        """The name of the file alone, for the ids of documents; the same whether it is compressed or not."""
        return display_path(self.path.name.removesuffix(".gz"))

    @cached_property
    def lines(self) -> list[str]:
        """The lines: only \\n and \\r\\n end one (see `line_end`), as other separators may be part of a word.

        More carriage returns at the end of a line, and blanks among them, are listed and left out.
        """
        return self._clean(_split(self.text, line_end(self.text)), 1)

    @property
    def is_long(self) -> bool:
        """Whether there is more in the file than its `sample`. What was read as a whole is not long any more."""
        return "text" not in self.__dict__ and len(self._beginning) > SAMPLE

    @property
    def is_packed(self) -> bool:
        """Whether the bytes of the file itself are not its content: they are compressed, given, or come once."""
        if "text" in self.__dict__ or not self.path.is_file():
            return True
        with refuse_unreadable(self.path), self.path.open("rb") as file:
            return file.read(2) == _GZIP

    @cached_property
    def sample(self) -> str:
        """The first lines of a long file, with broken bytes read as U+FFFD; all of a file that is not long."""
        if not self.is_long:
            return self.text
        data = self._beginning[:SAMPLE].removeprefix(codecs.BOM_UTF8)
        end = data.rfind(b"\n") + 1
        return data[:end].decode("utf-8", "replace") if end else self.text  # there are no lines, or other line ends

    @cached_property
    def sample_lines(self) -> list[str]:
        """The lines of `sample`, as `lines` has them."""
        lines = _split(self.sample, "\n") if self.is_long else self.lines
        return list(map(_bare, lines)) if self.is_long and "\r" in self.sample else lines

    def blocks(self) -> Iterator[Line]:
        """The lines in blocks, joined by newlines, each with the number of its first line.

        A long file is read as the blocks are taken, and a bar shows how far it is.

        >>> [text.split("\\n") for _, text in Source(Path("a.txt"), "one\\r\\ntwo\\n").blocks()]
        [['one', 'two']]
        """
        if self.sample is self.__dict__.get("text") or not self.is_long:
            if self.lines:
                yield 1, "\n".join(self.lines)
            return
        number = 1
        for block in self._byte_blocks():
            try:
                text = block.decode("utf-8")
            except UnicodeDecodeError:
                lines = block.split(b"\n")
                text = "\n".join(self._decode(line, index) for index, line in enumerate(lines, number))
            count = text.count("\n") + 1
            if "\0" in text or _MARK in text:
                for index, line in enumerate(text.split("\n"), number):
                    self._list_invisible(line, index)
            yield number, "\n".join(self._clean(text.split("\n"), number)) if "\r" in text else text
            number += count

    @cached_property
    def _beginning(self) -> bytes:
        """The first bytes, one more than the sample has; none where a file may be read once only, as from a pipe."""
        with refuse_unreadable(self.path):
            if not S_ISREG(self.path.stat().st_mode):
                return b""
            with self.path.open("rb") as file:
                packed = file.peek(2)[:2] == _GZIP
                stream = cast(BinaryIO, gzip.GzipFile(fileobj=file)) if packed else file
                data = stream.read(SAMPLE + 1)
        _refuse_wide(data, self.path)
        return data

    def _byte_blocks(self) -> Iterator[bytes]:
        """The bytes of a long file in blocks of whole lines without the last line end."""
        with refuse_unreadable(self.path):
            size = self.path.stat().st_size
            most, unpacked, position = most_unpacked(size), 0, 0
            rest: list[bytes] = []  # of a line that goes on
            with self.path.open("rb") as file, progress() as advance:
                packed = file.peek(2)[:2] == _GZIP
                stream = cast(BinaryIO, gzip.GzipFile(fileobj=file)) if packed else file
                while data := stream.read(_BLOCK):
                    if not unpacked:
                        self.has_mark = data.startswith(codecs.BOM_UTF8)
                        data = data.removeprefix(codecs.BOM_UTF8)
                    unpacked += len(data)
                    if packed and unpacked > most:
                        raise unpacks_too_far(self.path, most, size)
                    position, before = file.tell(), position
                    advance(f"reading kB of {self.name}", (position >> 10) - (before >> 10), size >> 10)
                    end = data.rfind(b"\n")
                    if end < 0:
                        rest.append(data)
                        continue
                    yield b"".join([*rest, data[:end]])
                    rest = [data[end + 1 :]]
            if last := b"".join(rest):
                yield last

    def _clean(self, lines: list[str], first: int) -> list[str]:
        """Lines without the carriage returns at their ends; more than one of them is listed."""
        for index, line in enumerate(lines):
            if "\r" in line:
                lines[index] = bare = _bare(line)
                if len(bare) < len(line) - 1:
                    end = excerpt(line.removesuffix("\r")[len(bare) :])
                    message = f"the line ends in {end} before its line end; it is left out"
                    self.add_problem("malformed", message, first + index)
        return lines

    @cached_property
    def first_bytes(self) -> bytes:
        """The first bytes of the file, unpacked, by which formats that are no text are known."""
        if "text" in self.__dict__:
            return self.text[:_FIRST_BYTES].encode("utf-8", "replace")
        with refuse_unreadable(self.path), self.path.open("rb") as file:
            packed = file.peek(2)[:2] == _GZIP
            stream = cast(BinaryIO, gzip.GzipFile(fileobj=file)) if packed else file
            return stream.read(_FIRST_BYTES)

    @cached_property
    def first_records(self) -> list[Any]:
        """The first values of a file of JSON lines or of a JSON array, by which formats are known; none of other files.

        >>> Source(Path("a.jsonl"), '{"text": "Oslo"}\\nno JSON\\n').first_records
        [{'text': 'Oslo'}]
        """
        records = _first_values(self.sample)
        is_cut = self.is_long and not records and self.sample.lstrip()[:1] in ("{", "[")  # in the first value
        return _first_values(self.text) if is_cut else records


class Lines(_File):
    """The numbered lines of a file, read once and never held together; `head` has the first of them.

    The file may be compressed with gzip, whatever its name is. Broken UTF-8 is listed and read as U+FFFD.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._rest = self._read()
        self.head = list(islice(self._rest, _HEAD))
        if len(self.head) < _HEAD and not any(line.strip() for _, line in self.head):
            raise CorpusError(f"{self.name} is empty")

    def __iter__(self) -> Iterator[Line]:
        yield from self.head
        yield from self._rest

    def _read(self) -> Iterator[Line]:
        with refuse_unreadable(self.path), self.path.open("rb") as file:
            packed = file.peek(2)[:2] == _GZIP
            stream = cast(BinaryIO, gzip.GzipFile(fileobj=file)) if packed else file
            for number, line in enumerate(stream, 1):
                if number == 1:
                    _refuse_wide(line, self.path)
                    line = line.removeprefix(codecs.BOM_UTF8)
                text = self._decode(line.removesuffix(b"\n").removesuffix(b"\r"), number)
                self._list_invisible(text, number)
                yield number, text


def _first_values(text: str) -> list[Any]:
    """The first values of a JSON text, up to one that is not JSON or not complete."""
    records: list[Any] = []
    decoder = json.JSONDecoder()
    at = len(text) - len(text.lstrip())
    if text[at : at + 1] not in ("{", "["):
        return records
    is_array = text[at] == "[" and not has_lines_of_arrays(text)
    at += is_array
    while at < len(text) and len(records) < _FIRST_RECORDS:
        at = _AFTER_VALUE.match(text, at).end()  # type: ignore[union-attr]
        try:
            record, at = decoder.raw_decode(text, at)
            records.append(record)
        except (ValueError, RecursionError):
            end = text.find("\n", at)
            if is_array or end < 0:
                break
            at = end
    return records


def _split(text: str, end: str) -> list[str]:
    """The lines of a text; a line end at its end begins no other."""
    lines = text.split(end)
    if not lines[-1]:
        lines.pop()
    return lines


def _bare(line: str) -> str:
    """A line without the carriage returns at its end, and without blanks among several."""
    line = line.removesuffix("\r")
    return bare if "\r" in line and "\r" in line[len(bare := line.rstrip(" \t\r")) :] else line


def line_end(text: str) -> str:
    """What ends the lines of a file: a carriage return if there is no newline, as on old Macintoshes.

    >>> line_end("one\\rtwo"), line_end("one\\r\\ntwo")
    ('\\r', '\\n')
    """
    return "\r" if "\r" in text and "\n" not in text else "\n"


def has_lines_of_arrays(text: str) -> bool:
    """Whether a JSON text that begins with an array has one in each line, and is not one itself.

    No array of documents begins with a string.

    >>> has_lines_of_arrays('["Oslo", {}]\\n["Bergen", {}]\\n'), has_lines_of_arrays('[{"text": "Oslo"}]\\n')
    (True, False)
    >>> has_lines_of_arrays('["Oslo", {}]')
    True
    """
    line, _, rest = text.lstrip().partition("\n")
    if not line.rstrip().endswith("]"):
        return False
    return rest.lstrip()[:1] == "[" or (not rest.strip() and line[1:].lstrip()[:1] == '"')


@contextmanager
def refuse_unreadable(path: Path) -> Iterator[None]:
    """Turn what goes wrong while `path` is read into an error that names it."""
    try:
        yield
    except FileNotFoundError:
        raise CorpusError(f"{display_path(path)} does not exist") from None
    except (gzip.BadGzipFile, zlib.error, EOFError) as error:
        raise CorpusError(f"{display_path(path)} is a damaged gzip file: {error}") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise CorpusError(f"{display_path(path)} cannot be read: {reason}") from None


def most_unpacked(size: int) -> int:
    """The bytes that as many packed ones may unpack to; what unpacks to more was made to fill the memory."""
    return max(_MOST_UNPACKED, _MOST_RATIO * size)


def unpacks_too_far(path: Path, most: int, size: int) -> CorpusError:
    """The error for a file of some bytes that unpacks to more than `most`."""
    message = f"unpacks to more than {most:,} bytes from {size:,}, as no text does; unpack it first"
    return CorpusError(f"{display_path(path)} {message}")


def _unpack(data: bytes, path: Path) -> bytes:
    """What a file holds that is compressed with gzip; one that unpacks beyond all measure is refused."""
    blocks: list[bytes] = []
    size, most = 0, most_unpacked(len(data))
    with gzip.GzipFile(fileobj=BytesIO(data)) as file:
        while block := file.read(_BLOCK):
            blocks.append(block)
            size += len(block)
            if size > most:
                raise unpacks_too_far(path, most, len(data))
    return b"".join(blocks)


def _refuse_wide(data: bytes, path: Path) -> None:
    for name, marks in _WIDE.items():
        if data.startswith(marks):
            raise CorpusError(
                f"{display_path(path)} is {name}; write it as UTF-8 first: iconv -f {name} -t UTF-8 OLD > NEW"
            )
