"""Whether something is at a path that may be no path at all, such as one with too long a name."""

from __future__ import annotations

from pathlib import Path


def exists(path: Path) -> bool:
    """Whether there is anything; no error where the system cannot look."""
    try:
        return path.exists()
    except OSError:
        return False


def is_file(path: Path) -> bool:
    """The same of a file.

    >>> is_file(Path("x" * 300))
    False
    """
    try:
        return path.is_file()
    except OSError:
        return False


def is_folder(path: Path) -> bool:
    """The same of a folder."""
    try:
        return path.is_dir()
    except OSError:
        return False
