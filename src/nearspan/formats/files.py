"""Corpora in files: read any known format, write any of them; formats are found by name, by content or by ending."""

from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
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
    langextract,
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
from nearspan.formats.document_stream import Reading, Stream
from nearspan.formats.flatten import Unfit, drop_discontinuous, drop_overlapping, flatten
from nearspan.formats.foreign import describe
from nearspan.formats.format import Format, ending, list_changes
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
        langextract.FORMAT,
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
    return stream(paths, format, columns=columns).collect()


def stream(
    paths: AnyPath | Iterable[AnyPath], format: str | None = None, *, columns: Sequence[int] | None = None
) -> Stream:
    """The documents of files one after another, as they are read; `read` is a stream that was collected.

        for document in nearspan.formats.stream("corpus.jsonl"):
            ...

    Of JSON lines, columns and parquet files no more is held than a document and a block of lines; other formats are
    read file by file. Columns, and what else follows from many lines, are found by the beginning of a file.
    """
    chosen = None if format is None else _format_named(format)
    if chosen is not None:
        _refuse_columns(columns, chosen)
    listed = [paths] if isinstance(paths, str | PathLike) else list(paths)
    if not listed:
        raise CorpusError("no file to read; name at least one")
    readings = (_open(Path(fspath(path)), chosen, columns) for path in listed)
    return Stream(chain([next(readings)], readings), listed)  # an unclear format is an error here, not later on


def read_source(source: Source, format: str, columns: Sequence[int] | None = None) -> Corpus:
    """A source of a format, as `read` reads a file.

    >>> read_source(Source(Path("a.jsonl"), '{"text": "Oslo", "entities": []}'), "jsonl")
    Corpus(1 document, 0 entities, jsonl)
    """
    return Stream([_begin(source, _format_named(format), columns)]).collect()


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
    source, changes = as_stream(documents), Counter[str]()
    if unfit == "flatten":
        source.map(lambda document: flatten(document, changes))
    elif unfit == "drop" and not chosen.discontinuous:
        source.map(lambda document: drop_discontinuous(document, changes))
    if unfit == "drop" and not chosen.nested:
        source.map(lambda document: drop_overlapping(document, changes))
    kept = chosen.write(source if chosen.streams else source.collect(), target) if chosen.write else ()
    return (*list_changes(target, changes), *kept)


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
    if isinstance(source, Stream):
        return source.collect()
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


def as_stream(source: Documents) -> Stream:
    """The same one after another: those of files and of iterators are not held.

    >>> [document.text for document in as_stream(Document(name) for name in ("Oslo", "Bergen"))]
    ['Oslo', 'Bergen']
    """
    if isinstance(source, str | PathLike):
        return stream(source)
    if isinstance(source, Iterator) and not datasets.is_dataset(source):
        return Stream.of(cast("Iterator[Document]", source))
    if isinstance(source, list | tuple) and source and all(isinstance(item, str | PathLike) for item in source):
        return stream(cast("list[AnyPath]", source))
    return Stream.of(as_documents(source))


def _sources(documents: Documents) -> list[AnyPath]:
    """The files that documents are read from, or were."""
    if isinstance(documents, Stream):
        return list(documents.paths)
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


def _open(path: Path, chosen: Format | None, columns: Sequence[int] | None) -> Reading:
    """A file, by its format, of which reading begins."""
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
        text = source.first_bytes.removeprefix(BOM_UTF8) if chosen is not None and chosen.binary else source.sample
        if not text.strip() and not (source.is_long and source.text.strip()):
            raise CorpusError(f"{source.name} is empty")
    chosen = chosen or next((part for part in known if not (part.folder or part.binary) and part.detect(source)), None)
    if chosen is None:
        names = ", ".join(part.name for part in known)
        message = f"the format of {source.name} is not clear from its content, which looks like {describe(source)}"
        raise UnclearFormatError(f"{message}; if it is one of these, name it with `format`: {names}")
    if not named:
        _refuse_columns(columns, chosen, source.name)
    return _begin(source, chosen, columns)


def _begin(source: Source, chosen: Format, columns: Sequence[int] | None = None) -> Reading:
    content = chosen.read(source) if columns is None else chosen.read(source, columns)
    return Reading(source, content.format if isinstance(content, Corpus) else chosen.name, content)


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
