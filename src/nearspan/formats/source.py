"""A file as text: exact characters, exact line numbers, and what is wrong with its bytes."""

from __future__ import annotations

import codecs
from functools import cached_property
from pathlib import Path

from nearspan.errors import CorpusError
from nearspan.formats.corpus import Problem
from nearspan.io.paths import display_path

_WIDE = {
    "UTF-32": (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE),  # first, as one of its marks begins with one of UTF-16
    "UTF-16": (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE),
}


class Source:
    """A file or a folder by its path. The text of a file is read when it is first needed.

    A byte order mark is left out of `text` and remembered in `has_mark`. Broken UTF-8 is listed line by line in
    `problems` and read as U+FFFD; NUL bytes are listed and kept.

    >>> Source(Path("a.txt"), "one\\r\\ntwo\\u2028still two\\n").lines
    ['one', 'two\\u2028still two']
    """

    def __init__(self, path: Path, text: str | None = None) -> None:
        self.path = path
        if text is not None:
            self._content = text, [], False

    @property
    def text(self) -> str:
        """All characters of the file."""
        return self._content[0]

    @property
    def problems(self) -> list[Problem]:
        """What is wrong with the bytes of the file."""
        return self._content[1]

    @property
    def has_mark(self) -> bool:
        """Whether the file begins with a byte order mark."""
        return self._content[2]

    @cached_property
    def _content(self) -> tuple[str, list[Problem], bool]:
        data = _read_bytes(self.path)
        refuse_wide(data, self.path)
        has_mark = data.startswith(codecs.BOM_UTF8)
        data = data.removeprefix(codecs.BOM_UTF8)
        problems: list[Problem] = []
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError:
            text = _decode_lines(data, self.name, problems)
        if "\0" in text:
            for number, line in enumerate(text.split(line_end(text)), 1):
                list_nuls(line, self.name, number, problems)
        return text, problems, has_mark

    @property
    def name(self) -> str:
        """The path for messages."""
        return display_path(self.path)

    @property
    def file(self) -> str:
        """The name of the file alone, for the ids of documents."""
        return display_path(self.path.name)

    @cached_property
    def lines(self) -> list[str]:
        """The lines: only \\n and \\r\\n end one (see `line_end`), as other separators may be part of a word."""
        lines = self.text.split(line_end(self.text))
        if not lines[-1]:
            lines.pop()
        return [line[:-1] if line.endswith("\r") else line for line in lines]


def line_end(text: str) -> str:
    """What ends the lines of a file: a carriage return if there is no newline, as on old Macintoshes.

    >>> line_end("one\\rtwo"), line_end("one\\r\\ntwo")
    ('\\r', '\\n')
    """
    return "\r" if "\r" in text and "\n" not in text else "\n"


def _read_bytes(path: Path) -> bytes:
    """The bytes of a file, or a CorpusError that says why not."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise CorpusError(f"{display_path(path)} does not exist") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise CorpusError(f"{display_path(path)} cannot be read: {reason}") from None


def refuse_wide(data: bytes, path: Path) -> None:
    """Raise a CorpusError if the bytes begin with the byte order mark of UTF-16 or UTF-32."""
    for name, marks in _WIDE.items():
        if data.startswith(marks):
            raise CorpusError(
                f"{display_path(path)} is {name}; write it as UTF-8 first: iconv -f {name} -t UTF-8 OLD > NEW"
            )


def decode_line(line: bytes, path: str, number: int, problems: list[Problem]) -> str:
    """A line as text; bytes that are not UTF-8 are listed and read as U+FFFD."""
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        message = f"byte 0x{line[error.start]:02x} at byte {error.start + 1} of the line is not UTF-8; read as U+FFFD"
        problems.append(Problem("broken UTF-8", message, path, number))
        return line.decode("utf-8", "replace")


def list_nuls(line: str, path: str, number: int, problems: list[Problem]) -> None:
    """List the NUL bytes of a line, which are kept."""
    if nuls := line.count("\0"):
        problems.append(Problem("NUL byte", f"{nuls} NUL bytes in the line", path, number))


def _decode_lines(data: bytes, path: str, problems: list[Problem]) -> str:
    end = line_end(data.decode("utf-8", "replace"))
    lines = data.split(end.encode())
    return end.join(decode_line(line, path, number, problems) for number, line in enumerate(lines, 1))
