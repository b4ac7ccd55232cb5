"""What the JSON of annotation tools has in common: spans of characters with further keys, and words beside them."""

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import chain, pairwise
from typing import Any

from nearspan.document import Attributes, Entity, Fragment
from nearspan.formats.corpus import excerpt
from nearspan.formats.draft import Draft
from nearspan.formats.json_values import Malformed, json_type
from nearspan.formats.source import Source

IDS = ("id", "doc_id", "doc_key")


def objects(value: Any, name: str, draft: Draft) -> Iterator[dict[str, Any]]:
    """The objects of a list; what is none is listed as lost, which `count_items` has counted."""
    for item in value if isinstance(value, list) else []:
        if isinstance(item, dict):
            yield item
        else:
            draft.add_problem("malformed", f"found {excerpt(repr(item))} in {name}, expected an object", lost=1)


def count_items(value: Any) -> int:
    """How many annotations a list holds; none if it is no list.

    >>> count_items([{}, 7]), count_items(None)
    (2, 0)
    """
    return len(value) if isinstance(value, list) else 0


def add_span(draft: Draft, item: Mapping[str, Any], label: Any, attributes: Mapping[str, Any], **keys: str) -> None:
    """Add a span of characters; `keys` say where its `start`, `end`, `text` and `score` are."""
    start, end = item.get(keys.get("start", "start")), item.get(keys.get("end", "end"))
    shown = excerpt(repr(dict(item)))
    if type(start) is not int or type(end) is not int:
        return draft.add_problem("malformed", f"start and end are not whole numbers: {shown}", lost=1)
    if not isinstance(label, str):
        return draft.add_problem("malformed", f"the label is missing or not a string: {shown}", lost=1)
    text = item.get(keys.get("text", "text"))
    score = read_score(item.get(keys.get("score", "score")), draft)
    text = text if isinstance(text, str) else None
    return draft.add([(start, end)], label, text=text, score=score, attributes=attributes_of(attributes, draft))


def read_score(value: Any, draft: Draft) -> float | None:
    """A finite number, or None; another value is listed."""
    if value is None:
        return None
    with suppress(OverflowError):
        if type(value) in (int, float) and math.isfinite(value):
            return float(value)
    draft.add_problem("malformed", f"the score {excerpt(repr(value))} is not a finite number; it is not read")
    return None


def attributes_of(values: Mapping[str, Any], draft: Draft) -> Attributes:
    """The attributes that JSON values are, without those that are null; values that are not finite are listed."""
    known: dict[str, Any] = {}
    for key, value in values.items():
        if value is None:
            continue
        try:
            known |= Attributes({key: value})
        except ValueError:
            draft.add_problem("malformed", f"the value of {excerpt(key)} is not finite; it is not read")
    return Attributes(known)


def other_keys(item: Mapping[str, Any], known: Collection[str]) -> dict[str, Any]:
    """What an annotation says beside the keys that are read; empty values are left out.

    >>> other_keys({"start": 0, "note": "?", "links": []}, {"start"})
    {'note': '?'}
    """
    return {key: value for key, value in item.items() if key not in known and value not in (None, "", [], {})}


def leave_out_keys(record: Mapping[str, Any], known: Collection[str], source: Source) -> None:
    """Count the keys of a record that no document has a place for; those that begin with `_` are a tool's own."""
    for key in other_keys(record, known):
        if not key.startswith("_"):
            source.leave_out(f"documents with {excerpt(key)}, which is not read")


def read_text(value: Any) -> str:
    """A text, or a Malformed that says what was there instead."""
    if not isinstance(value, str):
        raise Malformed(f"the text is {json_type(value)}, expected a string")
    return value


def read_id(record: Mapping[str, Any], name: str) -> str:
    """The id of a record, `name` if it has none that is a string or a number."""
    id = next((record[key] for key in IDS if record.get(key) is not None), None)
    return str(id) if type(id) in (str, int) or (type(id) is float and math.isfinite(id)) else name


def read_offsets(value: Any, name: str, draft: Draft) -> tuple[Fragment, ...] | None:
    """The offsets of objects with `start` and `end`, such as words; None if they are not in order within the text."""
    if not isinstance(value, list) or not value:
        return None
    pairs: list[tuple[Any, Any]] = [(item.get("start"), item.get("end")) for item in value if isinstance(item, dict)]
    right = len(pairs) == len(value) and all(type(edge) is int for edge in chain.from_iterable(pairs))
    if right and all(a <= b for a, b in pairwise((0, *chain.from_iterable(pairs), len(draft.text)))):
        return tuple(pair for pair in pairs if draft.text[slice(*pair)].strip())
    draft.add_problem("malformed", f"the {name} are not in order within the text; they are not read")
    return None


def flat_attributes(entity: Entity, reserved: Collection[str]) -> dict[str, Any]:
    """The attributes of an entity as further keys of an object that has `reserved` ones."""
    values = Attributes(entity.attributes).to_dict()
    return {key: value for key, value in values.items() if key not in reserved and value not in (None, "", [], {})}


def count_unkept(entities: Iterable[Entity], keep: Callable[[Entity], Mapping[str, Any]]) -> int:
    """How many entities have attributes of which `keep` does not give all."""
    return sum(len(keep(entity)) < len(entity.attributes) for entity in entities)
