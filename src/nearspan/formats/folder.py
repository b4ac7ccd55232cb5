"""Folders in which each document has a file of its own: their names, their order, and how they are written."""

import re
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from operator import ne
from pathlib import Path

from nearspan.formats.corpus import Corpus
from nearspan.io.atomic import copy_permissions, encode_text, name_in_errors, resolve_target, scratch, sync

_UNSAFE = re.compile(r"[^\w.,#@+=-]+")
_LONGEST, _DEEPEST = 60, 20  # characters of a name, and folders above it
_DIGITS = re.compile(r"([0-9]{1,18})")


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """A folder to write to, which takes the place of a missing or empty one when all is written; otherwise it goes."""
    with name_in_errors(path):
        target = resolve_target(path)
        beside = scratch(target)
        try:
            beside.mkdir()
            copy_permissions(beside, target)
            yield beside
            for file in beside.rglob("*"):
                sync(file)
            if target.exists():
                target.rmdir()
            beside.rename(target)
        except BaseException:
            with suppress(OSError):
                shutil.rmtree(beside)
            raise
        sync(target.parent)


def write_folder(path: Path, files: Iterable[tuple[str, Iterable[str]]]) -> None:
    """Write files, each by its name and its text, into a new or empty folder: all of them or none."""
    with new_folder(path) as folder:
        for name, pieces in files:
            file = folder / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(b"".join(encode_text(pieces)))


def natural_order(path: str) -> tuple[list[str | int], str]:
    """Numbers in names in the order of their values, and numbers of one value in that of their digits.

    >>> sorted(["10.ann", "9.ann", "09.ann"], key=natural_order)
    ['09.ann', '9.ann', '10.ann']
    """
    return [int(part) if index % 2 else part for index, part in enumerate(_DIGITS.split(path))], path


def file_names(corpus: Corpus, endings: tuple[str, ...]) -> Iterator[str]:
    """A file name for each document, without its ending; a folder in an id stays a folder.

    No folder is called as a file may be, which has one of these endings.

    >>> from nearspan.document import Document
    >>> corpus = Corpus((Document("a", id="1/x?"), Document("b", id="1/x?"), Document("c", id="../etc")))
    >>> list(file_names(corpus, (".tsv",)))
    ['1/x_', '1/x_-2', '_/etc']
    >>> list(file_names(Corpus((Document("a", id="x"), Document("b", id="x.txt/b"))), (".txt", ".ann")))
    ['x', 'x.txt_/b']
    """
    taken: set[str] = set()
    for document in corpus.documents:
        *above, last = [_UNSAFE.sub("_", part)[:_LONGEST] for part in document.id.split("/", _DEEPEST)]
        above = [part + "_" if part.casefold().endswith(endings) else part for part in above]
        parts = (part if part.strip(".") and part[0] not in ".-" else "_" + part.strip(".-") for part in (*above, last))
        safe = "/".join(parts)
        name, copies = safe, 1
        while name.casefold() in taken:
            copies += 1
            name = f"{safe}-{copies}"
        taken.add(name.casefold())
        yield name


def order_changes(files: Sequence[str]) -> dict[str, int]:
    """What is lost where files are read in the order of their names, and were not written in it.

    >>> order_changes(["2.ann", "10.ann"]), sum(order_changes(["b.ann", "a.ann", "c.ann"]).values())
    ({'the order of the documents was not kept, as they are read in the order of their names; at another place': 0}, 2)
    """
    change = "the order of the documents was not kept, as they are read in the order of their names; at another place"
    return {change: sum(map(ne, files, sorted(files, key=natural_order)))}


def files_that_end(folder: Path, endings: tuple[str, ...]) -> list[Path]:
    """The files of a folder, and of all folders in it, that have an ending, in the natural order of their names."""
    files = (file for file in folder.rglob("*") if file.name.lower().endswith(endings) and file.is_file())
    return sorted(files, key=lambda file: natural_order(file.as_posix()))
