"""The training data of GLiNER: words, and entities as first word, last word (included) and label.

    {"tokenized_text": ["Ada", "wrote"], "ner": [[0, 0, "person"]]}

One array of such records, or one a line. The text is the words joined by blanks. We write the `id` too, and the numbers
of the first words of `sentences` where there are several.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from nearspan.document import Document
from nearspan.formats.corpus import Problem, excerpt
from nearspan.formats.draft import Draft
from nearspan.formats.format import Format, list_changes
from nearspan.formats.grid import WordGrid, draft_of_words, drop_empty_words, lay_out
from nearspan.formats.json_annotations import count_items, leave_out_keys, read_id
from nearspan.formats.json_values import Malformed, read_records, to_line, write_lines
from nearspan.formats.source import Source


def read(source: Source) -> Iterator[Draft]:
    """Read records of words and entities."""
    return read_records(source, _count, lambda record, name, line: [_read(record, name, line, source)])


def detect(source: Source) -> bool:
    """Whether one of the first records has a `tokenized_text`."""
    return any(isinstance(record, dict) and "tokenized_text" in record for record in source.first_records)


def write(documents: Iterable[Document], path: Path) -> tuple[Problem, ...]:
    """Write records, an array if the name ends in `.json`; discontinuous entities do not fit."""
    changes: Counter[str] = Counter()
    write_lines(path, (to_line(_record(grid)) for grid in lay_out(documents, "gliner", changes)))
    return list_changes(path, changes)


def _record(grid: WordGrid) -> dict[str, Any]:
    entities = [[first, stop - 1, entity.label] for first, stop, entity in grid.entities]
    record = {"id": grid.document.id, "tokenized_text": grid.tokens, "ner": entities}
    return record | {"sentences": grid.begins} if len(grid.begins) > 1 else record


def add_entities(draft: Draft, items: Any, first_word: int = 0) -> None:
    """Add entities of first word, last word and label, counted from `first_word`; what has not this shape is listed."""
    for item in items if isinstance(items, list) else []:
        right = isinstance(item, list) and len(item) >= 3 and type(item[0]) is int and type(item[1]) is int
        if not right or not isinstance(item[2], str):
            draft.add_problem("malformed", f"found {excerpt(repr(item))}, expected [first, last, label]", lost=1)
            continue
        if len(item) > 3:
            draft.source.leave_out("values of entities beside first word, last word and label")
        first, last = item[0] - first_word, item[1] - first_word
        draft.add_words([(first, last + 1)], draft.words or (), item[2])


def _count(record: Any) -> int:
    return count_items(record.get("ner")) if isinstance(record, dict) else 0


def _read(record: Any, name: str, line: int, source: Source) -> Draft:
    words = record.get("tokenized_text") if isinstance(record, dict) else None
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise Malformed("expected a list of words under 'tokenized_text'")
    begins = record.get("sentences")
    right = isinstance(begins, list) and all(type(begin) is int for begin in begins) and begins == sorted(set(begins))
    draft = draft_of_words(words, begins if right else [0], source, line, read_id(record, name))
    if not isinstance(record.get("ner"), list):
        draft.add_problem("malformed", "no list of entities under 'ner'")
    add_entities(draft, record.get("ner"))
    drop_empty_words(draft)
    leave_out_keys(record, {"id", "doc_id", "doc_key", "tokenized_text", "ner", "sentences"}, source)
    return draft


FORMAT = Format("gliner", read, detect, write, discontinuous=False, streams=True)
