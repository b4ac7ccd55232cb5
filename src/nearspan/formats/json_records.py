"""A JSON record becomes a draft of a document, whichever of the known shapes it has."""

from __future__ import annotations

import math
from typing import Any

from nearspan.document import Fragment
from nearspan.formats.corpus import excerpt
from nearspan.formats.draft import Draft, word_fragments, word_offsets
from nearspan.formats.json_shapes import (
    ENTITIES,
    IDS,
    TEXTS,
    WORDS,
    Malformed,
    characters_of,
    first_value,
    is_pair,
    json_type,
    list_differing_keys,
    list_differing_offsets,
    list_differing_tags,
    list_text_beside_words,
    list_unread_entities,
    words_of,
)
from nearspan.formats.source import Source


def read_record(record: Any, name: str, source: Source, line: int) -> Draft:
    """A record of a line as a draft of a document; `name` is its id if it gives none."""
    if not isinstance(record, dict):
        raise Malformed(f"found {json_type(record)}, expected an object")
    id = first_value(record, IDS)
    id = name if id is None else str(id)
    if "sentence" in record or "tokens" in record:
        return _read_words(record, source, line, id)
    text = first_value(record, TEXTS)
    if text is None:
        keys = ", ".join(map(excerpt, list(record)[:8])) or "none"
        raise Malformed(f"found the keys {keys}; expected text and entities, tokens and entities, or sentence and ner")
    if not isinstance(text, str):
        raise Malformed(f"the text is {json_type(text)}, expected a string")
    return _read_text(record, Draft(text, source, line, id=id))


def _read_text(record: dict[str, Any], draft: Draft) -> Draft:
    """A record with a text: offsets are characters."""
    draft.words = _offsets(record, "words", draft)
    draft.sentences = _offsets(record, "sentences", draft)
    list_differing_keys(record, TEXTS, draft)
    for item in _entities(record, draft):
        try:
            fragments, label = characters_of(item)
        except Malformed as error:
            draft.add_problem("malformed", f"{error}: {excerpt(repr(item))}")
            continue
        list_differing_offsets(item, "fragments", "index", fragments, draft)
        draft.add(fragments, label, score=_score(item, draft), text=_text(item))
    list_differing_tags(record, draft.words, draft)
    return draft


def _read_words(record: dict[str, Any], source: Source, line: int, id: str) -> Draft:
    """A record with words: offsets are word indexes, and the text is the words joined by blanks."""
    words = first_value(record, WORDS)
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise Malformed("the words are not a list of strings")
    offsets = word_offsets(words)
    full = [(start, end) for start, end in offsets if start < end]
    sentences = [(full[0][0], full[-1][1])] if full else []
    draft = Draft(" ".join(words), source, line, id=id, words=full, sentences=sentences)
    for number, word in enumerate(words):
        if not word:
            draft.add_problem("empty", f"word {number} is empty; it is left out")
    list_differing_keys(record, WORDS, draft)
    items = _entities(record, draft)
    list_text_beside_words(record, items, draft)
    for item in items:
        try:
            index, label = words_of(item)
        except Malformed as error:
            draft.add_problem("malformed", f"{error}: {excerpt(repr(item))}")
            continue
        name = f"{excerpt(label)[1:-1]} at words {excerpt(repr(index))[1:-1]}"
        indexes = range(*index) if isinstance(index, tuple) else sorted(index)
        bounds = [(indexes[0], indexes[-1] + 1)] if indexes else []
        list_differing_offsets(item, "index", "fragments", bounds, draft)
        if isinstance(index, tuple) and index[1] < index[0]:
            draft.add_problem("inverted", f"{name} ends before it begins")
        elif indexes and not 0 <= indexes[0] <= indexes[-1] < len(words):
            draft.add_problem("out of range", f"{name} in a sentence of {len(words)} words")
        elif not (not_empty := [number for number in indexes if words[number]]):
            draft.add_problem("empty", f"{name} holds no word")
        else:
            fragments = word_fragments(not_empty, offsets)
            covered = " ".join(draft.text[start:end] for start, end in fragments)
            draft.add(fragments, label, score=_score(item, draft), text=_text(item, covered))
    list_differing_tags(record, offsets, draft)
    return draft


def _entities(record: dict[str, Any], draft: Draft) -> list[Any]:
    """The entities of a record as they are written there."""
    items = first_value(record, ENTITIES)
    if items is not None and not isinstance(items, list):
        draft.add_problem("malformed", f"the entities are {json_type(items)}, expected a list")
        return []
    list_unread_entities(record, items, draft)
    return items or []


def _text(item: Any, characters: str | None = None) -> str | None:
    """The text that an entity says it has; `characters`, those of its words, where they differ by blanks alone."""
    text = item.get("text") if isinstance(item, dict) else None
    if not isinstance(text, str):
        return None
    if characters is not None and "".join(text.split()) == "".join(characters.split()):
        return characters
    return text


def _score(item: Any, draft: Draft) -> float | None:
    """The score of an entity, if it has one that is a finite number."""
    value = item.get("score") if isinstance(item, dict) else None
    if value is None:
        return None
    try:
        score = float(value) if isinstance(value, int | float) and not isinstance(value, bool) else math.nan
    except OverflowError:
        score = math.inf
    if math.isfinite(score):
        return score
    message = f"the score is not a finite number; the entity is read without it: {excerpt(repr(item))}"
    draft.add_problem("malformed", message)
    return None


def _offsets(record: dict[str, Any], key: str, draft: Draft) -> tuple[Fragment, ...] | None:
    """The words or sentences of a record, or None if they are not offsets in order."""
    pairs = record.get(key)
    if pairs is None:
        return None
    before, right = 0, isinstance(pairs, list)
    for pair in pairs if right else ():
        if not is_pair(pair) or not before <= pair[0] < pair[1] <= len(draft.text):
            right = False
            break
        before = pair[1]
    if not right:
        message = f"the {key} are not [start, end] pairs in order within the text; they are left out"
        draft.add_problem("malformed", message)
        return None
    return tuple((pair[0], pair[1]) for pair in pairs)
