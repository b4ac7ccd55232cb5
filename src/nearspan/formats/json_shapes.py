"""The keys that JSON records of documents have, and the shapes of entities under them.

What a record says twice and differently, or under keys that are not read, is listed as a problem.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from nearspan.document import Fragment
from nearspan.formats.corpus import excerpt
from nearspan.formats.draft import Draft, word_fragments
from nearspan.formats.tags import OUTSIDE, chunks, is_labelled, parse

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


def list_differing_keys(record: dict[str, Any], keys: Sequence[str], draft: Draft) -> None:
    """List the keys that mean the same as the first of them but differ from it, as only the first is read."""
    present = [key for key in keys if key in record]
    for key in present[1:]:
        differs = record[key] != record[present[0]]
        annotates = _annotates(record[key]) and not are_tags(record[key])
        if differs and (annotates if keys is ENTITIES else record[key] not in (None, "", [])):
            where = f" in {excerpt(repr(record))}" if keys in (LABELS, STARTS, ENDS) else ""
            message = f"{excerpt(key)} is there beside {excerpt(present[0])} and differs{where}; it is not read"
            draft.add_problem("malformed", message)


def list_unread_entities(record: dict[str, Any], items: list[Any] | None, draft: Draft) -> None:
    """List the keys that may hold entities beside the `items` that are read; None: the record has no such key."""
    if items is None:
        keys = [key for key, value in record.items() if key not in SEGMENTS and _annotates(value)]
        if keys or "text" not in record:
            unread = f"; {', '.join(map(excerpt, keys))} not read" if keys else ""
            draft.add_problem("malformed", f"no entities, expected the key 'entities'{unread}")
        return
    list_differing_keys(record, ENTITIES, draft)
    known = (*ENTITIES, *SEGMENTS, *TEXTS, *IDS)
    for key in (key for key, value in record.items() if key not in known and _may_hold_entities(value, items)):
        draft.add_problem("malformed", f"{excerpt(key)} may hold entities beside those that are read; not read")


def list_differing_offsets(item: Any, key_read: str, key_unread: str, fragments: list[Fragment], draft: Draft) -> None:
    """List the keys of an entity that differ from its label or from the offsets that are read.

    `key_read` is the key that goes before start and end where it is there; `key_unread` is that of the other kind of
    record.
    """
    if not isinstance(item, dict):
        return
    for keys in (LABELS, STARTS, ENDS):
        list_differing_keys(item, keys, draft)
    expected: list[tuple[str, Any]] = []
    if isinstance(item.get(key_unread), list):
        expected.append((key_unread, [list(pair) for pair in fragments]))
    if key_read in item and fragments:
        bounds = min(start for start, _ in fragments), max(end for _, end in fragments)
        keys_of_bounds = (first_key(item, STARTS), first_key(item, ENDS))
        expected += [(key, bound) for key, bound in zip(keys_of_bounds, bounds, strict=True) if key is not None]
    for key, value in expected:
        if item[key] not in (value, None):
            message = f"{excerpt(key)} does not say where the entity is read: {excerpt(repr(item))}; it is not read"
            draft.add_problem("malformed", message)


def list_differing_tags(record: dict[str, Any], words: Sequence[Fragment] | None, draft: Draft) -> None:
    """List tags of words beside the entities, unless all their entities are among those that are read."""
    key_read = first_key(record, ENTITIES)
    keys = [key for key, value in record.items() if key not in (key_read, *SEGMENTS) and are_tags(value)]
    if key_read is None or record[key_read] is None or not keys:  # `list_unread_entities` has listed them
        return
    known = {(entity.fragments, entity.label) for entity in draft.document().entities}
    for key in keys:
        fits = words is not None and len(words) == len(record[key])
        tagged = {
            (tuple(word_fragments(range(chunk.first, chunk.stop), words or ())), chunk.label)
            for chunk in chunks([parse(tag) or OUTSIDE for tag in record[key]])
            if fits
        }
        if not fits or not tagged <= known:
            message = f"{excerpt(key)} holds tags that say otherwise than {excerpt(key_read)}; they are not read"
            draft.add_problem("malformed", message)


def list_text_beside_words(record: dict[str, Any], items: list[Any], draft: Draft) -> None:
    """List a text beside words unless it is theirs and the entities can only be of words."""
    key = first_key(record, TEXTS)
    indexed = all(isinstance(item, dict) and "index" in item for item in items)
    if key is not None and not (indexed and record[key] == draft.text):
        words = "tokens" if "tokens" in record else "sentence"
        message = (
            f"{excerpt(key)} is there beside {words!r}; it is not read, and start and end are read as word indexes"
        )
        draft.add_problem("malformed", message)


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


def _annotates(value: Any) -> bool:
    """Whether the value of an unknown key, or one inside it, may hold annotations that must not go unmentioned."""
    lists = [inner for inner in (value.values() if isinstance(value, dict) else [value]) if isinstance(inner, list)]
    return is_entity(value) or any(
        are_tags(inner) or any(isinstance(item, list | dict) for item in inner) for inner in lists
    )


def _may_hold_entities(value: Any, items: list[Any]) -> bool:
    """Whether the value of another key may hold other entities; where there are some, triples may be relations."""
    if not isinstance(value, list) or value == items:
        return False
    return any(is_entity(item) for item in value if isinstance(item, dict) or not items)
