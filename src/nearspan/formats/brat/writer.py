"""Writing brat standoff: a new folder of `.txt` and `.ann` files, complete or not there at all."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable, Iterator
from contextlib import suppress
from operator import ne
from pathlib import Path

from nearspan.document import Document
from nearspan.errors import CorpusError
from nearspan.formats.corpus import Corpus, Problem, excerpt
from nearspan.formats.unkept import list_changes, plain_text_changes
from nearspan.io.atomic import encode_text, let_read, name_in_errors, resolve_target, scratch, sync

_UNSAFE = re.compile(r"[^\w.,#@+=-]+")
_LONGEST, _DEEPEST = 60, 20  # characters of a name, and folders above it
_DIGITS = re.compile(r"([0-9]{1,18})")


def write(corpus: Corpus, path: Path) -> tuple[Problem, ...]:
    """Write a folder; documents are named after their ids, made safe and unique, and read again in order of names.

    The folder must be new or empty, so that no documents of another corpus are left between the new ones.
    """
    names = list(file_names(corpus))
    with name_in_errors(path):
        target = resolve_target(path)
        beside = scratch(target)
        try:
            beside.mkdir()
            let_read(beside, target)
            for name, document in zip(names, corpus, strict=True):
                file = beside / name
                file.parent.mkdir(parents=True, exist_ok=True)
                _write_text(file.with_name(file.name + ".txt"), [document.text])
                _write_text(file.with_name(file.name + ".ann"), _lines(document))
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
    files = [f"{name}.ann" for name in names]
    changes = plain_text_changes(corpus, names, "brat")
    change = "the order of the documents was not kept, as they are read in the order of their names; at another place"
    changes[change] = sum(map(ne, files, sorted(files, key=natural_order)))
    return list_changes(path, changes)


def natural_order(path: str) -> tuple[list[str | int], str]:
    """Numbers in names in the order of their values, and numbers of one value in that of their digits.

    >>> sorted(["10.ann", "9.ann", "09.ann"], key=natural_order)
    ['09.ann', '9.ann', '10.ann']
    """
    return [int(part) if index % 2 else part for index, part in enumerate(_DIGITS.split(path))], path


def file_names(corpus: Corpus) -> Iterator[str]:
    """A file name for each document, without its ending; a folder in an id stays a folder.

    >>> list(file_names(Corpus((Document("a", id="1/x?"), Document("b", id="1/x?"), Document("c", id="../etc")))))
    ['1/x_', '1/x_-2', '_/etc']
    >>> list(file_names(Corpus((Document("a", id="x"), Document("b", id="x.txt/b")))))  # x.txt is a file already
    ['x', 'x.txt_/b']
    """
    taken: set[str] = set()
    for document in corpus.documents:
        *above, last = document.id.split("/", _DEEPEST)
        above = [_UNSAFE.sub("_", part)[:_LONGEST] for part in above]
        above = [part + "_" if part.casefold().endswith((".txt", ".ann")) else part for part in above]
        parts = [*above, _UNSAFE.sub("_", last)[:_LONGEST]]
        safe = "/".join(part if part.strip(".") and part[0] not in ".-" else "_" + part.strip(".-") for part in parts)
        name, count = safe, 1
        while name.casefold() in taken:
            count += 1
            name = f"{safe}-{count}"
        taken.add(name.casefold())
        yield name


def _write_text(path: Path, pieces: Iterable[str]) -> None:
    with path.open("wb") as stream:
        stream.writelines(encode_text(pieces))


def _lines(document: Document) -> Iterator[str]:
    for number, entity in enumerate(document.entities, 1):
        if entity.label != entity.label.strip() or not entity.label or set(entity.label) & set("\t\r\n"):
            reason = f"the label {excerpt(entity.label)} is empty or holds white space"
            raise CorpusError(f"document {excerpt(document.id)}: {reason}; brat cannot hold it, jsonl can")
        offsets = ";".join(f"{start} {end}" for start, end in entity.span.fragments)
        text = re.sub(r"[\t\r\n]", " ", entity.text)
        yield f"T{number}\t{entity.label} {offsets}\t{text}\n"
