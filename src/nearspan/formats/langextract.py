"""LangExtract's JSON lines: a text with extractions, each with its place in the text.

    {"extractions": [{"extraction_class": "PER", "extraction_text": "Ada",
                      "char_interval": {"start_pos": 0, "end_pos": 3}, "alignment_status": "match_exact",
                      "attributes": {"born": "1815"}}],
     "text": "Ada wrote", "document_id": "1"}

An extraction without a place is listed. Where it says another text than stands in its place, as its `alignment_status`
then admits, both are attributes of the entity.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from nearspan.document import Attributes, Document, Entity
from nearspan.formats.corpus import Problem, excerpt
from nearspan.formats.draft import Draft
from nearspan.formats.format import Format, count_changes, list_changes, plain_text_changes, refuse_entities
from nearspan.formats.json_annotations import (
    add_span,
    count_items,
    leave_out_keys,
    objects,
    other_keys,
    read_id,
    read_text,
)
from nearspan.formats.json_values import Malformed, read_records, to_line, write_lines
from nearspan.formats.source import Source

_RECORD = ("extractions", "text", "document_id")
_EXACT = "match_exact"
_KEYS = ("extraction_class", "char_interval", "extraction_index", "group_index", "attributes")
_FIELDS = ("extraction_text", "alignment_status", "description")  # attributes that have a key of their own


def read(source: Source) -> Iterator[Draft]:
    """Read texts with the extractions that have a place in them."""
    return read_records(source, _count, lambda record, name, line: [_read(record, name, line, source)])


def detect(source: Source) -> bool:
    """Whether one of the first records has extractions, a text and a `document_id`."""
    return any(isinstance(record, dict) and set(_RECORD) <= record.keys() for record in source.first_records)


def write(documents: Iterable[Document], path: Path) -> tuple[Problem, ...]:
    """Write what LangExtract's `load_annotated_documents_jsonl` and `visualize` read; discontinuous ones do not fit."""
    changes: Counter[str] = Counter()
    write_lines(path, (to_line(_record(document)) for document in count_changes(documents, changes, _changes)))
    return list_changes(path, changes)


def _changes(document: Document) -> dict[str, int]:
    return plain_text_changes([document], [document.id], "langextract", lambda *_: True)


def _count(record: Any) -> int:
    return count_items(record.get("extractions")) if isinstance(record, dict) else 0


def _read(record: Any, name: str, line: int, source: Source) -> Draft:
    if not isinstance(record, dict):
        raise Malformed("expected an object with a text and extractions")
    id = read_id({"id": record.get("document_id")}, name)
    draft = Draft(read_text(record.get("text")), source, line, id=id)
    items = record.get("extractions")
    if items is not None and not isinstance(items, list):
        draft.add_problem("malformed", "the extractions are no list; not read")
    groups: Counter[int] = Counter()
    for item in objects(items, "extractions", draft):
        groups.update([item["group_index"]] if type(item.get("group_index")) is int else [])
        place = item.get("char_interval")
        if place is None:
            text = excerpt(str(item.get("extraction_text")))
            draft.add_problem("malformed", f"the extraction {text} has no place in the text; not read", lost=1)
            continue
        is_exact = item.get("alignment_status") in (None, _EXACT)
        span = dict(place) if isinstance(place, dict) else {"char_interval": place}
        span |= {"extraction_text": item.get("extraction_text")} if is_exact else {}
        keys = {"start": "start_pos", "end": "end_pos", "text": "extraction_text"}
        add_span(draft, span, item.get("extraction_class"), _attributes(item, is_exact, draft), **keys)
    source.leave_out("groups of extractions", sum(count > 1 for count in groups.values()))
    leave_out_keys(record, _RECORD, source)
    return draft


def _attributes(item: Mapping[str, Any], is_exact: bool, draft: Draft) -> dict[str, Any]:
    known = (*_KEYS, *_FIELDS[:2]) if is_exact else _KEYS
    attributes, further = other_keys(item, known), item.get("attributes")
    if isinstance(further, dict):
        for key in attributes.keys() & further.keys():
            draft.source.leave_out(f"{excerpt(key)} of an extraction, beside an attribute of that name")
        return attributes | further
    if further is not None:
        draft.add_problem("malformed", f"found the attributes {excerpt(repr(further))}, expected an object; not read")
    return attributes


def _record(document: Document) -> dict[str, Any]:
    refuse_entities(document, "langextract")
    extractions = [_extraction(number, entity) for number, entity in enumerate(document.entities)]
    return {"extractions": extractions, "text": document.text, "document_id": document.id}


def _extraction(number: int, entity: Entity) -> dict[str, Any]:
    attributes = Attributes(entity.attributes).to_dict()
    record = {
        "extraction_class": entity.label,
        "extraction_text": entity.text,
        "char_interval": {"start_pos": entity.start, "end_pos": entity.end},
        "alignment_status": _EXACT,
        "extraction_index": number + 1,
        "group_index": number,
        "description": None,
    }
    record |= {key: attributes.pop(key) for key in _FIELDS if isinstance(attributes.get(key), str)}
    return record | {"attributes": attributes or None}


FORMAT = Format("langextract", read, detect, write, discontinuous=False, streams=True)
