"""Finding the format of a file: by its name, by its content, or by its ending."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from nearspan.errors import CorpusError, UnclearFormatError, did_you_mean
from nearspan.formats import brat, conll, indexed, jsonl, pubtator
from nearspan.formats.format import Format
from nearspan.formats.source import Source
from nearspan.io.atomic import name_in_errors
from nearspan.io.paths import display_path
from nearspan.registry import parts, register

BUILT_IN = tuple(
    register("format", part) for part in (brat.FORMAT, pubtator.FORMAT, indexed.FORMAT, conll.FORMAT, jsonl.FORMAT)
)
"""Our formats, in the order in which a file's content is compared with them."""


def known_formats() -> Mapping[str, Format]:
    """All formats by name, in the order of detection: those of other packages first, as ours may take their files.

    >>> list(known_formats())[-2:]
    ['conll', 'jsonl']
    """
    outside = [part for part in parts("format").values() if part not in BUILT_IN]
    return {part.name: part for part in (*outside, *BUILT_IN)}


def format_named(name: str) -> Format:
    """The format of a name, or a CorpusError with the nearest name or all of them."""
    known = known_formats()
    if name not in known:
        raise CorpusError(f"there is no format '{name}'; {did_you_mean(name, known)}")
    return known[name]


def find_format(source: Source) -> Format:
    """The format of a file or a folder by its content; formats of folders are asked first, as they need not read it."""
    known = known_formats()
    for part in known.values():
        if part.folder and part.detect(source):
            return part
    refuse_folder(source.path)
    refuse_empty(source)
    for part in known.values():
        if not part.folder and part.detect(source):
            return part
    names = ", ".join(known)
    raise UnclearFormatError(
        f"the format of {source.name} is not clear from its content; name it with `format`: {names}"
    )


def format_by_ending(path: Path) -> Format:
    """The format to write by the name of the file; where two have the same ending, ours goes first."""
    with name_in_errors(path):
        is_folder = path.is_dir()
    writable = sorted((part for part in known_formats().values() if part.write), key=lambda part: part not in BUILT_IN)
    for part in writable:
        if part.folder if is_folder else path.suffix.lower() in part.endings:
            return part
    names = ", ".join(part.name for part in writable)
    raise CorpusError(f"the ending of {display_path(path)} names no format; name it with `format`: {names}")


def refuse_folder(path: Path) -> None:
    """Raise a CorpusError if a path that must be a file is a folder."""
    if path.is_dir():
        names = ", ".join(part.name for part in known_formats().values() if part.folder)
        raise CorpusError(
            f"{display_path(path)} is a folder; only {names} is read from a folder, name the files instead"
        )


def refuse_empty(source: Source) -> None:
    """Raise a CorpusError if a file holds nothing but white space."""
    if not source.text.strip():
        raise CorpusError(f"{source.name} is empty")
