"""Characters are the truth: a document is its text, everything else points into it.

All offsets are half-open character offsets into `Document.text`. `to_dict` gives the one shape that documents have in
JSON, in files, in the server's answers and in Python:

    {"id": "1", "text": "pain in arms and legs", "words": [[0, 4], ...], "sentences": [[0, 21]],
     "entities": [{"text": "pain in legs", "label": "SYMPTOM", "start": 0, "end": 21,
                   "fragments": [[0, 7], [17, 21]], "score": 0.97}]}

All keys of an entity are always there; `score` is null where there is none. `words` and `sentences` are there if known.
`"stranger": true` marks an entity that is far from all that the model's memory holds, and a document with many of them.
`"attributes": {"concept": "D001241"}` is there where an entity has some: what a file says of it beside span and label.
`from_dict` reads this shape, and also entities that have no `text`, no `score`, or of `start`, `end` and `fragments`
only the two first or the last.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol, Self

Fragment = tuple[int, int]

_set = object.__setattr__
_SHOWN = 40  # characters of a text in a `repr`


@dataclass(frozen=True, slots=True, order=True, repr=False)
class Span:
    """One or more fragments of a text; several fragments make it discontinuous.

    >>> Span.of(0, 4).text("pain in arms and legs")
    'pain'
    >>> Span(((0, 7), (17, 21))).text("pain in arms and legs")
    'pain in legs'
    >>> Span(((0, 7), (17, 21)))
    Span(0-7;17-21)
    """

    fragments: tuple[Fragment, ...]

    def __post_init__(self) -> None:
        if not self.fragments:
            raise ValueError("a span needs at least one fragment")
        before = -1
        for start, end in self.fragments:
            if start < 0 or end <= start:
                raise ValueError(f"a fragment needs 0 <= start < end, found ({start}, {end})")
            if start < before:
                raise ValueError(f"fragments must be in order and not overlap: {self.fragments}")
            before = end

    @classmethod
    def of(cls, start: int, end: int) -> Self:
        """A contiguous span."""
        return cls(((start, end),))

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Self:
        """What `to_dict` made; `fragments`, or else `start` and `end`."""
        if record.get("fragments") is not None:
            return cls(_offsets(record, "fragments"))
        return cls.of(_value(record, "start", int), _value(record, "end", int))

    @classmethod
    def union(cls, fragments: Iterable[Fragment]) -> Self:
        """The characters of fragments in any order; touching and overlapping ones become one."""
        union: list[Fragment] = []
        for start, end in sorted(fragments):
            if union and start <= union[-1][1]:
                union[-1] = (union[-1][0], max(end, union[-1][1]))
            else:
                union.append((start, end))
        return cls(tuple(union))

    @property
    def start(self) -> int:
        """The first character."""
        return self.fragments[0][0]

    @property
    def end(self) -> int:
        """The character after the last."""
        return self.fragments[-1][1]

    @property
    def discontinuous(self) -> bool:
        """Whether there are several fragments."""
        return len(self.fragments) > 1

    def to_dict(self) -> dict[str, Any]:
        """For JSON.

        >>> Span.of(0, 4).to_dict()
        {'start': 0, 'end': 4, 'fragments': [[0, 4]]}
        """
        return {"start": self.start, "end": self.end, "fragments": [list(fragment) for fragment in self.fragments]}

    def __repr__(self) -> str:
        return f"Span({self})"

    def __str__(self) -> str:
        return ";".join(f"{start}-{end}" for start, end in self.fragments)

    def text(self, of: str) -> str:
        """The span's characters, fragments joined by a blank."""
        if len(self.fragments) == 1:
            start, end = self.fragments[0]
            return of[start:end]
        return " ".join(of[start:end] for start, end in self.fragments)

    def covers(self, other: Self) -> bool:
        """Whether every fragment of `other` lies inside a fragment of this span."""
        return all(any(a <= start and end <= b for a, b in self.fragments) for start, end in other.fragments)

    def overlaps(self, other: Self) -> bool:
        """Whether the two spans share a character."""
        return any(a < end and start < b for a, b in self.fragments for start, end in other.fragments)

    def shift(self, by: int) -> Self:
        """The same span in a text that begins `by` characters earlier."""
        return type(self)(tuple((start + by, end + by) for start, end in self.fragments))


class Attributes(Mapping[str, Any]):
    """What is known of an entity beside its span and label: concept identifiers, notes, who annotated it.

    Keys are strings, values are those of JSON. Nothing in it can be changed: lists are kept as tuples, and objects as
    `Attributes`.

    >>> attributes = Attributes({"concept": "D001241", "annotators": ["ada", "lin"]})
    >>> attributes["annotators"]
    ('ada', 'lin')
    >>> attributes.to_dict()
    {'concept': 'D001241', 'annotators': ['ada', 'lin']}
    """

    __slots__ = ("_values",)

    def __init__(self, values: Mapping[str, Any] | None = None) -> None:
        self._values: dict[str, Any] = {} if values is None else _freeze_items(values)

    def __getitem__(self, key: str) -> Any:
        return self._values[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __hash__(self) -> int:
        return hash(frozenset(self._values.items()))

    def __repr__(self) -> str:
        return f"Attributes({self.to_dict()})"

    def to_dict(self) -> dict[str, Any]:
        """For JSON, with lists and dictionaries."""
        return {key: _thaw(value) for key, value in self._values.items()}


NO_ATTRIBUTES = Attributes()
IDENTIFIER, IDENTIFIER_SHARE = "identifier", "identifier_share"  # attributes: of the concept, and how sure a model is
NO_IDENTIFIERS = ("", "-", "-1")  # as files write that a mention has none


@dataclass(frozen=True, slots=True, order=True, repr=False)
class Entity:
    """A labelled span. `text` holds its characters once it is in a document; before that it is empty.

    The score is a model's: how likely the entity is right, where the model is calibrated. A `stranger` is far from all
    entities of the model's memory. `attributes` hold what else a file says of it; any mapping of JSON values will do.
    Span and label alone count for equality.

    >>> entity = Entity.of(0, 3, "PERSON", score=0.93)
    >>> entity
    Entity(PERSON 0-3, score=0.93)
    >>> Document("Ada wrote.", (entity,)).entities[0]
    Entity(PERSON 0-3 'Ada', score=0.93)
    >>> replace(entity, attributes={"concept": "Q7259"})
    Entity(PERSON 0-3, score=0.93, concept='Q7259')
    """

    span: Span
    label: str
    score: float | None = field(default=None, compare=False)
    text: str = field(default="", compare=False)
    stranger: bool = field(default=False, compare=False)
    attributes: Mapping[str, Any] = field(default=NO_ATTRIBUTES, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.attributes, Attributes):
            object.__setattr__(self, "attributes", Attributes(self.attributes))

    @classmethod
    def of(cls, start: int, end: int, label: str, score: float | None = None) -> Self:
        """A contiguous entity."""
        return cls(Span.of(start, end), label, score)

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Self:
        """What `to_dict` made; `text` and `score` may be missing."""
        if not isinstance(record, Mapping):
            raise ValueError(f"an entity must be an object with a label and offsets, found {_excerpt(repr(record))}")
        score = None if record.get("score") is None else _value(record, "score", float)
        span, label = Span.from_dict(record), _value(record, "label", str)
        attributes = record.get("attributes") or NO_ATTRIBUTES
        return cls(span, label, score, record.get("text") or "", record.get("stranger") is True, attributes)

    @property
    def start(self) -> int:
        """The first character."""
        return self.span.start

    @property
    def end(self) -> int:
        """The character after the last."""
        return self.span.end

    @property
    def fragments(self) -> tuple[Fragment, ...]:
        """The start and end of each fragment; there are several where the entity is discontinuous."""
        return self.span.fragments

    @property
    def identifier(self) -> str:
        """What its concept is known by: the attribute `identifier`; "" where there is none.

        >>> replace(Entity.of(0, 7, "Chemical"), attributes={"identifier": "D001241"}).identifier
        'D001241'
        """
        identifier = self.attributes.get(IDENTIFIER, "") if self.attributes else ""
        identifier = identifier.strip() if isinstance(identifier, str) else ""
        return "" if identifier in NO_IDENTIFIERS else identifier

    def to_dict(self) -> dict[str, Any]:
        """For JSON; all keys are always there, `stranger` where it is true, and `attributes` where there are some.

        >>> Document("Oslo", (Entity.of(0, 4, "PLACE"),)).entities[0].to_dict()
        {'text': 'Oslo', 'label': 'PLACE', 'start': 0, 'end': 4, 'fragments': [[0, 4]], 'score': None}
        """
        record = {"text": self.text, "label": self.label, **self.span.to_dict(), "score": self.score}
        if self.stranger:
            record["stranger"] = True
        if self.attributes:
            record["attributes"] = _thaw(self.attributes)
        return record

    def __repr__(self) -> str:
        text = f" {_excerpt(self.text)}" if self.text else ""
        score = "" if self.score is None else f", score={self.score:.3g}"
        attributes = "".join(f", {key}={_excerpt(value)}" for key, value in self.attributes.items())
        return f"Entity({self.label} {self.span}{text}{score}{', stranger' * self.stranger}{attributes})"


def given_identifier(entity: Entity) -> str:
    """The identifier of an entity where it is known; "" where it is only predicted.

    >>> entity = replace(Entity.of(0, 7, "Chemical"), attributes={"identifier": "D001241", "identifier_share": 0.9})
    >>> entity.identifier, given_identifier(entity)
    ('D001241', '')
    """
    return "" if IDENTIFIER_SHARE in entity.attributes else entity.identifier


class Contents(Protocol):
    """What a document holds beside its text, made when it is first asked for: a file of millions of words would
    otherwise be as many objects. Whoever gives it to `Document.defer` vouches that all of it lies within the text.
    """

    @property
    def entity_count(self) -> int:
        """How many entities there are."""

    def entities(self, text: str) -> tuple["Entity", ...]:
        """The entities in order, each with its text."""

    def words(self, text: str) -> tuple[Fragment, ...] | None:
        """The words."""

    def sentences(self, text: str) -> tuple[Fragment, ...] | None:
        """The sentences."""


class _Deferrable:
    __slots__ = ("_contents",)  # empty unless `Document.defer` has filled it
    _contents: Contents


@dataclass(frozen=True, slots=True, repr=False)
class Document(_Deferrable):
    """A text with its entities, and its words and sentences where the source gave them.

    `words` and `sentences` hold character offsets, in order; `None` means that the source did not say, and
    `nearspan.segment.split` finds them when they are needed.

    >>> document = Document("Ada Lovelace wrote.", (Entity.of(0, 12, "PER"),), id="letter")
    >>> [(entity.label, entity.text) for entity in document.entities]
    [('PER', 'Ada Lovelace')]
    >>> document
    Document('letter', 19 characters, 1 entity: 'Ada Lovelace wrote.')
    """

    text: str
    entities: tuple[Entity, ...] = ()
    id: str = ""
    words: tuple[Fragment, ...] | None = None
    sentences: tuple[Fragment, ...] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.text, str):
            raise TypeError(f"expected a text (str), found {type(self.text).__name__}: {repr(self.text)[:_SHOWN]}")
        size = len(self.text)
        entities: list[Entity] = []  # with their characters
        for entity in self.entities:
            fragments = entity.span.fragments
            if fragments[-1][1] > size:
                raise ValueError(f"entity {entity} ends after the text's {size} characters (document {self.id!r})")
            text = self.text[slice(*fragments[0])] if len(fragments) == 1 else entity.span.text(self.text)
            entities.append(entity if entity.text == text else replace(entity, text=text))
        for name, parts in (("words", self.words), ("sentences", self.sentences)):
            before = 0
            for start, end in parts or ():
                if not before <= start <= end <= size:
                    raise ValueError(
                        f"{name} must be in order and inside the text: ({start}, {end}) (document {self.id!r})"
                    )
                before = end
        object.__setattr__(self, "entities", tuple(entities))

    @classmethod
    def defer(cls, text: str, id: str, contents: Contents) -> Self:
        """A document whose entities, words and sentences are made of `contents` when they are first asked for."""
        document = object.__new__(cls)
        _set(document, "text", text)
        _set(document, "id", id)
        _set(document, "_contents", contents)
        return document

    if not TYPE_CHECKING:  # it would hide misspelt attributes

        def __getattr__(self, name: str) -> Any:
            """What `defer` has left to be made: Python asks here for what is not set."""
            if name not in ("entities", "words", "sentences"):
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            value = getattr(self._contents, name)(self.text)
            object.__setattr__(self, name, value)
            return value

    @property
    def contents(self) -> Contents | None:
        """What the document was deferred with, if it was."""
        try:
            return self._contents
        except AttributeError:
            return None

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Self:
        """What `to_dict` made; the text alone is needed.

        >>> Document.from_dict({"text": "Oslo", "entities": [{"start": 0, "end": 4, "label": "PLACE"}]}).entities
        (Entity(PLACE 0-4 'Oslo'),)
        """
        words, sentences = (
            None if record.get(key) is None else _offsets(record, key) for key in ("words", "sentences")
        )
        entities = tuple(Entity.from_dict(entity) for entity in record.get("entities") or ())
        id = record.get("id")
        return cls(_value(record, "text", str), entities, "" if id is None else str(id), words, sentences)

    def to_dict(self) -> dict[str, Any]:
        """For JSON: the shape that this module's docstring shows."""
        record: dict[str, Any] = {"id": self.id, "text": self.text}
        record["entities"] = [entity.to_dict() for entity in self.entities]
        for key, offsets in (("words", self.words), ("sentences", self.sentences)):
            if offsets is not None:
                record[key] = [list(pair) for pair in offsets]
        return record | {"stranger": True} if self.stranger else record

    def __repr__(self) -> str:
        entities = count_of(len(self.entities), "entity", "entities")
        return f"Document({self.id!r}, {len(self.text):,} characters, {entities}: {_excerpt(self.text)})"

    @property
    def entity_count(self) -> int:
        """How many entities there are."""
        try:
            return self._contents.entity_count
        except AttributeError:
            return len(self.entities)

    @property
    def stranger(self) -> bool:
        """Whether more than a quarter of the entities are strangers, so that the text is unlike the training data."""
        return 4 * sum(entity.stranger for entity in self.entities) > len(self.entities)

    def with_entities(self, entities: Iterable[Entity]) -> Self:
        """The same document with other entities, in order of their spans."""
        return replace(self, entities=tuple(sorted(entities)))


def count_of(count: int, singular: str, plural: str) -> str:
    """A number with its noun.

    >>> count_of(1, "entity", "entities"), count_of(1200, "entity", "entities")
    ('1 entity', '1,200 entities')
    """
    return f"{count:,} {singular if count == 1 else plural}"


def _excerpt(value: Any) -> str:
    """A text in quotes, or what any other value looks like; cut where it is long."""
    shown = value if isinstance(value, str) else repr(_thaw(value))
    shown = shown if len(shown) <= _SHOWN else shown[: _SHOWN - 3] + "..."
    return repr(shown) if isinstance(value, str) else shown


def _freeze_items(values: Any) -> dict[str, Any]:
    if not isinstance(values, Mapping) or not all(isinstance(key, str) for key in values):
        raise ValueError(f"attributes must be an object with strings as keys, found {_excerpt(values)}")
    return {key: _freeze(value) for key, value in values.items()}


def _freeze(value: Any) -> Any:
    """A value of JSON that cannot be changed, or a ValueError where JSON has no such value."""
    if isinstance(value, Mapping):
        return Attributes(value)
    if isinstance(value, list | tuple):
        return tuple(map(_freeze, value))
    if value is None or isinstance(value, str | int) or (isinstance(value, float) and math.isfinite(value)):
        return value
    raise ValueError(f"an attribute must be a value that JSON can hold, found {_excerpt(value)}")


def _thaw(value: Any) -> Any:
    """What `_freeze` was given, for JSON."""
    if isinstance(value, Mapping):
        return {key: _thaw(item) for key, item in value.items()}
    return list(map(_thaw, value)) if isinstance(value, tuple) else value


def _value(record: Mapping[str, Any], key: str, kind: type[Any]) -> Any:
    """The value of a key, or a ValueError if it is missing or of another kind."""
    value = record.get(key)
    kinds = (int, float) if kind is float else (kind,)
    if not isinstance(value, kinds) or isinstance(value, bool):
        name = {str: "string", int: "whole number", float: "number"}[kind]
        raise ValueError(f"{key!r} must be a {name}, found {value!r} in {_excerpt(repr(dict(record)))}")
    return kind(value)


def _offsets(record: Mapping[str, Any], key: str) -> tuple[Fragment, ...]:
    """The pairs of offsets of a key, or a ValueError if they are none."""
    pairs = record[key]
    if not isinstance(pairs, Sequence) or not all(_is_pair(pair) for pair in pairs):
        raise ValueError(f"{key!r} must hold [start, end] pairs, found {_excerpt(repr(pairs))}")
    return tuple((start, end) for start, end in pairs)


def _is_pair(value: Any) -> bool:
    return isinstance(value, Sequence) and len(value) == 2 and all(type(number) is int for number in value)
