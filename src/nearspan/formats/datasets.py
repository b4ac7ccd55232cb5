"""Folders that `datasets` saves (`save_to_disk`), a file of such a folder, and its objects: a Dataset or a DatasetDict.

Rows are those of `tagged_rows.py`, or records as the JSON formats have them. Needs `datasets`:
`pip install 'nearspan[datasets]'`.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from nearspan.errors import CorpusError
from nearspan.formats.corpus import Corpus, Problem
from nearspan.formats.draft import Draft, to_corpus
from nearspan.formats.extras import import_extra
from nearspan.formats.folder import new_folder
from nearspan.formats.format import Format, list_changes, refuse_loss
from nearspan.formats.parquet import names_in, numbered, read_rows, unpacked_bytes
from nearspan.formats.source import Source, most_unpacked, unpacks_too_far
from nearspan.formats.tagged_rows import names_of, rows

_FILES = ("dataset_dict.json", "dataset_info.json")
_MARKS = ("dataset_dict.json", "state.json")
_ARROW = (b"ARROW1\0\0", b"\xff\xff\xff\xff")
"""What an arrow file begins with, and a stream of arrow, which `datasets` writes."""
_BATCH = 1000  # rows that are read at once


def read(source: Source) -> Corpus:
    """Read a folder that was saved, of one part or of several, or one of its arrow files."""
    is_arrow = _is_arrow(source)
    what = "an arrow file of `datasets`" if is_arrow else "a folder saved by `datasets`"
    library = import_extra("datasets", "datasets", f"{source.name}, {what},")
    folder = source.path if source.path.is_dir() else source.path.parent
    try:
        drafts = _read_arrow(source) if is_arrow else _drafts(library.load_from_disk(str(folder)), source)
    except CorpusError:
        raise
    except Exception as error:  # whatever `datasets` and pyarrow raise for a damaged folder
        reason = f"{type(error).__name__}: {error}".splitlines()[0][:200]
        message = f"{source.name} looks like {what}, but cannot be loaded"
        raise CorpusError(f"{message}: {reason}; save it again with save_to_disk") from None
    return to_corpus(drafts, source, "datasets")


def detect(source: Source) -> bool:
    """Whether a path is a folder that `datasets` saved, or one of the files in it."""
    path = source.path
    if path.is_dir():
        return any((path / name).is_file() for name in _MARKS)
    return (path.name in _FILES and any(path.with_name(name).is_file() for name in _MARKS)) or _is_arrow(source)


def _is_arrow(source: Source) -> bool:
    return source.path.is_file() and source.first_bytes.startswith(_ARROW)


def _read_arrow(source: Source) -> list[Draft]:
    """The rows of one file, which has the names of its tags in its schema."""
    arrow = import_extra("pyarrow.ipc", "datasets", f"{source.name}, an arrow file,")
    data = source.read_bytes()
    with (arrow.open_file if data.startswith(_ARROW[0]) else arrow.open_stream)(data) as reader:
        most = most_unpacked(len(data))
        is_file = data.startswith(_ARROW[0])
        batches = map(reader.get_batch, range(reader.num_record_batches)) if is_file else iter(reader)
        return list(read_rows(_rows_of(batches, most, source), names_in(reader.schema.metadata or {}), source))


def _rows_of(batches: Iterator[Any], most: int, source: Source) -> Iterator[dict[str, Any]]:
    """The rows of batches; a CorpusError where they take far more memory than the file, which was made to fill it."""
    taken = 0
    for batch in batches:
        batch.validate(full=True)
        taken += sum(map(unpacked_bytes, batch.columns))
        if taken > most:
            raise unpacks_too_far(source.path, most, most)
        yield from batch.to_pylist()


def write(corpus: Corpus, path: Path) -> tuple[Problem, ...]:
    """Write a new folder as `save_to_disk` does, of words and tags; entities that share words do not fit."""
    dataset, changes = _to_dataset(corpus)
    with new_folder(path) as folder, _quiet():
        dataset.save_to_disk(str(folder))
    return list_changes(path, changes)


@contextmanager
def _quiet() -> Iterator[None]:
    """No progress bars of `datasets`, which would stand among our own messages."""
    library = import_extra("datasets", "datasets", "a dataset")
    shown = not library.are_progress_bars_disabled()
    library.disable_progress_bars()
    try:
        yield
    finally:
        if shown:
            library.enable_progress_bars()


def is_dataset(value: Any) -> bool:
    """Whether a value is an object of `datasets`; this does not import it."""
    return type(value).__module__.partition(".")[0] == "datasets" and hasattr(value, "column_names")


def read_dataset(dataset: Any) -> Corpus:
    """The documents of a Dataset or of all parts of a DatasetDict."""
    source = Source(Path("a dataset"), "")
    corpus = refuse_loss(to_corpus(_drafts(dataset, source), source, "datasets"), source)
    return replace(corpus, problems=corpus.problems + source.left_out_problems())


def to_dataset(corpus: Corpus) -> Any:
    """A `datasets.Dataset` of words and tags, a document a row; what it loses is what `write` would say."""
    return _to_dataset(corpus)[0]


def _to_dataset(corpus: Corpus) -> tuple[Any, dict[str, int]]:
    library = import_extra("datasets", "datasets", "a dataset")
    changes: Counter[str] = Counter()
    table, features = numbered(rows(corpus, "datasets", changes))
    return library.Dataset.from_dict(table, features=library.Features.from_dict(features)), changes


def _drafts(dataset: Any, source: Source) -> list[Draft]:
    parts = dataset.items() if isinstance(dataset, Mapping) else [("", dataset)]
    return [draft for name, part in parts for draft in read_rows(_rows(part), _names(part), source, str(name))]


def _rows(dataset: Any) -> Iterator[dict[str, Any]]:
    """All columns as they are stored, also where a format is set that shows some alone; no picture is opened."""
    if stored := getattr(dataset, "data", None):  # offsets of a damaged file may lead anywhere
        stored.validate(full=True)
    for table in dataset.with_format("arrow").iter(batch_size=_BATCH):
        yield from table.to_pylist()


def _names(dataset: Any) -> list[str] | None:
    features = dataset.features  # None in a stream that has not been looked at
    return None if features is None else next(names_of(features.to_dict()), None)


FORMAT = Format("datasets", read, detect, write, folder=True, discontinuous=False, nested=False)
