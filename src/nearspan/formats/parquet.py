"""Parquet files of a dataset: rows of words and tags (`tagged_rows.py`), or records as the JSON formats have them.

Tags may be numbers; their names are in the file, where `datasets` puts them. Needs pyarrow, which
`pip install 'nearspan[datasets]'` installs.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from io import BytesIO
from itertools import chain, islice
from pathlib import Path
from typing import Any

from nearspan.errors import CorpusError
from nearspan.formats.corpus import Corpus, Problem
from nearspan.formats.draft import Draft
from nearspan.formats.extras import import_extra
from nearspan.formats.format import Format, list_changes
from nearspan.formats.json_records import count_entities, read_record
from nearspan.formats.json_values import Malformed
from nearspan.formats.source import Source, most_unpacked, unpacks_too_far
from nearspan.formats.tagged_rows import TaggedRows, are_bare, is_row, names_of, rows, tag_names, words_and_tags
from nearspan.io.atomic import write_file
from nearspan.progress import progress

_MAGIC = b"PAR1"
_ROWS = 1000  # that are looked at to see whether tags have prefixes
_ROWS_AT_ONCE = 256
_BYTES_AT_ONCE = 1 << 24  # that rows are unpacked to
_LEAST_BYTES = {"BOOLEAN": 0, "INT64": 8, "DOUBLE": 8}  # of a value in memory, where it is not 4


def read(source: Source) -> Iterator[Draft]:
    """Read the rows of a parquet file, some at a time."""
    needs = f"{source.name}, a parquet file,"
    parquet = import_extra("pyarrow.parquet", "datasets", needs)
    pyarrow = import_extra("pyarrow", "datasets", needs)
    with _refuse_damaged(source, pyarrow):
        packed = BytesIO(source.read_bytes()) if source.is_packed else None
        size = source.path.stat().st_size if packed is None else len(packed.getbuffer())
        place = source.path if packed is None else packed
        file = parquet.ParquetFile(place)
        names = names_in(file.schema_arrow.metadata or {})
        # a value that many rows share stays one until it is known how much they take together
        file = parquet.ParquetFile(place, read_dictionary=_strings(file.metadata.schema))
    yield from read_rows(_records(file, pyarrow, source, size), names, source)


def _strings(schema: Any) -> list[str]:
    """The columns of strings, by their paths; those of maps are left as they are."""
    columns = (schema.column(number) for number in range(len(schema)))
    return [each.path for each in columns if each.physical_type == "BYTE_ARRAY" and "key_value" not in each.path]


def _records(file: Any, pyarrow: Any, source: Source, size: int) -> Iterator[dict[str, Any]]:
    """The rows; a CorpusError where they take far more memory than the file, which was made to fill it."""
    most, taken, total = most_unpacked(size), 0, file.metadata.num_rows
    groups = [file.metadata.row_group(number) for number in range(file.metadata.num_row_groups)]
    largest = max((group.total_byte_size for group in groups), default=0)  # no value is larger
    if largest > most or any(_value_bytes(group) > most for group in groups):
        raise unpacks_too_far(source.path, most, size)
    rows_at_once = max(1, min(_ROWS_AT_ONCE, most // max(1, largest)))
    with _refuse_damaged(source, pyarrow), progress() as advance:
        for batch in file.iter_batches(batch_size=rows_at_once):
            unpacked = sum(map(unpacked_bytes, batch.columns))
            taken += unpacked
            if taken > most:
                raise unpacks_too_far(source.path, most, size)
            schema = pyarrow.schema([field.with_type(_without_dictionary(field.type)) for field in batch.schema])
            step = max(1, batch.num_rows * _BYTES_AT_ONCE // max(1, unpacked))
            for first in range(0, batch.num_rows, step):
                yield from pyarrow.Table.from_batches([batch.slice(first, step)]).cast(schema).to_pylist()
            advance(f"reading rows of {source.name}", batch.num_rows, total)


def _value_bytes(group: Any) -> int:
    """The least that the values of a group of rows take in memory; equal ones take nearly nothing in the file."""
    columns = (group.column(number) for number in range(group.num_columns))
    return sum(_LEAST_BYTES.get(column.physical_type, 4) * column.num_values for column in columns)


def unpacked_bytes(array: Any) -> int:
    """What an array takes once each row has its values to itself."""
    from pyarrow import compute, types

    kind = array.type
    if types.is_dictionary(kind) and (types.is_string(kind.value_type) or types.is_binary(kind.value_type)):
        sizes = compute.take(compute.binary_length(array.dictionary), array.indices).cast("int64")
        return int(compute.sum(sizes).as_py() or 0) + int(array.indices.nbytes)
    if types.is_list(kind) or types.is_large_list(kind):
        return unpacked_bytes(array.flatten()) + 4 * len(array)
    if types.is_struct(kind):
        return sum(unpacked_bytes(field) for field in array.flatten())
    return int(array.nbytes)


def _without_dictionary(kind: Any) -> Any:
    """A type whose values stand for themselves."""
    import pyarrow
    from pyarrow import types

    if types.is_dictionary(kind):
        return kind.value_type
    if types.is_list(kind) or types.is_large_list(kind):
        make = pyarrow.list_ if types.is_list(kind) else pyarrow.large_list
        return make(kind.value_field.with_type(_without_dictionary(kind.value_type)))
    if types.is_struct(kind):
        fields = (kind.field(number) for number in range(kind.num_fields))
        return pyarrow.struct([field.with_type(_without_dictionary(field.type)) for field in fields])
    return kind


@contextmanager
def _refuse_damaged(source: Source, pyarrow: Any) -> Iterator[None]:
    """Turn what pyarrow raises for a damaged file into an error that names it."""
    try:
        yield
    except CorpusError:
        raise
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        reason = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
        message = f"{source.name} looks like a parquet file, but pyarrow cannot read it: {reason}; write it again"
        raise CorpusError(message) from None


def detect(source: Source) -> bool:
    """Whether a file begins as parquet files do."""
    return source.first_bytes.startswith(_MAGIC)


def write(corpus: Corpus, path: Path) -> tuple[Problem, ...]:
    """Write rows of words and tags as numbers, with their names; entities that share words do not fit."""
    parquet = import_extra("pyarrow.parquet", "datasets", "writing parquet")
    pyarrow = import_extra("pyarrow", "datasets", "writing parquet")
    changes: Counter[str] = Counter()
    table, features = numbered(rows(corpus, "parquet", changes))
    types = {"id": pyarrow.string(), "tokens": pyarrow.list_(pyarrow.string())}
    types |= {"ner_tags": pyarrow.list_(pyarrow.int64()), "sentences": pyarrow.list_(pyarrow.int64())}
    schema = pyarrow.schema(
        [(name, types[name]) for name in table], metadata={"huggingface": json.dumps({"info": {"features": features}})}
    )
    stream = BytesIO()
    parquet.write_table(pyarrow.table(table, schema=schema), stream)
    write_file(path, [stream.getvalue()])
    return list_changes(path, changes)


def read_rows(
    records: Iterable[Mapping[str, Any]], names: list[str] | None, source: Source, split: str = ""
) -> Iterator[Draft]:
    """Rows as documents, by what most of them have: words and tags, or a text and entities."""
    rest = (dict(record) for record in records)
    first = list(islice(rest, _ROWS))
    tags = [tag for record in first if is_row(record) for tag in words_and_tags(record)[1] or ()]
    if any(isinstance(tag, int) for tag in tags) and names is None:
        message = (
            "are numbers without names; cast the column to a list of ClassLabel, or to strings, and write it again"
        )
        raise CorpusError(f"the tags of {source.name} {message}")
    reader = TaggedRows(source, names, are_bare(names or tags))
    for number, record in enumerate(chain(first, rest), 1):
        name = f"{split or source.file}#{number}"
        tagged = is_row(record) or not any(key in record for key in ("text", "entities", "spans"))
        count = reader.count(record) if tagged else count_entities(record)
        source.count(count)
        before = len(source.problems)
        try:
            draft = reader.read(record, name, number) if tagged else read_record(record, name, source, number)
        except Malformed as error:
            del source.problems[before:]
            source.add_problem("malformed", f"{error}; the row is not read", number, lost=count)
        else:
            yield draft
    reader.finish()


def numbered(records: Iterable[Mapping[str, Any]]) -> tuple[dict[str, list[Any]], dict[str, Any]]:
    """Rows as columns, with numbers for tags, and the description of these columns that `datasets` reads."""
    records = list(records)
    names = tag_names(records)
    numbers = {name: number for number, name in enumerate(names)}
    table: dict[str, list[Any]] = {
        "id": [record["id"] for record in records],
        "tokens": [record["tokens"] for record in records],
        "ner_tags": [[numbers[tag] for tag in record["ner_tags"]] for record in records],
    }
    text, number = ({"dtype": kind, "_type": "Value"} for kind in ("string", "int64"))
    features: dict[str, Any] = {
        "id": text,
        "tokens": {"feature": text, "_type": "Sequence"},
        "ner_tags": {"feature": {"names": names, "_type": "ClassLabel"}, "_type": "Sequence"},
    }
    if any("sentences" in record for record in records):
        table["sentences"] = [record.get("sentences", [0]) for record in records]
        features["sentences"] = {"feature": number, "_type": "Sequence"}
    return table, features


def names_in(metadata: Mapping[bytes, bytes]) -> list[str] | None:
    """The names of tags that `datasets` has put into the metadata of a file."""
    with suppress(ValueError, KeyError, TypeError, RecursionError):
        return next(names_of(json.loads(metadata[b"huggingface"])["info"]["features"]), None)
    return None


FORMAT = Format("parquet", read, detect, write, endings=(".parquet",), discontinuous=False, nested=False, binary=True)
