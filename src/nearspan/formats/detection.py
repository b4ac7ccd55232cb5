"""The formats by name, and finding the right one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path

from nearspan.document import Document
from nearspan.errors import CorpusError, UnclearFormatError, did_you_mean
from nearspan.formats import brat, conll, indexed, jsonl, pubtator
from nearspan.formats.corpus import Corpus, Problem
from nearspan.formats.source import Source
from nearspan.formats.text_folder import refuse_taken
from nearspan.io.atomic import followed, told
from nearspan.io.paths import shown

AnyPath = str | PathLike[str]


@dataclass(frozen=True)
class Format:
    """A way to keep a corpus. brat alone is read from a path, as it is more than one file."""

    name: str
    endings: tuple[str, ...]
    read: Callable[[Source], Corpus] | None
    detect: Callable[[Source], bool] | None
    write: Callable[[Corpus, Path], tuple[Problem, ...]] | None


FORMATS = {
    each.name: each
    for each in (
        Format("pubtator", (".pubtator",), pubtator.read, pubtator.detect, pubtator.write),
        Format("indexed", (), indexed.read, indexed.detect, None),
        Format("conll", (".conll", ".iob", ".iob2", ".bio", ".tsv"), conll.read, conll.detect, conll.write),
        Format("jsonl", (".jsonl", ".json", ".ndjson"), jsonl.read, jsonl.detect, jsonl.write),
        Format("brat", ("",), None, None, brat.write),
    )
}
"""The known formats, in the order in which a file's content is compared with them."""


def read(
    paths: AnyPath | Iterable[AnyPath], format: str | None = None, *, columns: Sequence[int] | None = None
) -> Corpus:
    """Read one or several files or folders; the format is found from the content unless it is named.

    Args:
        paths: files, or folders of brat documents.
        format: a name in `FORMATS`.
        columns: which columns of a CoNLL file hold labels, from 0 or, if negative, from the end.

    Raises:
        CorpusError: a file is missing, empty, unreadable or of no known format. What is wrong inside a file
            is in `Corpus.problems` instead.
    """
    chosen = None if format is None else named(format)
    if columns is not None and format not in (None, "conll"):
        raise CorpusError(f"columns say which columns of a CoNLL file hold labels; {format} has none")
    if isinstance(paths, str | PathLike):
        paths = [paths]
    corpora = [_read_one(Path(fspath(path)), chosen, columns) for path in paths]
    if not corpora:
        raise CorpusError("no file to read; name at least one")
    return corpora[0] if len(corpora) == 1 else Corpus.merge(corpora)


def write(corpus: Corpus | Iterable[Document], path: AnyPath, format: str | None = None) -> tuple[Problem, ...]:
    """Write a corpus; the format is found from the ending of `path` unless it is named.

    The file is written whole or not at all. What the format cannot keep besides entities (words, sentences)
    is returned as problems; an entity that it cannot keep is a CorpusError.
    """
    target = Path(fspath(path))
    if format is None:
        format = _by_ending(target)
    writer = named(format).write
    if writer is None:
        writable = ", ".join(sorted(each.name for each in FORMATS.values() if each.write))
        raise CorpusError(f"the format {format} can be read but not written; write one of: {writable}")
    _refuse_unwritable(target, folder=format == "brat")
    return writer(corpus if isinstance(corpus, Corpus) else Corpus(tuple(corpus)), target)


def _refuse_unwritable(target: Path, *, folder: bool) -> None:
    """Find out before a corpus is made, which may take hours, that there is no place for it."""
    with told(target):
        if folder:
            refuse_taken(target)
        elif target.is_dir():
            raise CorpusError(f"{shown(target)} is a folder; name a file")
        if not followed(target).parent.is_dir():
            raise CorpusError(f"{shown(target)} cannot be written: there is no folder {shown(target.parent)}")


def named(name: str) -> Format:
    """The format of a name, or a CorpusError with the nearest name."""
    if name not in FORMATS:
        raise CorpusError(f"there is no format '{name}'; {did_you_mean(name, FORMATS)}")
    return FORMATS[name]


def _read_one(path: Path, chosen: Format | None, columns: Sequence[int] | None) -> Corpus:
    if not _exists(path):
        raise CorpusError(f"{shown(path)} does not exist")
    if chosen is FORMATS["brat"] or (chosen is None and brat.detect(path)):
        _refuse_columns(path, FORMATS["brat"], columns)
        return brat.read(path)
    if path.is_dir():
        raise CorpusError(f"{shown(path)} is a folder; only brat is read from a folder, name the files instead")
    source = Source.open(path)
    if not source.text.strip():
        raise CorpusError(f"{shown(path)} is empty")
    found = chosen or _by_content(source)
    _refuse_columns(path, found, columns)
    if columns is not None:
        return conll.read(source, columns)
    return found.read(source) if found.read is not None else brat.read(path)


def _refuse_columns(path: Path, found: Format, columns: Sequence[int] | None) -> None:
    if columns is not None and found is not FORMATS["conll"]:
        raise CorpusError(f"{shown(path)} is {found.name}; columns can be named for CoNLL files only")


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError) as error:
        raise CorpusError(f"{shown(path)} cannot be read: {error}") from None


def _by_content(source: Source) -> Format:
    for each in FORMATS.values():
        if each.detect is not None and each.detect(source):
            return each
    known = ", ".join(FORMATS)
    message = f"the format of {source.name} is not clear from its content; name it with --format: {known}"
    raise UnclearFormatError(message)


def _by_ending(path: Path) -> str:
    with told(path):
        if path.is_dir():
            return "brat"
    for each in FORMATS.values():
        if path.suffix.lower() in each.endings and each.write is not None:
            return each.name
    known = ", ".join(each.name for each in FORMATS.values() if each.write)
    raise CorpusError(f"the ending of {shown(path)} names no format; name it with --to (or format=): {known}")
