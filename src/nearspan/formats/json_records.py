"""A JSON record becomes a draft of a document, whichever of the known keys and shapes of entities it has.

What a record says twice and differently, or under keys that are not read, is listed as a problem.
"""

import math
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import chain, pairwise
from typing import Any, Self

from nearspan.document import NO_ATTRIBUTES, Attributes, Document, Entity, Fragment, Span
from nearspan.formats.corpus import Place, clean_label, excerpt
from nearspan.formats.draft import Draft, word_fragments, word_offsets
from nearspan.formats.json_values import Malformed, json_type
from nearspan.formats.source import Source
from nearspan.formats.tags import OUTSIDE, chunks, is_labelled, parse

# Keys that say the same; where a record has several, the first is read.
ENTITIES = ("entities", "spans", "labels", "label", "ner")
TEXTS = ("text", "doc_text")
WORDS = ("tokens", "sentence")
IDS = ("id", "doc_id", "doc_key")
STARTS, ENDS = ("start", "start_offset"), ("end", "end_offset")
LABELS = ("label", "type")

SEGMENTS = ("words", "sentences", *WORDS)

_PLAIN_KEYS = frozenset(("id", "text", "entities"))
_PLAIN_RECORD = frozenset(("id", "text", "entities", "words", "sentences"))
_PLAIN_VALUES = ("start", "end", "label", "text", "score")
_PLAIN_ENTITY = frozenset((*_PLAIN_VALUES, "fragments"))


def count_entities(record: Any) -> int:
    """How many entities a record lists, of whatever shape."""
    if type(record) is dict and type(items := record.get("entities")) is list:
        return len(items)
    items = _first_value(record, ENTITIES) if isinstance(record, dict) else None
    return len(items) if isinstance(items, list) else 0


def read_record(record: Any, name: str, source: Source, line: int) -> Draft:
    """A record of a line as a draft of a document; `name` is its id if it gives none."""
    if not isinstance(record, dict):
        raise Malformed(f"found {json_type(record)}, expected an object")
    id = _read_id(record, name, source, line)
    if "sentence" in record or "tokens" in record:
        return _read_words(record, source, line, id)
    text = _first_value(record, TEXTS)
    if text is None:
        keys = ", ".join(map(excerpt, list(record)[:8])) or "none"
        raise Malformed(f"found the keys {keys}; expected text and entities, tokens and entities, or sentence and ner")
    if not isinstance(text, str):
        raise Malformed(f"the text is {json_type(text)}, expected a string")
    return _read_text(record, Draft(text, source, line, id=id))


class PlainRecord:
    """A record in which nothing can be wrong: a text, an id, and contiguous entities in order; no words.

    >>> from pathlib import Path
    >>> record = {"id": "1", "text": "Ada wrote", "entities": [{"start": 0, "end": 3, "label": "PER"}]}
    >>> PlainRecord.of(Source(Path("a.jsonl"), ""), record, 1, 1).document().entities
    (Entity(PER 0-3 'Ada'),)
    """

    __slots__ = ("id", "line", "record", "source")

    def __init__(self, record: dict[str, Any], id: str, source: Source, line: int) -> None:
        self.record, self.id, self.source, self.line = record, id, source, line

    @classmethod
    def of(cls, source: Source, record: Any, number: int, line: int) -> Self | None:
        """A record, if it is plain; its entities are counted. It is what `read_record` makes of it, far quicker."""
        if type(record) is not dict or not record.keys() <= _PLAIN_KEYS:
            return None
        text, items, id = record.get("text"), record.get("entities"), record.get("id")
        if type(text) is not str or type(items) is not list or not (type(id) is str or "id" not in record):
            return None
        size, before, before_end = len(text), -1, 0
        try:
            for item in items:
                start, end, label = item["start"], item["end"], item["label"]
                if not (type(start) is type(end) is int and type(label) is str):
                    return None
                if not (before < start or (before == start and before_end < end)) or not 0 <= start < end <= size:
                    return None
                if not label or clean_label(label) != label:
                    return None
                if len(item) > 3 and not _says_no_more(item, start, end, text):
                    return None
                before, before_end = start, end
        except (KeyError, TypeError, IndexError):
            return None
        source.annotations += len(items)
        return cls(record, f"{source.file}#{number}" if id is None else id, source, line)

    def document(self) -> Document:
        """The document, whose entities are made when they are asked for."""
        return Document.defer(self.record["text"], self.id, self)

    def place(self) -> Place:
        """Where it was read; its entities are all in its line."""
        return Place(self.source.name, self.line)

    @property
    def entity_count(self) -> int:
        """How many entities there are."""
        return len(self.record["entities"])

    def entities(self, text: str) -> tuple[Entity, ...]:
        """The entities."""
        places = [(item["start"], item["end"], item["label"], item.get("score")) for item in self.record["entities"]]
        return tuple(Entity(Span(((a, b),)), clean_label(label), score, text[a:b]) for a, b, label, score in places)

    def words(self, text: str) -> None:
        """None, as it gives no words."""

    def sentences(self, text: str) -> None:
        """None, as it gives no sentences."""


def _says_no_more(item: dict[str, Any], start: int, end: int, text: str) -> bool:
    """Whether the further keys of an entity say what its first three say, or a score."""
    if not item.keys() <= _PLAIN_ENTITY or item.get("fragments") not in (None, [[start, end]]):
        return False
    score = item.get("score")
    if score is not None and not (type(score) is float and math.isfinite(score)):
        return False
    return item.get("text") in (None, text[start:end])


def _read_id(record: dict[str, Any], name: str, source: Source, line: int) -> str:
    id = _first_value(record, IDS)
    if isinstance(id, str) or _is_whole(id) or (isinstance(id, float) and math.isfinite(id)):
        return str(id)
    if id is not None:
        source.add_problem("malformed", f"the id is {excerpt(repr(id))}, expected a string or a number; not read", line)
    return name


def _read_text(record: dict[str, Any], draft: Draft) -> Draft:
    """A record with a text: offsets are characters."""
    draft.words = _offsets(record, "words", draft)
    draft.sentences = _offsets(record, "sentences", draft)
    if record.keys() <= _PLAIN_RECORD and type(record.get("entities")) is list:
        items = [item for item in record["entities"] if not _add_plain(item, draft)]
    else:
        _list_differing_keys(record, TEXTS, draft)
        items = _entities(record, draft)
    for item, place, label in _read_entities(items, "fragments", draft):
        fragments = [place] if isinstance(place, tuple) else [(start, end) for start, end in place]
        _list_differing_values(item, label, fragments, "index", draft)
        stranger = isinstance(item, dict) and item.get("stranger") is True
        attributes = _attributes(item, draft)
        score = _score(item, draft)
        draft.add(fragments, label, score=score, text=_text(item), stranger=stranger, attributes=attributes)
    _list_differing_tags(record, draft.words, draft)
    return draft


def _add_plain(item: Any, draft: Draft) -> bool:
    """Add an entity of our own shape, in which nothing can say otherwise than it is read; false if it may be another.

    It does nothing that the longer way would do otherwise: most entities are such, and take a third of the time.
    """
    if type(item) is not dict or not item.keys() <= _PLAIN_ENTITY:
        return False
    start, end, label, text, score = map(item.get, _PLAIN_VALUES)
    if type(start) is not int or type(end) is not int or type(label) is not str:
        return False
    if item.get("fragments") not in (None, [[start, end]]) or (text is not None and type(text) is not str):
        return False
    if score is not None and not (type(score) is float and math.isfinite(score)):
        return False
    draft.add([(start, end)], label, score=score, text=text)
    return True


def _read_words(record: dict[str, Any], source: Source, line: int, id: str) -> Draft:
    """A record with words: offsets are word indexes, and the text is the words joined by blanks."""
    words = _first_value(record, WORDS)
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise Malformed("the words are not a list of strings")
    offsets = word_offsets(words)
    full = [(start, end) for start, end in offsets if start < end]
    sentences = [(full[0][0], full[-1][1])] if full else []
    draft = Draft(" ".join(words), source, line, id=id, words=full, sentences=sentences)
    for number, word in enumerate(words):
        if not word:
            draft.add_problem("empty", f"word {number} is empty; it is left out")
    _list_differing_keys(record, WORDS, draft)
    items = _entities(record, draft)
    _list_text_beside_words(record, items, draft)
    for item, index, label in _read_entities(items, "index", draft):
        runs = [index] if isinstance(index, tuple) else [(number, number + 1) for number in index]
        bounds = [(min(first for first, _ in runs), max(stop for _, stop in runs))] if runs else []
        _list_differing_values(item, label, bounds, "fragments", draft)
        attributes = _attributes(item, draft)
        draft.add_words(runs, offsets, label, score=_score(item, draft), text=_text(item), attributes=attributes)
    _list_differing_tags(record, offsets, draft)
    return draft


def _entities(record: dict[str, Any], draft: Draft) -> list[Any]:
    """The entities of a record as they are written there; keys that may hold others are listed."""
    items = _first_value(record, ENTITIES)
    if items is None:
        keys = [key for key, value in record.items() if key not in SEGMENTS and _annotates(value)]
        if keys or "text" not in record:
            unread = f"; {', '.join(map(excerpt, keys))} not read" if keys else ""
            draft.add_problem("malformed", f"no entities, expected the key 'entities'{unread}")
        return []
    if not isinstance(items, list):
        draft.add_problem("malformed", f"the entities are {json_type(items)}, expected a list")
        return []
    _list_differing_keys(record, ENTITIES, draft)
    known = (*ENTITIES, *SEGMENTS, *TEXTS, *IDS)
    for key in (key for key, value in record.items() if key not in known and _may_hold_entities(value, items)):
        draft.add_problem("malformed", f"{excerpt(key)} may hold entities beside those that are read; not read")
    return items


def _read_entities(items: list[Any], key: str, draft: Draft) -> Iterator[tuple[Any, Any, str]]:
    """The entities with their places and labels (`_read_entity`); those of no known shape are listed."""
    for item in items:
        try:
            yield item, *_read_entity(item, key)
        except Malformed as error:
            draft.add_problem("malformed", f"{error}: {excerpt(repr(item))}", lost=1)


def _read_entity(item: Any, key: str) -> tuple[Any, str]:
    """The place and the label of an entity: a list of fragments or of word indexes under `key`, or (start, end)."""
    label = _first_value(item, LABELS) if isinstance(item, dict) else None
    if isinstance(item, dict) and key in item:
        fits, message = _SHAPES[key]
        if not isinstance(item[key], list) or not all(map(fits, item[key])):
            raise Malformed(message)
        place = item[key]
    elif isinstance(item, dict):
        place = _first_value(item, STARTS), _first_value(item, ENDS)
    elif isinstance(item, list) and len(item) == 3 and isinstance(item[2], str):
        place, label = (item[0], item[1]), item[2]
    else:
        raise Malformed("expected an object or [start, end, label]")
    if not isinstance(label, str):
        raise Malformed("the label is missing or not a string")
    if isinstance(place, tuple) and not all(map(_is_whole, place)):
        raise Malformed("start and end are not whole numbers")
    return place, label


def _is_whole(value: Any) -> bool:
    return type(value) is int


def _is_pair(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(map(_is_whole, value))


_SHAPES = {
    "fragments": (_is_pair, "fragments are not pairs of whole numbers"),
    "index": (_is_whole, "the index is not a list of whole numbers"),
}
"""What a list of places holds, by its key, and what is said of one that does not."""


def _is_entity(item: Any) -> bool:
    for key in _SHAPES:
        with suppress(Malformed):
            _read_entity(item, key)
            return True
    return False


def _text(item: Any) -> str | None:
    """The text that an entity says it has."""
    text = item.get("text") if isinstance(item, dict) else None
    return text if isinstance(text, str) else None


def _score(item: Any, draft: Draft) -> float | None:
    """The score of an entity, if it has one that is a finite number."""
    value = item.get("score") if isinstance(item, dict) else None
    if value is None:
        return None
    with suppress(OverflowError):
        if type(value) in (int, float) and math.isfinite(value):
            return float(value)
    message = f"the score is not a finite number; the entity is read without it: {excerpt(repr(item))}"
    draft.add_problem("malformed", message)
    return None


def _attributes(item: Any, draft: Draft) -> Attributes:
    """The attributes of an entity, none if they are no object of JSON values."""
    values = item.get("attributes") if isinstance(item, dict) else None
    with suppress(ValueError):
        return Attributes(values)
    message = f"the attributes are no object of finite values; the entity is read without them: {excerpt(repr(item))}"
    draft.add_problem("malformed", message)
    return NO_ATTRIBUTES


def _offsets(record: dict[str, Any], key: str, draft: Draft) -> tuple[Fragment, ...] | None:
    """The words or sentences of a record, or None if they are not offsets in order."""
    pairs = record.get(key)
    if pairs is None:
        return None
    right = isinstance(pairs, list) and all(map(_is_pair, pairs)) and all(start < end for start, end in pairs)
    if right and all(a <= b for a, b in pairwise((0, *chain.from_iterable(pairs), len(draft.text)))):
        return tuple((start, end) for start, end in pairs)
    draft.add_problem("malformed", f"the {key} are not [start, end] pairs in order within the text; they are left out")
    return None


def _first_key(record: dict[str, Any], keys: Sequence[str]) -> str | None:
    return next((key for key in keys if key in record), None)


def _first_value(record: dict[str, Any], keys: Sequence[str]) -> Any:
    for key in keys:
        if key in record:
            return record[key]
    return None


def _list_differing_keys(record: dict[str, Any], keys: Sequence[str], draft: Draft) -> None:
    """List the keys that mean the same as the first of them but differ from it, as only the first is read."""
    present = [key for key in keys if key in record]
    for key in present[1:]:
        differs = record[key] != record[present[0]]
        annotates = _annotates(record[key]) and not _are_tags(record[key])
        if differs and (annotates if keys is ENTITIES else record[key] not in (None, "", [])):
            message = f"{excerpt(key)} is there beside {excerpt(present[0])} and differs; it is not read"
            draft.add_problem("malformed", message)


def _list_differing_values(item: Any, label: str, places: list[Fragment], unread: str, draft: Draft) -> None:
    """List the keys of an entity that say otherwise than what is read; `unread` is that of the other kind of record."""
    if not isinstance(item, dict):
        return
    expected: dict[str, Any] = dict.fromkeys(LABELS, label)
    if places:
        expected |= dict.fromkeys(STARTS, min(start for start, _ in places))
        expected |= dict.fromkeys(ENDS, max(end for _, end in places))
    if isinstance(item.get(unread), list):
        expected[unread] = [list(place) for place in places]
    for key, value in expected.items():
        if item.get(key) not in (value, None, "", []):
            message = f"{excerpt(key)} says otherwise than what is read of {excerpt(repr(item))}; it is not read"
            draft.add_problem("malformed", message)


def _list_differing_tags(record: dict[str, Any], words: Sequence[Fragment] | None, draft: Draft) -> None:
    """List tags of words beside the entities, unless all their entities are among those that are read."""
    if record.keys() <= _PLAIN_RECORD:
        return
    key_read = _first_key(record, ENTITIES)
    keys = [key for key, value in record.items() if key not in (key_read, *SEGMENTS) and _are_tags(value)]
    if key_read is None or record[key_read] is None or not keys:  # `_entities` has listed them
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


def _list_text_beside_words(record: dict[str, Any], items: list[Any], draft: Draft) -> None:
    """List a text beside words unless it is theirs and the entities can only be of words."""
    key = _first_key(record, TEXTS)
    indexed = all(isinstance(item, dict) and "index" in item for item in items)
    if key is not None and not (indexed and record[key] == draft.text):
        beside = f"{excerpt(key)} is there beside {_first_key(record, WORDS)!r}"
        draft.add_problem("malformed", f"{beside}; it is not read, and start and end are read as word indexes")


def _are_tags(value: Any) -> bool:
    """Whether a value is a list most of which are chunk tags, and that holds an entity."""
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        return False
    tags = [tag for tag in map(parse, value) if tag is not None]
    return 2 * len(tags) > len(value) and any(map(is_labelled, value)) and any(tag.label for tag in tags)


def _annotates(value: Any) -> bool:
    """Whether the value of an unknown key, or one inside it, may hold annotations that must not go unmentioned."""
    lists = [inner for inner in (value.values() if isinstance(value, dict) else [value]) if isinstance(inner, list)]
    return _is_entity(value) or any(
        _are_tags(inner) or any(isinstance(item, list | dict) for item in inner) for inner in lists
    )


def _may_hold_entities(value: Any, items: list[Any]) -> bool:
    """Whether the value of another key may hold other entities; where there are some, triples may be relations."""
    if not isinstance(value, list) or value == items:
        return False
    return any(_is_entity(item) for item in value if isinstance(item, dict) or not items)
