"""Whether something is at a path that may be no path at all, such as one with too long a name."""

from collections.abc import Callable
from os import PathLike, fspath
from pathlib import Path

from nearspan.errors import NearspanError


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


def display_path(path: str | PathLike[str]) -> str:
    """A path as it can be printed, even where its name is not valid Unicode."""
    return fspath(path).encode("utf-8", "replace").decode("utf-8")
