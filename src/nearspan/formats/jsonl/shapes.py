"""The keys that JSON records of documents have, and the shapes of entities under them."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from nearspan.document import Fragment
from nearspan.formats.tags import is_labelled, parse

# Keys that say the same; where a record has several, the first is read.
ENTITIES = ("entities", "spans", "labels", "label", "ner")
TEXTS = ("text", "doc_text")
WORDS = ("tokens", "sentence")
IDS = ("id", "doc_id", "doc_key")
STARTS, ENDS = ("start", "start_offset"), ("end", "end_offset")
LABELS = ("label", "type")

SEGMENTS = ("words", "sentences", *WORDS)


class Malformed(ValueError):
    """A record or an entity that has none of the known shapes."""


def characters_of(item: Any) -> tuple[list[Fragment], str]:
    """The characters and the label of an entity: fragments, or start and end."""
    if isinstance(item, dict) and "fragments" in item:
        fragments = item["fragments"]
        if not isinstance(fragments, list) or not all(is_pair(pair) for pair in fragments):
            raise Malformed("fragments are not pairs of whole numbers")
        return [(pair[0], pair[1]) for pair in fragments], _label(item)
    start, end, label = _triple(item)
    return [(start, end)], label


def words_of(item: Any) -> tuple[tuple[int, int] | list[int], str]:
    """The words and the label of an entity: first and stop, or a list of indexes."""
    if isinstance(item, dict) and "index" in item:
        index = item["index"]
        if not isinstance(index, list) or not all(type(number) is int for number in index):
            raise Malformed("the index is not a list of whole numbers")
        return index, _label(item)
    start, end, label = _triple(item)
    return (start, end), label


def is_entity(item: Any) -> bool:
    """Whether a value has the shape of an entity."""
    for shape in (characters_of, words_of):
        with suppress(Malformed):
            shape(item)
            return True
    return False


def are_tags(value: Any) -> bool:
    """Whether a value is a list most of which are chunk tags, and that holds an entity."""
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        return False
    tags = [tag for tag in map(parse, value) if tag is not None]
    return 2 * len(tags) > len(value) and any(map(is_labelled, value)) and any(tag.label for tag in tags)


def is_pair(value: Any) -> bool:
    """Whether a value is a list of two whole numbers."""
    return isinstance(value, list) and len(value) == 2 and type(value[0]) is int and type(value[1]) is int


def first_key(record: dict[str, Any], keys: Sequence[str]) -> str | None:
    """The first of some keys that a record has."""
    return next((key for key in keys if key in record), None)


def first_value(record: dict[str, Any], keys: Sequence[str]) -> Any:
    """The value of the first of some keys that a record has."""
    key = first_key(record, keys)
    return None if key is None else record[key]


def json_type(value: Any) -> str:
    """What JSON calls a value."""
    names = {dict: "an object", list: "an array", str: "a string", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")


def _triple(item: Any) -> tuple[int, int, str]:
    if isinstance(item, dict):
        start, end, label = first_value(item, STARTS), first_value(item, ENDS), _label(item)
    elif isinstance(item, list) and len(item) == 3 and isinstance(item[2], str):
        start, end, label = item
    else:
        raise Malformed("expected an object or [start, end, label]")
    if type(start) is not int or type(end) is not int:
        raise Malformed("start and end are not whole numbers")
    return start, end, label


def _label(item: dict[str, Any]) -> str:
    label = first_value(item, LABELS)
    if not isinstance(label, str):
        raise Malformed("the label is missing or not a string")
    return label
