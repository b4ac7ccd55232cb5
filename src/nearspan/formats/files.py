"""Corpora in files: read any known format, write any of them; formats are found by name, by content or by ending."""

import gc
from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from os import PathLike, fspath
from pathlib import Path
from stat import S_ISDIR
from typing import TYPE_CHECKING, cast

from nearspan.document import Document
from nearspan.errors import CorpusError, UnclearFormatError, did_you_mean
from nearspan.formats import (
    argilla,
    bioc,
    brat,
    cas,
    conll,
    conllu,
    datasets,
    doccano,
    dygie,
    gliner,
    indexed,
    jsonl,
    label_studio,
    ner_tags,
    parquet,
    prodigy,
    pubtator,
    spacy_docbin,
    spacy_json,
    tables,
    webanno,
)
from nearspan.formats.corpus import Corpus, Problem
from nearspan.formats.flatten import Unfit, drop_discontinuous, drop_overlapping, flatten
from nearspan.formats.format import Format, ending, list_changes, refuse_loss
from nearspan.formats.source import Source, refuse_unreadable
from nearspan.io.atomic import name_in_errors, resolve_target
from nearspan.io.outputs import check_outputs
from nearspan.io.paths import display_path
from nearspan.registry import parts, register

if TYPE_CHECKING:
    from pandas import DataFrame

BUILT_IN = tuple(
    register("format", part)
    for part in (
        datasets.FORMAT,
        cas.XMI,
        cas.JSON,
        webanno.FORMAT,
        brat.FORMAT,
        parquet.FORMAT,
        spacy_docbin.FORMAT,
        bioc.XML,
        bioc.JSON,
        conllu.FORMAT,
        tables.CSV,
        tables.TSV,
        label_studio.FORMAT,
        label_studio.MIN,
        argilla.FORMAT,
        prodigy.FORMAT,
        spacy_json.FORMAT,
        doccano.FORMAT,
        gliner.FORMAT,
        dygie.FORMAT,
        ner_tags.FORMAT,
        pubtator.FORMAT,
        indexed.FORMAT,
        conll.FORMAT,
        jsonl.FORMAT,
    )
)
"""Our formats, in the order in which a file's content is compared with them."""

AnyPath = str | PathLike[str]
Documents = AnyPath | Iterable[AnyPath] | Iterable[Document]
"""What functions that need documents take: a path, several paths, a corpus, or any documents."""


def known_formats() -> Mapping[str, Format]:
    """All formats by name, in the order of detection: those of other packages first, as ours may take their files.

    >>> list(known_formats())[-2:]
    ['conll', 'jsonl']
    """
    outside = [part for part in parts("format").values() if part not in BUILT_IN]
    return {part.name: part for part in (*outside, *BUILT_IN)}


def read(
    paths: "AnyPath | Iterable[AnyPath] | DataFrame",
    format: str | None = None,
    *,
    columns: Sequence[int] | None = None,
) -> Corpus:
    """Read one or several files or folders; the format is found from the content unless it is named.

        corpus = nearspan.read("train.conll")

    Args:
        paths: files, or folders of brat documents; a `datasets.Dataset` or `DatasetDict`; or a pandas frame, as
            `Corpus.from_pandas` reads it.
        format: the name of a format.
        columns: which columns of a CoNLL file hold labels, from 0 or, if negative, from the end.

    Raises:
        CorpusError: a file is missing, empty, unreadable or of no known format. What is wrong inside a file
            is in `Corpus.problems` instead.
    """
    if type(paths).__module__.partition(".")[0] == "pandas":
        return tables.from_frame(cast("DataFrame", paths))
    if datasets.is_dataset(paths):
        return datasets.read_dataset(paths)
    chosen = None if format is None else _format_named(format)
    if chosen is not None:
        _refuse_columns(columns, chosen)
    paths = [paths] if isinstance(paths, str | PathLike) else paths
    corpora = [_read_path(Path(fspath(path)), chosen, columns) for path in paths]
    if not corpora:
        raise CorpusError("no file to read; name at least one")
    return corpora[0] if len(corpora) == 1 else Corpus.merge(corpora)


def write(
    documents: Documents, path: AnyPath, format: str | None = None, *, force: bool = False, unfit: Unfit = "refuse"
) -> tuple[Problem, ...]:
    """Write a corpus; the format is found from the ending of `path` unless it is named.

        nearspan.write(corpus, "train.jsonl")

    The file is written whole or not at all, and over another one only with `force`; the files that the documents
    were read from are never written over. What the format cannot keep besides entities (words, sentences) is returned
    as problems; an entity that it cannot keep is a CorpusError.

    With `unfit="drop"` discontinuous entities are left out where the format has none, and of entities that share
    characters all but the widest where it has no nested ones. With `unfit="flatten"` no two
    entities share a character in any format: the widest stay, and discontinuous ones become contiguous. What was left
    out or changed is returned as problems too.
    """
    target = Path(fspath(path))
    chosen = writable_format(target, format)
    check_outputs([target], _sources(documents), force=force)
    corpus, changes = as_documents(documents), Counter[str]()
    if unfit == "flatten":
        corpus, changes = flatten(corpus)
    elif unfit == "drop" and not chosen.discontinuous:
        corpus, changes = drop_discontinuous(corpus)
    if unfit == "drop" and not chosen.nested:
        corpus, overlapping = drop_overlapping(corpus)
        changes += overlapping
    return (*list_changes(target, changes), *(chosen.write(corpus, target) if chosen.write else ()))


def writable_format(target: Path, format: str | None = None) -> Format:
    """The format that `write` gives a path, or a CorpusError if it cannot be written, or not there."""
    chosen = _format_by_ending(target) if format is None else _format_named(format)
    if chosen.write is None:
        names = ", ".join(sorted(part.name for part in known_formats().values() if part.write))
        raise CorpusError(f"the format {chosen.name} can be read but not written; write one of: {names}")
    _refuse_unwritable(target, chosen)
    return chosen


def as_documents(source: Documents) -> Corpus:
    """The documents of a path, of several paths, of a corpus or of anything that yields documents.

    A corpus is a sequence of documents; whatever takes documents calls this, so that it takes a path as well.

    >>> as_documents([Document("Oslo"), Document("Bergen")])
    Corpus(2 documents, 0 entities)
    >>> from nearspan.formats import sample
    >>> as_documents(sample.path("dev")).format
    'jsonl'
    """
    if isinstance(source, Corpus):
        return source
    if datasets.is_dataset(source):
        return datasets.read_dataset(source)
    if isinstance(source, str | PathLike):
        return read(source)
    items = list(source)
    paths = [item for item in items if isinstance(item, str | PathLike)]
    if paths and len(paths) == len(items):
        return read(paths)
    documents = tuple(item for item in items if isinstance(item, Document))
    if len(documents) < len(items):
        kinds = ", ".join(sorted({type(item).__name__ for item in items}))
        raise CorpusError(f"found {kinds} in a list, expected documents alone or paths alone")
    return Corpus(documents)


def _sources(documents: Documents) -> list[AnyPath]:
    """The files that documents are read from, or were."""
    if isinstance(documents, Corpus):
        return list(dict.fromkeys(place.path for place in documents.places))
    if isinstance(documents, str | PathLike):
        return [documents]
    items = documents if isinstance(documents, list | tuple) else ()
    return [item for item in items if isinstance(item, str | PathLike)]


def _format_named(name: str) -> Format:
    """The format of a name, or a CorpusError with the nearest name or all of them."""
    known = known_formats()
    if name not in known:
        raise CorpusError(f"there is no format '{name}'; {did_you_mean(name, known)}")
    return known[name]


def _read_path(path: Path, chosen: Format | None, columns: Sequence[int] | None) -> Corpus:
    with refuse_unreadable(path):
        is_folder = S_ISDIR(path.stat().st_mode)
    source, known = Source(path), known_formats().values()
    named = chosen is not None
    if not named:  # formats of folders are asked first, as they need not read the file
        chosen = next((part for part in known if part.folder and part.detect(source)), None)
    if is_folder and (chosen is None or not chosen.folder):
        names = " and ".join(part.name for part in known if part.folder)
        raise CorpusError(f"{source.name} is a folder; only {names} are read from a folder, name the files instead")
    if chosen is None:
        chosen = next((part for part in known if part.binary and part.detect(source)), None)
    if chosen is None or not chosen.folder:
        text = source.first_bytes.removeprefix(BOM_UTF8) if chosen is not None and chosen.binary else source.text
        if not text.strip():
            raise CorpusError(f"{source.name} is empty")
    chosen = chosen or next((part for part in known if not (part.folder or part.binary) and part.detect(source)), None)
    if chosen is None:
        names = ", ".join(part.name for part in known)
        message = f"the format of {source.name} is not clear from its content; name it with `format`: {names}"
        raise UnclearFormatError(message)
    if not named:
        _refuse_columns(columns, chosen, source.name)
    with _without_collection():
        corpus = refuse_loss(chosen.read(source) if columns is None else chosen.read(source, columns), source)
    return replace(corpus, problems=(*corpus.problems, *source.left_out_problems()))


@contextmanager
def _without_collection() -> Iterator[None]:
    """Look for no cycles while millions of objects are made that hold none: it takes longer than all the reading."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _format_by_ending(path: Path) -> Format:
    """The format to write by the name of the file; where two have the same ending, ours goes first."""
    with name_in_errors(path):
        is_folder = path.is_dir()
    writable = sorted((part for part in known_formats().values() if part.write), key=lambda part: part not in BUILT_IN)
    for part in writable:
        if "" in part.endings if is_folder else ending(path) in part.endings:
            return part
    names = ", ".join(part.name for part in writable)
    raise CorpusError(f"the ending of {display_path(path)} names no format; name it with `format`: {names}")


def _refuse_columns(columns: Sequence[int] | None, chosen: Format, name: str = "") -> None:
    if columns is not None and not chosen.columns:
        names = ", ".join(part.name for part in known_formats().values() if part.columns)
        subject = f"{name} is {chosen.name}, which" if name else chosen.name
        raise CorpusError(f"{subject} has no label columns; `columns` can be named for {names} only")


def _refuse_unwritable(target: Path, chosen: Format) -> None:
    """Find out before documents are made, which may take hours, that there is no place for them."""
    name = display_path(target)
    with name_in_errors(target):
        if chosen.folder:
            if target.exists() and (not target.is_dir() or any(target.iterdir())):
                raise CorpusError(f"{name} exists already; {chosen.name} is written to a new or empty folder")
        elif target.is_dir():
            raise CorpusError(f"{name} is a folder; name a file")
        if not resolve_target(target).parent.is_dir():
            raise CorpusError(f"{name} cannot be written: there is no folder {display_path(target.parent)}")
