"""Whether something is at a path that may be no path at all, such as one with too long a name; opening a file."""

import os
import stat
from collections.abc import Callable
from io import BufferedReader
from os import PathLike, fspath
from pathlib import Path

from nearspan.errors import ModelError, NearspanError

READING = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0) | getattr(os, "O_BINARY", 0)


def exists(path: Path) -> bool:
    """Whether there is anything; no error where nothing can be, but one where looking is forbidden."""
    return _look(path, path.exists)


def is_file(path: Path) -> bool:
    """The same of a file.

    >>> is_file(Path("x" * 300))
    False
    """
    return _look(path, path.is_file)


def is_folder(path: Path) -> bool:
    """The same of a folder."""
    return _look(path, path.is_dir)


def _look(path: Path, ask: Callable[[], bool]) -> bool:
    try:
        return ask()
    except PermissionError as error:  # to say that nothing is there would mislead
        raise NearspanError(f"{path} cannot be looked at: you may not enter a folder on the way to it") from error
    except OSError:
        return False


def open_regular(path: Path) -> BufferedReader:
    """Open a file of a model folder for reading; an error at once where it is a pipe, a socket or a device.

    Nothing is waited for: a pipe that nobody writes to would be waited for without end.
    """
    descriptor = os.open(path, READING)
    mode = os.fstat(descriptor).st_mode
    if not stat.S_ISREG(mode):
        os.close(descriptor)
        kind = "a folder" if stat.S_ISDIR(mode) else "a pipe or a device"
        raise ModelError(f"{display_path(path)} is {kind}, not a file: put back a sound copy of it")
    return os.fdopen(descriptor, "rb")


def display_path(path: str | PathLike[str]) -> str:
    """A path as it can be printed, even where its name is not valid Unicode."""
    return fspath(path).encode("utf-8", "replace").decode("utf-8")
