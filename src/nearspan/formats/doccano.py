"""doccano's JSON lines: sequence labelling, with or without relations.

    {"id": 1, "text": "Ada wrote", "label": [[0, 3, "PER"]], "Comments": []}
    {"id": 1, "text": "Ada wrote", "entities": [{"id": 7, "label": "PER", "start_offset": 0, "end_offset": 3}],
     "relations": [], "Comments": []}

Relations are attributes of the entities that they begin at (`relations.py`).
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from nearspan.document import Document, Entity
from nearspan.formats.corpus import Problem, excerpt
from nearspan.formats.draft import Draft
from nearspan.formats.format import (
    ATTRIBUTES,
    Format,
    count_changes,
    list_changes,
    plain_text_changes,
    refuse_entities,
)
from nearspan.formats.json_annotations import (
    add_span,
    count_items,
    flat_attributes,
    leave_out_keys,
    other_keys,
    read_id,
    read_text,
)
from nearspan.formats.json_values import Malformed, read_records, to_line, write_lines
from nearspan.formats.relations import has_id, keeps_relations, relation_attributes, relations_of
from nearspan.formats.source import Source

_LISTS = ("entities", "label", "labels")
_COMMENTS = ("Comments", "comments")
_ENTITY = ("id", "label", "start_offset", "end_offset")


def read(source: Source) -> Iterator[Draft]:
    """Read documents with their entities and relations."""
    return read_records(source, _count, lambda record, name, line: [_read(record, name, line, source)])


def detect(source: Source) -> bool:
    """Whether one of the first records has a text with comments, or entities with offsets and an id."""
    return any(map(_is_document, source.first_records))


def write(documents: Iterable[Document], path: Path) -> tuple[Problem, ...]:
    """Write documents, with objects as entities if they have attributes; discontinuous ones do not fit."""
    changes: Counter[str] = Counter()
    write_lines(path, (to_line(_record(document)) for document in count_changes(documents, changes, _changes)))
    return list_changes(path, changes)


def _changes(document: Document) -> dict[str, int]:
    return plain_text_changes([document], [document.id], "doccano") | {ATTRIBUTES: _count_unkept(document)}


def _is_document(record: Any) -> bool:
    if not isinstance(record, dict) or not isinstance(record.get("text"), str):
        return False
    comments = any(isinstance(record.get(key), list) for key in _COMMENTS)
    entities = record.get("entities")
    items = entities if isinstance(entities, list) else []
    return (comments and any(key in record for key in _LISTS)) or any(
        isinstance(item, dict) and {"id", "start_offset", "end_offset"} <= item.keys() for item in items
    )


def _items(record: Any) -> Any:
    return next((record[key] for key in _LISTS if key in record), None) if isinstance(record, dict) else None


def _count(record: Any) -> int:
    return count_items(_items(record))


def _read(record: Any, name: str, line: int, source: Source) -> Draft:
    if not isinstance(record, dict):
        raise Malformed("expected an object with a text and a list of entities")
    draft = Draft(read_text(record.get("text")), source, line, id=read_id(record, name))
    items = _items(record)
    if not isinstance(items, list):
        draft.add_problem("malformed", "no list of entities under 'label' or 'entities'")
    attributes = relation_attributes(_relations(record, draft))
    for item in items if isinstance(items, list) else []:
        if isinstance(item, dict):
            id = item.get("id") if isinstance(item.get("id"), str | int) else None
            known = {"id": id, "relations": attributes.get(id)} | other_keys(item, (*_ENTITY, "relations"))
            add_span(draft, item, item.get("label"), known, start="start_offset", end="end_offset")
        elif isinstance(item, list) and len(item) == 3:
            add_span(draft, {"start": item[0], "end": item[1]}, item[2], {})
        else:
            draft.add_problem("malformed", f"found {excerpt(repr(item))}, expected [start, end, label]", lost=1)
    known_keys = ("id", "doc_id", "doc_key", "text", "relations", *_LISTS[:1], *_COMMENTS)
    leave_out_keys(record, (*known_keys, *_LISTS), source)
    if comments := sum(count_items(record.get(key)) for key in _COMMENTS):
        source.leave_out("comments", comments)
    return draft


def _relations(record: dict[str, Any], draft: Draft) -> list[tuple[Any, Any, dict[str, Any]]]:
    """Where each relation begins and ends, and its type; what has not this shape is listed."""
    relations: list[tuple[Any, Any, dict[str, Any]]] = []
    for item in record["relations"] if isinstance(record.get("relations"), list) else []:
        ends = [item.get("from_id"), item.get("to_id")] if isinstance(item, dict) else []
        if len(ends) == 2 and all(isinstance(id, str | int) for id in ends):
            relations.append((ends[0], ends[1], other_keys(item, ("from_id", "to_id"))))
        else:
            draft.add_problem("malformed", f"found the relation {excerpt(repr(item))}; not read")
    return relations


def _record(document: Document) -> dict[str, Any]:
    refuse_entities(document, "doccano")
    record: dict[str, Any] = {"id": document.id, "text": document.text}
    if not any(entity.attributes for entity in document.entities):
        labels = [[entity.start, entity.end, entity.label] for entity in document.entities]
        return record | {"label": labels, "Comments": []}
    taken = {entity.attributes.get("id") for entity in document.entities}
    free = (number for number in range(1, 2 * len(document.entities) + 2) if number not in taken)
    entities = [
        {
            "id": entity.attributes["id"] if has_id(entity) else next(free),
            "label": entity.label,
            "start_offset": entity.start,
            "end_offset": entity.end,
        }
        | _further_keys(entity)
        for entity in document.entities
    ]
    relations = [{"from_id": begin, "to_id": end} | rest for begin, end, rest in relations_of(document.entities)]
    return record | {"entities": entities, "relations": relations, "Comments": []}


def _further_keys(entity: Entity) -> dict[str, Any]:
    return flat_attributes(entity, (*_ENTITY, "relations"))


def _count_unkept(document: Document) -> int:
    """How many entities have attributes that are not written."""
    ids = {entity.attributes["id"] for entity in document.entities if has_id(entity)}

    def keep(entity: Entity) -> list[str]:
        kept = ["id"] if has_id(entity) else []
        return [*_further_keys(entity), *kept, *(["relations"] if keeps_relations(entity, ids) else [])]

    return sum(not entity.attributes.keys() <= set(keep(entity)) for entity in document.entities)


FORMAT = Format("doccano", read, detect, write, discontinuous=False, streams=True)
