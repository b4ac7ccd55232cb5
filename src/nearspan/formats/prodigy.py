"""Prodigy: a task a line, with `spans` of characters and the annotator's `answer`.

    {"text": "Ada wrote", "spans": [{"start": 0, "end": 3, "label": "PER"}], "answer": "accept"}

Accepted tasks alone are documents, and so are those without an answer, as Prodigy imports them as accepted. What was
rejected or ignored is listed, with the number of its spans, and never read as entities. The tokens are the words.
Further keys of a span, and who annotated it, are attributes.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from nearspan.document import Document, Entity
from nearspan.formats.corpus import NOT_GOLD, Problem, excerpt
from nearspan.formats.draft import Draft
from nearspan.formats.format import ATTRIBUTES, Format, count_changes, list_changes, refuse_entities
from nearspan.formats.json_annotations import (
    add_span,
    count_items,
    count_unkept,
    flat_attributes,
    leave_out_keys,
    objects,
    other_keys,
    read_id,
    read_offsets,
    read_text,
)
from nearspan.formats.json_values import Malformed, read_records, to_line, write_lines
from nearspan.formats.source import Source

ANSWERS = ("accept", "reject", "ignore")
_ENTITIES = ("entities", "label", "labels")  # where other formats, which may have an answer too, have theirs
_HASHES = ("_input_hash", "_task_hash")
_SPAN = ("start", "end", "label", "token_start", "token_end", "text", "type", "score")
_TASK = ("id", "doc_id", "doc_key", "text", "tokens", "spans", "answer")
_ANNOTATOR = ("_annotator_id", "_session_id")


def read(source: Source) -> Iterator[Draft]:
    """Read the accepted tasks."""
    return read_records(source, _count, lambda record, name, line: _read(record, name, line, source))


def detect(source: Source) -> bool:
    """Whether one of the first records is a task: a text with Prodigy's hashes, or with an answer."""
    return any(map(_is_task, source.first_records))


def write(documents: Iterable[Document], path: Path) -> tuple[Problem, ...]:
    """Write accepted tasks; Prodigy makes their hashes when it reads them. Discontinuous entities do not fit."""
    changes: Counter[str] = Counter()
    write_lines(path, (to_line(_task(document)) for document in count_changes(documents, changes, _changes)))
    return list_changes(path, changes)


def _changes(document: Document) -> dict[str, int]:
    return {
        "prodigy keeps no sentence boundaries; documents that had some": int(document.sentences is not None),
        ATTRIBUTES: count_unkept(document.entities, _attributes),
    }


def _is_task(record: Any) -> bool:
    if not isinstance(record, dict) or not isinstance(record.get("text"), str):
        return False
    is_other = "spans" not in record and any(isinstance(record.get(key), list) for key in _ENTITIES)
    return any(key in record for key in _HASHES) or (record.get("answer") in ANSWERS and not is_other)


def _count(record: Any) -> int:
    return count_items(record.get("spans")) if isinstance(record, dict) else 0


def _read(record: Any, name: str, line: int, source: Source) -> list[Draft]:
    if not isinstance(record, dict):
        raise Malformed("expected an object with a text and spans")
    answer = record.get("answer", "accept")
    if answer != "accept":
        state = {"reject": "rejected", "ignore": "ignored"}.get(str(answer), f"answered with {excerpt(repr(answer))}")
        spans = _count(record)
        source.add_problem(NOT_GOLD, f"the task was {state}; its {spans} spans are no entities", line, lost=spans)
        return []
    draft = Draft(read_text(record.get("text")), source, line, id=read_id(record, name))
    if record.get("_is_binary") is True:
        draft.add_problem("incomplete", "accepted was what the task shows, and its text may have other entities; kept")
    draft.words = read_offsets(record.get("tokens"), "tokens", draft)
    if record.get("spans") not in (None, []) and not isinstance(record["spans"], list):
        draft.add_problem("malformed", "the spans are no list; not read")
    annotator = next((record[key] for key in _ANNOTATOR if isinstance(record.get(key), str)), None)
    for span in objects(record.get("spans"), "spans", draft):
        attributes = {"annotator": annotator} | other_keys(span, _SPAN)
        add_span(draft, span, span.get("label"), attributes)
    leave_out_keys(record, _TASK, source)
    return [draft]


def _task(document: Document) -> dict[str, Any]:
    refuse_entities(document, "prodigy")
    task: dict[str, Any] = {"id": document.id} if document.id else {}
    task["text"] = document.text
    starts: dict[int, int] = {}
    ends: dict[int, int] = {}
    if document.words is not None:
        words = [(start, end) for start, end in document.words if start < end]
        starts = {start: index for index, (start, _) in enumerate(words)}
        ends = {end: index for index, (_, end) in enumerate(words)}
        task["tokens"] = [
            {
                "text": document.text[start:end],
                "start": start,
                "end": end,
                "id": index,
                "ws": document.text[end : end + 1] == " ",
            }
            for index, (start, end) in enumerate(words)
        ]
    task["spans"] = []
    for entity in document.entities:
        span: dict[str, Any] = {"start": entity.start, "end": entity.end, "label": entity.label}
        if entity.start in starts and entity.end in ends:
            span |= {"token_start": starts[entity.start], "token_end": ends[entity.end]}
        score = {} if entity.score is None else {"score": entity.score}
        task["spans"].append(span | score | _attributes(entity))
    return task | {"answer": "accept"}


def _attributes(entity: Entity) -> dict[str, Any]:
    return flat_attributes(entity, _SPAN)


FORMAT = Format("prodigy", read, detect, write, discontinuous=False, streams=True)
