"""Argilla: records with responses and suggestions, as its version 2 writes them, and token classification of version 1.

    [{"id": "1", "fields": {"text": "Ada wrote"}, "suggestions": {}, "status": "completed",
      "responses": {"span": [{"value": [{"label": "PER", "start": 0, "end": 3}], "user_id": "..."}]}}]

Read as well: the flat shape (`span.responses` beside the text), and of version 1 `annotation` as `[label, start, end]`.
A user's responses are a document. Where several users answered, each one's is a document of its own, and the record is
listed. Drafts and discarded responses are listed with their spans; suggestions and predictions are counted and left
out, as neither is gold. A record without a response is no document. Who answered is an attribute.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID

from nearspan.document import Document
from nearspan.formats.corpus import NOT_GOLD, Problem, excerpt
from nearspan.formats.draft import Draft
from nearspan.formats.format import (
    ATTRIBUTES,
    Format,
    count_changes,
    list_changes,
    plain_text_changes,
    refuse_entities,
)
from nearspan.formats.json_annotations import add_span, count_items, leave_out_keys, other_keys, read_id
from nearspan.formats.json_values import Malformed, read_records, to_line, write_lines
from nearspan.formats.source import Source

NOBODY = str(UUID(int=0))
"""The user of responses that have none."""

_SPAN = ("label", "start", "end", "score", "text")
_QUESTION = "span"
_RECORD = ("id", "fields", "responses", "suggestions", "metadata", "vectors", "status", "_server_id")
_VERSION_1 = ("id", "text", "tokens", "annotation", "annotation_agent", "prediction", "prediction_agent", "status")


class _Response(NamedTuple):
    """What a user answered to a question; the status is empty where the file does not say."""

    question: str
    user: str
    spans: list[Any]
    status: str


def read(source: Source) -> Iterator[Draft]:
    """Read the responses of records."""
    return read_records(source, _count, lambda record, name, line: _read(record, name, line, source))


def detect(source: Source) -> bool:
    """Whether one of the first records has fields and responses or suggestions, or the keys of version 1."""
    return any(map(_is_record, source.first_records))


def write(documents: Iterable[Document], path: Path) -> tuple[Problem, ...]:
    """Write records of version 2, with a response each; discontinuous entities do not fit."""
    changes: Counter[str] = Counter()
    write_lines(path, (to_line(_record(document)) for document in count_changes(documents, changes, _changes)))
    return list_changes(path, changes)


def _changes(document: Document) -> dict[str, int]:
    return plain_text_changes([document], [document.id], "argilla") | {ATTRIBUTES: _count_unkept(document)}


def _is_record(record: Any) -> bool:
    if not isinstance(record, dict):
        return False
    nested = isinstance(record.get("fields"), dict) and ("responses" in record or "suggestions" in record)
    flat = any(key.endswith((".responses", ".suggestion")) for key in record)
    return nested or flat or {"text", "annotation", "annotation_agent", "status"} <= record.keys()


def _responses(record: Any) -> list[_Response]:
    """The responses to questions about spans."""
    if not isinstance(record, dict):
        return []
    responses: list[_Response] = []
    if isinstance(record.get("annotation"), list):
        status = {"Validated": "submitted", "Edited": "draft"}.get(str(record.get("status")), str(record.get("status")))
        responses.append(_Response("", str(record.get("annotation_agent") or ""), record["annotation"], status))
    nested = record.get("responses")
    for question, answers in nested.items() if isinstance(nested, dict) else ():
        for answer in answers if isinstance(answers, list) else []:
            if isinstance(answer, dict) and _are_spans(answer.get("value")):
                user, status = str(answer.get("user_id") or ""), str(answer.get("status") or "")
                responses.append(_Response(question, user, answer["value"], status))
    for key in [key for key in record if key.endswith(".responses") and isinstance(record[key], list)]:
        users, states = (_strings(record.get(f"{key}.{name}")) for name in ("users", "status"))
        for number, value in enumerate(record[key]):
            if _are_spans(value):
                user, status = ("".join(part[number : number + 1]) for part in (users, states))
                responses.append(_Response(key.removesuffix(".responses"), user, value, status))
    return responses


def _are_spans(value: Any) -> bool:
    """Whether an answer is a list of spans; those to other questions hold numbers and texts."""
    return isinstance(value, list) and all(isinstance(item, dict | list) for item in value)


def _strings(value: Any) -> list[str]:
    return [str(item) for item in value] if isinstance(value, list) else []


def _count(record: Any) -> int:
    return sum(len(response.spans) for response in _responses(record))


def _read(record: Any, name: str, line: int, source: Source) -> list[Draft]:
    if not isinstance(record, dict):
        raise Malformed("expected an object with fields and responses")
    text, id = _text(record), read_id(record, name)
    _leave_out(record, source)
    drafts: dict[str, Draft] = {}  # by user
    responses = _responses(record)
    for response in responses:
        if response.status.lower() not in ("submitted", ""):
            lost = len(response.spans)
            message = (
                f"a response to record {excerpt(id)} is {response.status.lower()}; its {lost} spans are no entities"
            )
            source.add_problem(NOT_GOLD, message, line, lost=lost)
            continue
        draft = drafts.setdefault(response.user, Draft(text, source, line, id=id))
        if not response.status and record.get("status") == "pending":
            draft.add_problem(
                "incomplete", f"record {excerpt(id)} is pending, so that its response may be a draft; kept"
            )
        _add_spans(draft, response, len({response.question for response in responses}) > 1)
    if not responses:
        source.add_problem(NOT_GOLD, f"record {excerpt(id)} has no response; it is no document", line)
    if len(drafts) > 1:
        message = f"record {excerpt(id)} has the responses of {len(drafts)} users; each is a document of its own"
        source.add_problem("several annotations", message, line)
        for number, draft in enumerate(drafts.values(), 1):
            draft.id = f"{id}#{number}"
    return list(drafts.values())


def _add_spans(draft: Draft, response: _Response, has_several: bool) -> None:
    attributes: dict[str, Any] = {"annotator": response.user if response.user not in ("", NOBODY) else None}
    attributes["question"] = response.question if has_several else None
    for item in response.spans:
        if not isinstance(item, dict):
            if not isinstance(item, list) or len(item) not in (3, 4):
                draft.add_problem("malformed", f"found {excerpt(repr(item))}, expected [label, start, end]", lost=1)
                continue
            item = dict(zip(("label", "start", "end", "score"), item, strict=False))
        add_span(draft, item, item.get("label"), attributes | other_keys(item, _SPAN))


def _text(record: Mapping[str, Any]) -> str:
    """The text of a record: its field `text`, or its only one that is a text."""
    fields = record.get("fields")
    if not isinstance(fields, dict):
        flat = {key: value for key, value in record.items() if "." not in key and key not in _RECORD}
        fields = {"text": record["text"]} if "text" in record else flat
    texts = {key: value for key, value in fields.items() if isinstance(value, str)}
    if "text" not in texts and len(texts) != 1:
        raise Malformed(f"found the texts {', '.join(map(excerpt, texts)) or 'of no field'}, expected a field 'text'")
    return texts["text"] if "text" in texts else next(iter(texts.values()))


def _leave_out(record: Mapping[str, Any], source: Source) -> None:
    """Count suggestions, predictions and metadata."""
    suggestions = record.get("suggestions")
    count = len(suggestions) if isinstance(suggestions, dict) else 0
    count += sum(key.endswith(".suggestion") and bool(record[key]) for key in record)
    if count := count + bool(count_items(record.get("prediction"))):
        source.leave_out("suggestions, which are no gold", count)
    known = [key for key in record if "." in key]
    leave_out_keys(
        record, (*_VERSION_1, *(key for key in _RECORD if key not in ("metadata", "vectors")), *known), source
    )


def _record(document: Document) -> dict[str, Any]:
    refuse_entities(document, "argilla")
    value = [{"label": entity.label, "start": entity.start, "end": entity.end} for entity in document.entities]
    response = {"value": value, "user_id": _user(document) or NOBODY, "status": "submitted"}
    return {
        "id": document.id,
        "fields": {"text": document.text},
        "metadata": {},
        "suggestions": {},
        "responses": {_QUESTION: [response]},
        "vectors": {},
        "status": "completed",
    }


def _user(document: Document) -> str | None:
    """Who annotated all entities, if that is a user's id."""
    users = {entity.attributes.get("annotator") for entity in document.entities}
    user = users.pop() if len(users) == 1 else None
    try:
        return str(UUID(user)) if isinstance(user, str) else None
    except ValueError:
        return None


def _count_unkept(document: Document) -> int:
    """How many entities have attributes that are not written: others than the user's id."""
    user = _user(document)
    return sum(
        any(key != "annotator" or value != user for key, value in entity.attributes.items())
        for entity in document.entities
    )


FORMAT = Format("argilla", read, detect, write, discontinuous=False, streams=True)
