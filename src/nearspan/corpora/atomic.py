"""Files that are written whole or not at all."""

from __future__ import annotations

import codecs
import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from nearspan.corpora.corpus import shown
from nearspan.errors import CorpusError


def write_file(path: Path, pieces: Iterable[str]) -> None:
    """Write text as UTF-8 beside `path`, then put it in its place in one step.

    If anything fails (a full disk, a text that cannot be written), the old file stays as it was. A text
    that begins with U+FEFF gets a byte order mark before it, so that reading it back does not take that
    character for one.
    """
    try:
        if path.exists() and not path.is_file():
            if path.is_dir():
                raise CorpusError(f"{shown(path)} is a folder; name a file")
            with path.open("wb") as stream:  # a pipe or a device: nothing to replace
                stream.writelines(_encoded(pieces))
            return
        target = path.resolve()
        beside = target.with_name(f".{target.name[:100]}.{os.getpid()}.tmp")
        try:
            with beside.open("wb") as stream:
                stream.writelines(_encoded(pieces))
                stream.flush()
                os.fsync(stream.fileno())
            beside.replace(target)
        except BaseException:
            with suppress(OSError):
                beside.unlink(missing_ok=True)
            raise
        sync_folder(target.parent)
    except OSError as error:
        raise CorpusError(f"{shown(path)} cannot be written: {error.strerror or error}") from None
    except UnicodeEncodeError as error:
        found = f"U+{ord(error.object[error.start]):04X}"
        message = f"the text holds the lone surrogate {found}, which is no character"
        raise CorpusError(f"{shown(path)} cannot be written: {message}") from None


def sync_folder(folder: Path) -> None:
    """Make a rename in a folder lasting, where the system can."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _encoded(pieces: Iterable[str]) -> Iterable[bytes]:
    first = True
    for piece in pieces:
        if first and piece:
            first = False
            if piece.startswith("\ufeff"):
                yield codecs.BOM_UTF8
        yield piece.encode("utf-8")
