"""The lines of a file one at a time, plain or compressed, with what is wrong with its bytes."""

from __future__ import annotations

import codecs
import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import BinaryIO, cast

from nearspan.errors import CorpusError
from nearspan.formats.corpus import Problem
from nearspan.formats.source import decode_line, list_nuls, refuse_wide
from nearspan.io.paths import display_path

_GZIP = b"\x1f\x8b"
_HEAD = 200

Line = tuple[int, str]
Concept = tuple[str, list[str]]
"""An identifier, which may be "", and names."""


class Lines:
    """The numbered lines of a file, read once and never held together; `head` has the first of them.

    The file may be compressed with gzip, whatever its name is. Broken UTF-8 is listed and read as U+FFFD.
    """

    def __init__(self, path: Path, problems: list[Problem]) -> None:
        self.path = path
        self.name = display_path(path)
        self.problems = problems
        self._rest = self._read()
        self.head = list(islice(self._rest, _HEAD))
        if len(self.head) < _HEAD and not any(line.strip() for _, line in self.head):
            raise CorpusError(f"{self.name} is empty")

    def __iter__(self) -> Iterator[Line]:
        yield from self.head
        yield from self._rest

    def add_problem(self, kind: str, message: str, number: int = 0) -> None:
        """List something that is wrong in the file."""
        self.problems.append(Problem(kind, message, self.name, number))

    def _read(self) -> Iterator[Line]:
        with _name_in_errors(self.path), self.path.open("rb") as file:
            packed = file.peek(2)[:2] == _GZIP
            stream = cast(BinaryIO, gzip.GzipFile(fileobj=file)) if packed else file
            for number, line in enumerate(stream, 1):
                if number == 1:
                    refuse_wide(line, self.path)
                    line = line.removeprefix(codecs.BOM_UTF8)
                text = decode_line(line.removesuffix(b"\n").removesuffix(b"\r"), self.name, number, self.problems)
                list_nuls(text, self.name, number, self.problems)
                yield number, text


@contextmanager
def _name_in_errors(path: Path) -> Iterator[None]:
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
