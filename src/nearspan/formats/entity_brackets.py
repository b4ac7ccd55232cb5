"""The bracket notation of GUM and CorefUD: an entity opens at its first word and closes at its last.

    # global.Entity = GRP-etype-infstat
    1	Ada	...	Entity=(1-person-new
    2	Lovelace	...	Entity=1)
    3	London	...	Entity=(2-place-giv)

The first field names what a bracket closes, `etype` is the label, and the others are attributes. `(1[1/2]-person` opens
the first of two fragments. Special characters in a field are written as `%2D` and the like.
"""

import math
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from urllib.parse import unquote

from nearspan.document import Entity, Fragment
from nearspan.formats.corpus import excerpt
from nearspan.formats.draft import Draft
from nearspan.formats.tags import BARE

MENTION, TYPE, SCORE = "mention", "etype", "score"
NAMES = ("GRP", TYPE, "other")
_BRACKET = re.compile(r"\(([^()]+)(\))?|([^()]+)\)")
_PART = re.compile(r"(.*)\[([0-9]{1,4})/([0-9]{1,4})\]")
_SPECIAL = re.compile(r"[%\-()|=\[\],\s]")
_NAME = re.compile(r"[^\W\d][\w.]*")


class _Part(NamedTuple):
    """What a bracket belongs to: the name of an entity, and which of its fragments this is."""

    name: str
    number: int
    of: int

    @classmethod
    def parse(cls, text: str) -> "_Part":
        match = _PART.fullmatch(text)
        return cls(match[1], int(match[2]), int(match[3])) if match else cls(text, 1, 1)


@dataclass
class _Mention:
    """An entity in the making, with the words of the fragments that are closed."""

    fields: list[str]
    line: int
    runs: list[Fragment] = field(default_factory=list)


class Brackets:
    """Reads the brackets of a document's words in order; `names` are those of the fields.

    >>> brackets = Brackets(("GRP", "etype"))
    >>> for index, value in enumerate(["(1-person", "1)(2-place)"]): brackets.read(value, index, 1, None)
    >>> [(runs, label) for runs, label, *_ in brackets.mentions()]
    [([(0, 2)], 'person'), ([(1, 2)], 'place')]
    """

    def __init__(self, names: Sequence[str] = NAMES) -> None:
        self.names = names
        self._open: dict[_Part, list[tuple[_Mention, int]]] = {}  # with the first word of the fragment
        self._partial: dict[str, _Mention] = {}  # those some of whose fragments are closed
        self._closed: list[_Mention] = []

    def read(self, value: str, word: int, line: int, draft: Draft | None) -> None:
        """Take what stands at a word; without a draft nothing is listed."""
        end = 0
        for match in _BRACKET.finditer(value):
            if match.start() > end:
                self._list(draft, value, line)
            end = match.end()
            if match[1] is not None:
                name, *fields = match[1].split("-", max(len(self.names) - 1, 1))
                part = _Part.parse(name)
                if part.number == 1:
                    mention = _Mention([part.name, *fields], line)
                elif (mention := self._partial.get(part.name, _Mention([], 0))).line == 0:
                    self._list(draft, value, line)
                    continue
                self._open.setdefault(part, []).append((mention, word))
            part = _Part.parse(match[3] if match[3] is not None else name)
            if (match[2] or match[3]) is not None:
                self._close(part, word, value, line, draft)
        if end < len(value):
            self._list(draft, value, line)

    def mentions(self) -> Iterator[tuple[list[Fragment], str, float | None, dict[str, str], int]]:
        """The words, label, score, attributes and line of the entities that are closed."""
        for mention in self._closed:
            values = {name: unquote(value) for name, value in zip(self.names, mention.fields, strict=False) if value}
            values.pop(MENTION, None)
            score = None
            with suppress(ValueError, KeyError):
                if math.isfinite(number := float(values[SCORE])):
                    score = number
                    del values[SCORE]
            yield mention.runs, values.pop(TYPE, BARE), score, values, mention.line

    def rest(self) -> Iterator[int]:
        """The lines of the entities that open and do not close."""
        lines = {id(mention): mention.line for several in self._open.values() for mention, _ in several}
        yield from (lines | {id(mention): mention.line for mention in self._partial.values()}).values()

    def _close(self, part: _Part, word: int, value: str, line: int, draft: Draft | None) -> None:
        several = self._open.get(part)
        if not several:
            return self._list(draft, value, line)
        mention, first = several.pop()
        mention.runs.append((first, word + 1))
        if part.number < part.of:
            self._partial[part.name] = mention
            return None
        if self._partial.get(part.name) is mention:
            del self._partial[part.name]
        self._closed.append(mention)
        return None

    def _list(self, draft: Draft | None, value: str, line: int) -> None:
        if draft is not None:
            message = f"the brackets {excerpt(value)} open nothing, or close what is not open; that is not read"
            draft.add_problem("malformed", message, line)


def count_opening(value: str) -> int:
    """How many entities open at a word.

    >>> count_opening("(1-person(2[1/2]-place-new)"), count_opening("1)(2[2/2]-place"), count_opening("_")
    (2, 0, 0)
    """
    opening = (_Part.parse(match[1].split("-")[0]) for match in _BRACKET.finditer(value) if match[1] is not None)
    return sum(part.number == 1 for part in opening)


def keeps(name: str, value: Any) -> bool:
    """Whether a field can hold an attribute."""
    is_name = _NAME.fullmatch(name) is not None and name not in (MENTION, TYPE, SCORE)
    return is_name and isinstance(value, str) and bool(value)


def field_names(entities: Sequence[Entity]) -> list[str]:
    """The fields that some entities need."""
    names = dict.fromkeys(
        name for entity in entities for name, value in entity.attributes.items() if keeps(name, value)
    )
    scores = [SCORE] if any(entity.score is not None for entity in entities) else []
    return [MENTION, TYPE, *names, *scores]


def brackets(entities: Sequence[tuple[list[Fragment], Entity]], names: Sequence[str]) -> dict[int, str]:
    """What stands at each word, for entities with the words of their fragments."""
    opening: dict[int, list[tuple[int, str]]] = {}
    closing: dict[int, list[str]] = {}
    for number, (runs, entity) in enumerate(entities, 1):
        values = {TYPE: entity.label} | dict(entity.attributes)
        values[SCORE] = "" if entity.score is None else repr(entity.score)
        texts = [
            values.get(name, "") if name in (TYPE, SCORE) or keeps(name, values.get(name)) else "" for name in names
        ]
        for part, (first, stop) in enumerate(runs, 1):
            name = f"{number}[{part}/{len(runs)}]" if len(runs) > 1 else str(number)
            written = "-".join([name, *map(_escape, texts[1:])]).rstrip("-")
            is_single = stop == first + 1
            opening.setdefault(first, []).append((first - stop, f"({written})" if is_single else f"({written}"))
            if not is_single:
                closing.setdefault(stop - 1, []).append(f"{name})")
    words = sorted(opening.keys() | closing.keys())
    return {
        word: "".join(reversed(closing.get(word, []))) + "".join(text for _, text in sorted(opening.get(word, [])))
        for word in words
    }


def _escape(text: str) -> str:
    return _SPECIAL.sub(lambda match: "".join(f"%{byte:02X}" for byte in match[0].encode()), text)
