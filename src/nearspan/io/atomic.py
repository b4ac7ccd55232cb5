"""Files that are written whole or not at all."""

import codecs
import os
import re
import stat
import sys
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from nearspan.errors import CorpusError
from nearspan.io.paths import display_path

_DESCRIPTORS = re.compile("/proc/([0-9]+)/fd|/dev/fd")


def write_file(path: Path, pieces: Iterable[str] | Iterable[bytes]) -> None:
    """Write text as UTF-8, or bytes, beside `path`, then put it in its place in one step.

    If anything fails (a full disk, a text that cannot be written), the old file stays as it was. A text
    that begins with U+FEFF gets a byte order mark before it, so that reading it back does not take that
    character for one. It is compressed with gzip if the name ends in `.gz`.
    """
    with name_in_errors(path):
        if (number := descriptor(path)) is not None:
            if sys.stdout is not None:
                sys.stdout.flush()
            with os.fdopen(os.dup(number), "wb") as stream:
                stream.writelines(encode_text(pieces))
            return
        if path.exists() and not path.is_file():
            if path.is_dir():
                raise CorpusError(f"{display_path(path)} is a folder; name a file")
            with path.open("wb") as stream:  # a pipe or a device: nothing to replace
                stream.writelines(encode_text(pieces))
            return
        target = resolve_target(path)
        data = encode_text(pieces)
        replace_file(target, _compress(data) if path.suffix.lower() == ".gz" else data, scratch(target))
        sync(target.parent)


def replace_file(path: Path, pieces: Iterable[bytes], beside: Path | None = None) -> None:
    """Give a file other content in one step: it is written `beside` it, for good, and then gets the name.

    What lies there from a crash is removed, and no link that lies there is followed. If anything fails, the old file
    stays as it was. The new name lasts once the folder is synced, which is left to the caller.
    """
    beside = beside or path.with_name(f".{path.name}.new")
    try:
        beside.unlink(missing_ok=True)
        with beside.open("xb") as file:
            copy_permissions(beside, path)
            file.writelines(pieces)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    except BaseException:
        with suppress(OSError):
            beside.unlink(missing_ok=True)
        raise


def descriptor(path: Path) -> int | None:
    """The number of the open file of this process that a path names, as /dev/stdout does; else nothing.

    Such a file is somebody else's, who may have written to it and may go on: it is not replaced, nor begun anew.
    """
    for _ in range(40):  # links that lead back to themselves end here
        if path.name.isdecimal() and len(path.name) < 10:
            match = _DESCRIPTORS.fullmatch(os.path.realpath(path.parent))
            if match and match[1] in (None, str(os.getpid())):
                return int(path.name)
        if not path.is_symlink():
            return None
        path = path.parent / path.readlink()
    return None


def copy_permissions(new: Path, old: Path) -> None:
    """Let only those read a file or a folder who may read the one that it will replace, if there is one."""
    with suppress(FileNotFoundError, PermissionError):
        new.chmod(stat.S_IMODE(old.stat().st_mode) | stat.S_IWUSR)


def resolve_target(path: Path) -> Path:
    """Where a path leads, whether something is there or not; an OSError where that cannot be found out."""
    with suppress(FileNotFoundError):
        path.stat()  # `resolve` has no OSError for links that lead back to themselves
    return path.resolve()


def scratch(target: Path) -> Path:
    """A name beside `target` for what will take its place, never longer in bytes than systems allow.

    >>> len(scratch(Path("北" * 80)).name.encode()) < 150
    True
    """
    name = os.fsencode(target.name)[:100].decode("utf-8", "ignore")
    return target.with_name(f".{name}.{os.getpid()}.tmp")


@contextmanager
def name_in_errors(path: Path) -> Iterator[None]:
    """Turn what goes wrong while `path` is written into a CorpusError that names it."""
    try:
        yield
    except OSError as error:
        raise CorpusError(f"{display_path(path)} cannot be written: {error.strerror or error}") from None
    except UnicodeEncodeError as error:
        character = f"U+{ord(error.object[error.start]):04X}"
        message = f"the text holds the lone surrogate {character}, which is no character"
        raise CorpusError(f"{display_path(path)} cannot be written: {message}") from None


def sync(path: Path) -> None:
    """Make a file, or a rename in a folder, lasting where the system can."""
    with suppress(OSError):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _compress(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Bytes as a gzip file, the same for the same bytes whenever it is written."""
    packer = zlib.compressobj(wbits=zlib.MAX_WBITS | 16)  # 16: with the header of gzip
    yield from map(packer.compress, pieces)
    yield packer.flush()


def encode_text(pieces: Iterable[str] | Iterable[bytes]) -> Iterator[bytes]:
    """Text as UTF-8 bytes, a first U+FEFF after a byte order mark; bytes stay as they are."""
    first = True
    for piece in pieces:
        if isinstance(piece, bytes):
            yield piece
            continue
        if first and piece:
            first = False
            if piece.startswith("\ufeff"):
                yield codecs.BOM_UTF8
        yield piece.encode("utf-8")
