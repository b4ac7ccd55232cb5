"""Tables: CSV, TSV and pandas frames, with a row for each text or a row for each entity.

    id,text,entities                                    document,start,end,label
    1,Ada wrote,"[{""start"": 0, ...}]"                 letter,0,3,PERSON

A row for a text has its entities as JSON, in any of the shapes of `jsonl`. A row for an entity has the document's text
as well, or names it: then the text is in a file of that name beside the table, with or without `.txt`, or in its folder
`text` or `texts`. Columns are known by several names (`_NAMES`); those with other names are attributes of the entity.

Written is a row for each text, which loses nothing.
"""

import csv
import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from io import StringIO
from itertools import chain
from pathlib import Path, PurePosixPath
from threading import Lock
from typing import TYPE_CHECKING, Any

from nearspan.document import Fragment
from nearspan.errors import CorpusError
from nearspan.formats.corpus import Corpus, Problem, excerpt
from nearspan.formats.draft import Draft, to_corpus
from nearspan.formats.format import Format
from nearspan.formats.json_records import count_entities, read_record
from nearspan.formats.json_values import Malformed
from nearspan.formats.jsonl import json_line
from nearspan.formats.source import Source
from nearspan.io.atomic import write_file

if TYPE_CHECKING:
    from pandas import DataFrame

_NAMES = {
    "id": ("document", "doc_id", "document_id", "doc", "id", "text_id", "file", "filename", "file_name"),
    "text": ("document_text", "doc_text", "text", "sentence", "content"),
    "entities": ("entities", "spans", "annotations", "labels", "label", "ner"),
    "start": ("start", "start_offset", "begin", "start_char", "char_start", "start_span", "start_pos", "off0"),
    "end": ("end", "end_offset", "end_char", "char_end", "end_span", "end_pos", "off1"),
    "label": ("label", "type", "entity", "entity_type", "tag", "category"),
    "mention": ("mention", "span", "entity_text", "surface", "mention_text"),
    "score": ("score", "confidence"),
    "fragments": ("fragments",),
}
"""What columns are called, in small letters; of several the first counts."""
_NUMBER = re.compile(r"-?[0-9]{1,12}(?:\.0)?")
_HEAD = 1 << 18  # characters by which a table is known
_LIMIT = Lock()  # the csv module has one limit of fields for all threads

Row = tuple[int, dict[str, Any]]
"""A row's line, and its values by column; None where it has none."""


def read_csv(source: Source) -> Corpus:
    """Read a table whose columns have commas or semicolons between them."""
    return _read(source, _delimiter(source) or ",", "csv")


def read_tsv(source: Source) -> Corpus:
    """Read a table whose columns have tabs between them."""
    return _read(source, "\t", "tsv")


def detect_csv(source: Source) -> bool:
    """Whether the first row names the columns of a table, with commas or semicolons between them."""
    return _delimiter(source) is not None


def detect_tsv(source: Source) -> bool:
    """Whether the first row names the columns of a table, with tabs between them."""
    return _is_table(source, "\t")


def from_frame(frame: "DataFrame", texts: Mapping[str, str] | None = None) -> Corpus:
    """The documents of a pandas frame; `texts` has those that a frame of entities only names.

    >>> import pandas
    >>> frame = pandas.DataFrame({"document": ["1"], "start": [0], "end": [3], "label": ["PER"]})
    >>> from_frame(frame, {"1": "Ada wrote", "2": "Bo did not"}).documents
    (Document('1', 9 characters, 1 entity: 'Ada wrote'), Document('2', 10 characters, 0 entities: 'Bo did not'))
    """
    source = Source(Path("DataFrame"), "")
    rows = [(0, {str(key): _plain(value) for key, value in row.items()}) for row in frame.to_dict("records")]
    columns = [str(column) for column in frame.columns]
    corpus = to_corpus(_drafts(columns, rows, source, texts), source, "pandas")
    if source.annotations != corpus.entity_count + sum(problem.lost for problem in corpus.problems):
        raise CorpusError("the rows of the frame and the entities that were read do not add up; please report it")
    return corpus


def write(corpus: Corpus, path: Path, delimiter: str) -> tuple[Problem, ...]:
    """Write a row for each document, with its entities as JSON."""
    write_file(path, _rows(corpus, delimiter))
    return ()


def _read(source: Source, delimiter: str, format: str) -> Corpus:
    header, rows = _parse(source, delimiter)
    return to_corpus(_drafts(header, rows, source, None), source, format)


def _delimiter(source: Source) -> str | None:
    return next((delimiter for delimiter in ",;" if _is_table(source, delimiter)), None)


def _is_table(source: Source, delimiter: str) -> bool:
    """Whether the first row names the columns that a table needs, and the second has JSON where that is expected."""
    text = source.sample[:_HEAD]
    if delimiter not in text.lstrip("\n").split("\n", 1)[0]:
        return False
    try:
        with _fields_of_any_size(len(text)):
            rows = csv.reader(StringIO(text, newline=""), delimiter=delimiter)  # of the beginning, perhaps cut off
            header, first = next(rows, []), next(rows, [])
    except csv.Error:
        return False
    at = _columns(header)
    if {"start", "end", "label"} <= at.keys():
        return "id" in at or "text" in at
    if "text" not in at or "entities" not in at:
        return False
    place = header.index(at["entities"])
    return first[place].lstrip().startswith("[") if place < len(first) else at["entities"].strip().lower() == "entities"


def _columns(header: Iterable[str]) -> dict[str, str]:
    """Which column holds what, by the names that columns have."""
    by_name: dict[str, str] = {}
    for column in header:
        by_name.setdefault(column.strip().lower(), column)
    return {
        what: next(by_name[name] for name in names if name in by_name)
        for what, names in _NAMES.items()
        if any(name in by_name for name in names)
    }


def _parse(source: Source, delimiter: str) -> tuple[list[str], list[Row]]:
    """The header and the rows; in a table of entities with tabs, quotes that no cell ends with are part of the text."""
    may_be_bare = delimiter == "\t" and _is_of_entities(source.text.partition("\n")[0].split("\t"))
    cells, lines = _cells(source, delimiter, bare=may_be_bare)
    if may_be_bare and (len({len(row) for row in cells if row}) > 1 or not any(map(_has_lone_quote, chain(*cells)))):
        cells, lines = _cells(source, delimiter, bare=False)
    header, rows = cells[0], list[Row]()
    for name, number in Counter(header).items():
        if number > 1 and name:
            message = f"there are {number} columns {excerpt(name)}; only the last of them is read"
            source.add_problem("malformed", message, 1)
    has_entities = _is_of_entities(header)
    for line, row in zip(lines[1:], cells[1:], strict=True):
        if row and len(row) != len(header):
            source.count(has_entities)
            message = f"{len(row)} columns where the table has {len(header)}: {excerpt(delimiter.join(row))}; not read"
            source.add_problem("malformed", message, line, lost=has_entities)
        elif row:
            rows.append((line, {name: value or None for name, value in zip(header, row, strict=True)}))
    return header, rows


def _cells(source: Source, delimiter: str, *, bare: bool) -> tuple[list[list[str]], list[int]]:
    """The cells of each row, and its line; `bare`: a quote means nothing."""
    cells: list[list[str]] = []
    lines: list[int] = []
    line = 1
    try:
        with _fields_of_any_size(len(source.text)):
            text = StringIO(source.text, newline="")
            reader = csv.reader(
                text, delimiter=delimiter, quoting=csv.QUOTE_NONE if bare else csv.QUOTE_MINIMAL, strict=True
            )
            for row in reader:
                cells.append(row)
                lines.append(line)
                line = reader.line_num + 1
    except csv.Error as error:
        message = f"{source.name} cannot be read as a table, from line {line} on: {error}"
        raise CorpusError(
            f"{message}; a cell with a quote or a line end in it stands in quotes, its quotes doubled"
        ) from None
    return cells, lines


def _has_lone_quote(cell: str) -> bool:
    """Whether a cell begins with a quote that is one of the text."""
    return cell.startswith('"') and not (len(cell) > 1 and cell.endswith('"'))


def _is_of_entities(header: Iterable[str]) -> bool:
    at = _columns(header)
    return {"start", "end", "label"} <= at.keys() and ("id" in at or "text" in at)


@contextmanager
def _fields_of_any_size(size: int) -> Iterator[None]:
    with _LIMIT:
        before = csv.field_size_limit(max(size, 1) + 1)
        try:
            yield
        finally:
            csv.field_size_limit(before)


def _drafts(header: Sequence[str], rows: list[Row], source: Source, texts: Mapping[str, str] | None) -> list[Draft]:
    at = _columns(header)
    if _is_of_entities(header):
        return _drafts_of_entities(at, rows, source, texts)
    if "text" in at and "entities" in at:
        return [draft for number, row in enumerate(rows, 1) for draft in _draft_of_text(at, row, source, number)]
    raise CorpusError(
        f"{source.name} is a table with the columns {', '.join(map(excerpt, header[:12]))}; expected text and entities "
        "(as JSON) in a row for each text, or document or text, start, end and label in a row for each entity"
    )


def _draft_of_text(at: dict[str, str], row: Row, source: Source, number: int) -> Iterator[Draft]:
    """A row for a text, which is read as a record of JSON lines is."""
    line, values = row
    record: dict[str, Any] = {"text": values[at["text"]] or ""}
    try:
        record["entities"] = _json(values[at["entities"]]) or []
    except ValueError as error:
        source.count(1)  # it may hold any number
        source.add_problem("malformed", f"the entities are no JSON ({error}); the row is not read", line, lost=1)
        return
    if "id" in at and values[at["id"]] is not None:
        record["id"] = values[at["id"]]
    for key in ("words", "sentences"):
        with suppress(ValueError):
            record |= {key: _json(values[key])} if values.get(key) is not None else {}
    used = {*at.values(), "words", "sentences"}
    source.leave_out("columns of texts", sum(value is not None and key not in used for key, value in values.items()))
    entities, before = count_entities(record), len(source.problems)
    source.count(entities)
    try:
        yield read_record(record, f"{source.file}#{number}", source, line)
    except (Malformed, RecursionError) as error:
        del source.problems[before:]
        source.add_problem("malformed", f"{error}; the document is not read", line, lost=entities)


def _json(value: Any) -> Any:
    """A value of a frame, or what a cell of text says."""
    if isinstance(value, str):
        try:
            return json.loads(value)
        except RecursionError:
            raise ValueError("nested too deeply") from None
    return value


def _drafts_of_entities(
    at: dict[str, str], rows: list[Row], source: Source, texts: Mapping[str, str] | None
) -> list[Draft]:
    """Rows for entities, and for documents that have none, by document in the order of their first rows."""
    names = dict(at)
    is_mention = texts is not None or ("id" in at and "text" in at and _are_mentions(at, rows))
    if is_mention and names.get("text", "").strip().lower() == "text":
        names.setdefault("mention", names.pop("text"))
    drafts: dict[str, Draft | None] = {}
    drafts |= {id: Draft(known, source, 1, id=id) for id, known in (texts or {}).items()}
    for line, values in rows:
        is_entity = any(values[at[what]] is not None for what in ("start", "end", "label"))
        source.count(is_entity)
        id = "" if "id" not in at else str(values[at["id"]] or "")
        text = str(values[names["text"]] or "") if "text" in names else ""
        key = id if "id" in at else text
        if key not in drafts:
            known = text if "text" in names else _text_beside(source, id)
            name = id or f"{source.file}#{len(drafts) + 1}"
            drafts[key] = None if known is None else Draft(known, source, line, id=name)
        draft = drafts[key]
        if draft is None:
            message = f"there is no text {excerpt(id)} or {excerpt(id + '.txt')} beside the table; not read"
            source.add_problem("missing text", message, line, lost=is_entity)
        elif "text" in names and text != draft.text:
            message = f"the text is another one than before for the document {excerpt(id)}; not read"
            source.add_problem("malformed", message, line, lost=is_entity)
        elif is_entity:
            _add(draft, names, values, line)
    return [draft for draft in drafts.values() if draft is not None]


def _are_mentions(at: dict[str, str], rows: list[Row]) -> bool:
    """Whether the text of each row is as long as the entity, and so is not the document's."""
    if at["text"].strip().lower() != "text":
        return False
    sizes = [(values[at["text"]], _whole(values[at["start"]]), _whole(values[at["end"]])) for _, values in rows]
    known = [(str(text or ""), start, end) for text, start, end in sizes if start is not None and end is not None]
    return bool(known) and all(len(text) <= end - start for text, start, end in known)


def _text_beside(source: Source, id: str) -> str | None:
    """The text in a file beside the table that has a document's name."""
    path = PurePosixPath(id)
    if not id or path.is_absolute() or ".." in path.parts or "\0" in id:
        return None
    for folder in (".", "text", "texts"):
        for name in (f"{id}.txt", id):
            file = source.path.parent / folder / name
            with suppress(OSError):
                if file.is_file():
                    beside = Source(file)
                    text = beside.text
                    source.problems += beside.problems
                    return text
    return None


def _add(draft: Draft, at: dict[str, str], values: dict[str, Any], line: int) -> None:
    start, end, label = (values[at[what]] for what in ("start", "end", "label"))
    first, last = _whole(start), _whole(end)
    if first is None or last is None or not isinstance(label, str):
        message = f"found start {start!r}, end {end!r} and label {label!r}, expected two whole numbers and a text"
        return draft.add_problem("malformed", message, line, lost=1)
    fragments: list[Fragment] = [(first, last)]
    with suppress(ValueError, TypeError, OverflowError):
        if "fragments" in at and (given := _json(values[at["fragments"]])):
            fragments = [(int(begin), int(stop)) for begin, stop in given]
    mention = values.get(at["mention"]) if "mention" in at else None
    attributes = {
        name: value for name, value in values.items() if value is not None and name and name not in at.values()
    }
    score = None
    if "score" in at and (given := values[at["score"]]) is not None:
        with suppress(ValueError, TypeError, OverflowError):
            score = float(given) if math.isfinite(float(given)) else None
        attributes |= {} if score is not None else {at["score"]: str(given)}
    text = mention if isinstance(mention, str) else None
    return draft.add(fragments, label, line, text=text, score=score, attributes=attributes)


def _whole(value: Any) -> int | None:
    """A whole number, also one that a program has made a float of."""
    if isinstance(value, bool):
        return None
    if isinstance(value, str) and _NUMBER.fullmatch(value.strip()):
        return int(float(value))
    return int(value) if isinstance(value, int | float) and math.isfinite(value) and value == int(value) else None


def _plain(value: Any) -> Any:
    """A value of a frame as JSON has it; None where there is none."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple) or type(value).__name__ == "ndarray":
        return [_plain(item) for item in value]
    if hasattr(value, "item"):  # a number of numpy
        value = value.item()
    if isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return None if value is None or type(value).__name__ in ("NAType", "NaTType") else str(value)


def _rows(corpus: Corpus, delimiter: str) -> Iterator[str]:
    extras = [name for name in ("words", "sentences") if any(getattr(item, name) is not None for item in corpus)]
    yield _row(["id", "text", "entities", *extras], delimiter)
    for document in corpus:
        json_line(document)  # refuses what would not be read again
        record = document.to_dict()
        cells = [
            json.dumps(record[name], ensure_ascii=False) if name in record else "" for name in ("entities", *extras)
        ]
        yield _row([document.id, document.text, *cells], delimiter)


def _row(cells: list[str], delimiter: str) -> str:
    """A line of a table."""
    buffer = StringIO(newline="")
    csv.writer(buffer, delimiter=delimiter).writerow(cells)  # its own line end makes it quote carriage returns too
    return buffer.getvalue().removesuffix("\r\n") + "\n"


CSV = Format("csv", read_csv, detect_csv, partial(write, delimiter=","), endings=(".csv",))
TSV = Format("tsv", read_tsv, detect_tsv, partial(write, delimiter="\t"))
