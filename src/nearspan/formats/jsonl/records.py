"""The shapes that a JSON record of a document can have, and how each becomes a draft."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from nearspan.document import Fragment
from nearspan.formats.corpus import Problem, excerpt
from nearspan.formats.draft import Draft, laid_out, runs
from nearspan.formats.tags import OUTSIDE, chunks, is_labelled, parse

_SURROGATE = re.compile("[\ud800-\udfff]")
_ENTITIES = ("entities", "spans", "labels", "label", "ner")
_TEXTS = ("text", "doc_text")
_WORDS = ("tokens", "sentence")
_SPLIT = ("words", "sentences", *_WORDS)
_IDS = ("id", "doc_id", "doc_key")
_STARTS, _ENDS = ("start", "start_offset"), ("end", "end_offset")
_LABELS = ("label", "type")


class Malformed(ValueError):
    """A record or an entity that has none of the known shapes."""


def draft(record: Any, name: str, path: str, line: int, problems: list[Problem]) -> Draft:
    """A record as a draft of a document; `name` is its id if it gives none."""
    if not isinstance(record, dict):
        raise Malformed(f"found {_kind(record)}, expected an object")
    given = _first(record, _IDS)
    id = name if given is None else given if isinstance(given, str) else str(given)
    context: dict[str, Any] = {"id": id, "path": path, "line": line, "problems": problems}
    if "sentence" in record or "tokens" in record:
        return _of_words(record, line, context)
    text = _first(record, _TEXTS)
    if text is None:
        keys = ", ".join(map(excerpt, list(record)[:8])) or "none"
        raise Malformed(f"found the keys {keys}; expected text and entities, tokens and entities, or sentence and ner")
    if not isinstance(text, str):
        raise Malformed(f"the text is {_kind(text)}, expected a string")
    result = Draft(
        text,
        words=_offsets(record, "words", len(text), path, line, problems),
        sentences=_offsets(record, "sentences", len(text), path, line, problems),
        **context,
    )
    _list_unread(record, _TEXTS, result, line)
    for item in _items(record, result, line):
        try:
            fragments, label = _characters(item)
            _list_otherwise(item, "fragments", "index", fragments, result, line)
            score = _score(item, result, line)
            result.add(fragments, label, line, said=_said(item), score=score)
        except Malformed as error:
            result.problem("malformed", f"{error}: {excerpt(repr(item))}", line)
    _list_tags(record, result.words, result, line)
    return result


def mended(value: Any) -> tuple[int, Any]:
    """How many lone surrogates a JSON value holds, and the value with U+FFFD instead."""
    if isinstance(value, str):
        text, count = _SURROGATE.subn("\ufffd", value)
        return count, text
    if isinstance(value, list):
        found = [mended(item) for item in value]
        return sum(count for count, _ in found), [item for _, item in found]
    if isinstance(value, dict):
        pairs = [(mended(key), mended(item)) for key, item in value.items()]
        return sum(key[0] + item[0] for key, item in pairs), {key[1]: item[1] for key, item in pairs}
    return 0, value


def _of_words(record: dict[str, Any], line: int, context: dict[str, Any]) -> Draft:
    words = _first(record, _WORDS)
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise Malformed("the words are not a list of strings")
    offsets = laid_out(words)
    text = " ".join(words)
    kept = [offset for offset in offsets if offset[0] < offset[1]]
    result = Draft(text, words=kept, sentences=[(kept[0][0], kept[-1][1])] if kept else [], **context)
    for index, word in enumerate(words):
        if not word:
            result.problem("empty", f"word {index} is empty; it is left out", line)
    _list_unread(record, _WORDS, result, line)
    items = _items(record, result, line)
    _list_text(record, text, items, result, line)
    for item in items:
        try:
            indexes, label = _indexes(item)
        except Malformed as error:
            result.problem("malformed", f"{error}: {excerpt(repr(item))}", line)
            continue
        found = f"{excerpt(label)[1:-1]} at words {excerpt(repr(indexes))[1:-1]}"
        chosen = range(*indexes) if isinstance(indexes, tuple) else sorted(indexes)
        _list_otherwise(item, "index", "fragments", [(chosen[0], chosen[-1] + 1)] if chosen else [], result, line)
        if isinstance(indexes, tuple) and indexes[1] < indexes[0]:
            result.problem("inverted", f"{found} ends before it begins", line)
        elif chosen and not 0 <= chosen[0] <= chosen[-1] < len(words):
            result.problem("out of range", f"{found} in a sentence of {len(words)} words", line)
        elif not (full := [index for index in chosen if words[index]]):
            result.problem("empty", f"{found} holds no word", line)
        else:
            fragments = runs(full, offsets)
            covered = " ".join(text[start:end] for start, end in fragments)
            result.add(fragments, label, line, said=_said(item, covered), score=_score(item, result, line))
    _list_tags(record, offsets, result, line)
    return result


def _items(record: dict[str, Any], result: Draft, line: int) -> list[Any]:
    items = _first(record, _ENTITIES)
    if items is None:
        others = [key for key, value in record.items() if key not in _SPLIT and _annotates(value)]
        if others or "text" not in record:
            found = f"; {', '.join(map(excerpt, others))} not read" if others else ""
            result.problem("malformed", f"no entities, expected the key 'entities'{found}", line)
        return []
    if not isinstance(items, list):
        result.problem("malformed", f"the entities are {_kind(items)}, expected a list", line)
        return []
    _list_unread(record, _ENTITIES, result, line)
    known = (*_ENTITIES, *_SPLIT, *_TEXTS, *_IDS)
    for key in (key for key, value in record.items() if key not in known and _beside(value, items)):
        result.problem("malformed", f"{excerpt(key)} may hold entities beside those that are read; not read", line)
    return items


def _list_unread(record: dict[str, Any], keys: Sequence[str], result: Draft, line: int) -> None:
    """List the keys that say what the first of them says, but otherwise, as only the first is read."""
    present = [key for key in keys if key in record]
    for key in present[1:]:
        differs = record[key] != record[present[0]]
        annotates = _annotates(record[key]) and not _are_tags(record[key])
        if differs and (annotates if keys is _ENTITIES else record[key] not in (None, "", [])):
            where = f" in {excerpt(repr(record))}" if keys in (_LABELS, _STARTS, _ENDS) else ""
            message = f"{excerpt(key)} is there beside {excerpt(present[0])} and differs{where}; it is not read"
            result.problem("malformed", message, line)


def _list_otherwise(item: Any, read: str, unread: str, fragments: Sequence[Fragment], result: Draft, line: int) -> None:
    """List the keys of an entity that say otherwise what it is or where, as they are not read.

    `read` is the key that goes before start and end where it is there, `unread` the one of the other kind of record.
    """
    if not isinstance(item, dict):
        return
    for keys in (_LABELS, _STARTS, _ENDS):
        _list_unread(item, keys, result, line)
    others: list[tuple[str, Any]] = []
    if isinstance(item.get(unread), list):
        others.append((unread, [list(pair) for pair in fragments]))
    if read in item and fragments:
        bounds = min(start for start, _ in fragments), max(end for _, end in fragments)
        given = (next((key for key in keys if key in item), None) for keys in (_STARTS, _ENDS))
        others += [(key, bound) for key, bound in zip(given, bounds, strict=True) if key is not None]
    for key, value in others:
        if item[key] not in (value, None):
            message = f"{excerpt(key)} does not say where the entity is read: {excerpt(repr(item))}; it is not read"
            result.problem("malformed", message, line)


def _list_tags(record: dict[str, Any], words: Sequence[Fragment] | None, result: Draft, line: int) -> None:
    """List tags of words beside the entities, unless they say of no entity what these do not say."""
    read = next((key for key in _ENTITIES if key in record), None)
    keys = [key for key, value in record.items() if key not in (read, *_SPLIT) and _are_tags(value)]
    if read is None or record[read] is None or not keys:  # without entities, `_items` lists what is not read
        return
    known = {(entity.span.fragments, entity.label) for entity in result.document().entities}
    for key in keys:
        found = chunks([parse(tag) or OUTSIDE for tag in record[key]])
        fits = words is not None and len(words) == len(record[key])
        said = {(tuple(runs(range(each.first, each.stop), words or ())), each.label) for each in found if fits}
        if not fits or not said <= known:
            message = f"{excerpt(key)} holds tags that say otherwise than {excerpt(read)}; they are not read"
            result.problem("malformed", message, line)


def _list_text(record: dict[str, Any], joined: str, items: list[Any], result: Draft, line: int) -> None:
    """List a text beside words unless it is theirs and the entities can only be of words."""
    key = next((key for key in _TEXTS if key in record), None)
    indexed = all(isinstance(item, dict) and "index" in item for item in items)
    if key is not None and not (indexed and record[key] == joined):
        words = "tokens" if "tokens" in record else "sentence"
        message = (
            f"{excerpt(key)} is there beside {words!r}; it is not read, and start and end are read as word indexes"
        )
        result.problem("malformed", message, line)


def _said(item: Any, found: str | None = None) -> str | None:
    """The text that an entity says it has; `found`, that of its words, where they differ by blanks alone."""
    said = item.get("text") if isinstance(item, dict) else None
    if not isinstance(said, str):
        return None
    return found if found is not None and "".join(said.split()) == "".join(found.split()) else said


def _score(item: Any, result: Draft, line: int) -> float | None:
    """The score of an entity, if it has one that is a finite number."""
    given = item.get("score") if isinstance(item, dict) else None
    if given is None:
        return None
    try:
        score = float(given) if isinstance(given, int | float) and not isinstance(given, bool) else math.nan
    except OverflowError:
        score = math.inf
    if math.isfinite(score):
        return score
    message = f"the score is not a finite number; the entity is read without it: {excerpt(repr(item))}"
    result.problem("malformed", message, line)
    return None


def _annotates(value: Any) -> bool:
    """Whether the value of an unknown key, or one inside it, may hold annotations that must not go unmentioned."""
    lists = [each for each in (value.values() if isinstance(value, dict) else [value]) if isinstance(each, list)]
    return _are_entities([value]) or any(
        _are_tags(each) or any(isinstance(item, list | dict) for item in each) for each in lists
    )


def _are_entities(value: Any) -> bool:
    """Whether a value is a list that holds something with the shape of an entity."""
    return isinstance(value, list) and any(map(_is_entity, value))


def _beside(value: Any, items: list[Any]) -> bool:
    """Whether the value of another key may hold other entities; where there are some, triples may be relations."""
    if not isinstance(value, list) or value == items:
        return False
    return any(_is_entity(item) for item in value if isinstance(item, dict) or not items)


def _is_entity(value: Any) -> bool:
    for shape in (_characters, _indexes):
        with suppress(Malformed):
            shape(value)
            return True
    return False


def _are_tags(value: Any) -> bool:
    """Whether a value is a list most of which are chunk tags, and that holds an entity."""
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        return False
    tags = [tag for tag in map(parse, value) if tag is not None]
    return 2 * len(tags) > len(value) and any(map(is_labelled, value)) and any(tag.label for tag in tags)


def _characters(item: Any) -> tuple[list[Fragment], str]:
    if isinstance(item, dict) and "fragments" in item:
        fragments = item["fragments"]
        if not isinstance(fragments, list) or not all(_is_pair(pair) for pair in fragments):
            raise Malformed("fragments are not pairs of whole numbers")
        return [(pair[0], pair[1]) for pair in fragments], _label(item)
    start, end, label = _triple(item)
    return [(start, end)], label


def _indexes(item: Any) -> tuple[tuple[int, int] | list[int], str]:
    if isinstance(item, dict) and "index" in item:
        index = item["index"]
        if not isinstance(index, list) or not all(type(number) is int for number in index):
            raise Malformed("the index is not a list of whole numbers")
        return index, _label(item)
    start, end, label = _triple(item)
    return (start, end), label


def _triple(item: Any) -> tuple[int, int, str]:
    if isinstance(item, dict):
        start, end, label = _first(item, _STARTS), _first(item, _ENDS), _label(item)
    elif isinstance(item, list) and len(item) == 3 and isinstance(item[2], str):
        start, end, label = item
    else:
        raise Malformed("expected an object or [start, end, label]")
    if type(start) is not int or type(end) is not int:
        raise Malformed("start and end are not whole numbers")
    return start, end, label


def _label(item: dict[str, Any]) -> str:
    label = _first(item, _LABELS)
    if not isinstance(label, str):
        raise Malformed("the label is missing or not a string")
    return label


def _offsets(
    record: dict[str, Any], key: str, size: int, path: str, line: int, problems: list[Problem]
) -> list[Fragment] | None:
    """The words or sentences of a record, or None if they are not offsets in order."""
    given = record.get(key)
    if given is None:
        return None
    before, right = 0, isinstance(given, list)
    for pair in given if right else ():
        if not _is_pair(pair) or not before <= pair[0] < pair[1] <= size:
            right = False
            break
        before = pair[1]
    if not right:
        message = f"the {key} are not [start, end] pairs in order within the text; they are left out"
        problems.append(Problem("malformed", message, path, line))
        return None
    return [(pair[0], pair[1]) for pair in given]


def _is_pair(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and type(value[0]) is int and type(value[1]) is int


def _first(record: dict[str, Any], keys: Sequence[str]) -> Any:
    return next((record[key] for key in keys if key in record), None)


def _kind(value: Any) -> str:
    names = {dict: "an object", list: "an array", str: "a string", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")
