"""Where results go: never over what is read, and over other files only where that is asked for."""

import os
from collections.abc import Iterable
from pathlib import Path

from nearspan.errors import CorpusError
from nearspan.io.atomic import descriptor, name_in_errors, resolve_target
from nearspan.io.paths import display_path

PAGE_TITLE = " · nearspan</title>"  # at the beginning of every page that is written
HEAD = 8_192  # bytes of a file in which it is looked for


def check_outputs(
    outputs: Iterable[Path | None], inputs: Iterable[str | os.PathLike[str]] = (), *, force: bool = False
) -> None:
    """Refuse to write over what is read, twice to one file and, without `force`, over a file that is there.

    An empty file is replaced, and so is a page of ours. Nothing is replaced where an output is a pipe, a device or a
    file that is open already, such as /dev/stdout.
    """
    sources = {Path(path) for path in inputs}
    targets: list[Path] = []
    for path in filter(None, outputs):
        name = display_path(path)
        with name_in_errors(path):
            if path.is_file():
                if any(_is_part(path, source) for source in sources):
                    raise CorpusError(f"{name} is among the files that are read, and would be lost: name another file")
                replaced = descriptor(path) is None and path.stat().st_size > 0
                if replaced and not force and not is_own_page(path):
                    raise CorpusError(f"{name} exists already: name another file, or say `force` to write over it")
            target = resolve_target(path)
        if target in targets:
            raise CorpusError(f"{name} is to be written twice: name two files")
        targets.append(target)


def is_own_page(path: Path) -> bool:
    """Whether a file is a page that nearspan has written."""
    try:
        with path.open("rb") as file:
            return PAGE_TITLE.encode() in file.read(HEAD)
    except OSError:
        return False


def _is_part(path: Path, source: Path) -> bool:
    """Whether a file is another one, by whatever name, or is in that folder."""
    try:
        return path.samefile(source) or (source.is_dir() and path.resolve().is_relative_to(source.resolve()))
    except OSError:
        return False
