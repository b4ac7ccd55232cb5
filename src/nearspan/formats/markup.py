"""An inline markup for tests and documentation.

`[Ada](PER)` is an entity; entities nest: `[University of [Oslo](PLACE)](ORG)`. Pieces with the same label
and number are one discontinuous entity: `[pain in](SYMPTOM#1) arms and [legs](SYMPTOM#1)`; pieces that
touch are joined. A backslash takes the meaning from `[`, `]`, `\\` and, inside a label, from `)` and `#`.
"""

import re
from collections import Counter, defaultdict
from heapq import heapify, heappop, heappush
from itertools import pairwise

from nearspan.document import Document, Entity, Fragment, Span
from nearspan.errors import CorpusError
from nearspan.formats.corpus import excerpt

_TOKEN = re.compile(r"\\(?P<escaped>.?)|\[|\](?:\((?P<label>(?:[^\\()#]|\\.)+)(?:#(?P<number>\d+))?\))?", re.DOTALL)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)


def parse(text: str, id: str = "") -> Document:
    r"""Read markup.

    >>> document = parse(r"[pain in](SYMPTOM#1) [arms](PART) and [[legs](PART)](SYMPTOM#1) \[sic\]")
    >>> document.text
    'pain in arms and legs [sic]'
    >>> [(entity.label, entity.text) for entity in document.entities]
    [('SYMPTOM', 'pain in legs'), ('PART', 'arms'), ('PART', 'legs')]
    """
    plain = ""
    open_brackets: list[tuple[int, int]] = []
    entities: list[Entity] = []
    pieces: defaultdict[tuple[str, str], list[Fragment]] = defaultdict(list)
    done = 0
    for token in _TOKEN.finditer(text):
        plain += text[done : token.start()]
        at, done = token.span()
        if token["escaped"] is not None:
            if not token["escaped"]:
                raise _error(text, at, "a backslash at the end; write \\\\")
            plain += token["escaped"]
        elif text[at] == "[":
            open_brackets.append((len(plain), at))
        elif token["label"] is None or not open_brackets:
            raise _error(text, at, "expected (LABEL) after it" if open_brackets else "nothing to close; write \\]")
        else:
            label, start = _ESCAPED.sub(r"\1", token["label"]), open_brackets.pop()[0]
            if start == len(plain):
                raise _error(text, at, f"the {label} is empty")
            if token["number"] is None:
                entities.append(Entity(Span(((start, len(plain)),)), label))
            else:
                pieces[label, token["number"]].append((start, len(plain)))
    plain += text[done:]
    if open_brackets:
        raise _error(text, open_brackets[-1][1], "it is never closed; write \\[")
    entities += [Entity(Span.union(fragments), label) for (label, _), fragments in pieces.items()]
    if len(set(entities)) < len(entities):
        raise CorpusError(f"markup: {excerpt(text)} holds the same entity twice")
    return Document(plain, tuple(sorted(entities)), id)


def render(document: Document) -> str:
    """Write a document as markup; entities that cross are written in numbered pieces.

    >>> render(Document("University of Oslo", (Entity.of(0, 18, "ORG"), Entity.of(14, 18, "PLACE"))))
    '[University of [Oslo](PLACE)](ORG)'
    >>> render(Document("a b c", (Entity.of(0, 3, "X"), Entity.of(2, 5, "Y"))))
    '[a [b](Y#1)](X)[ c](Y#1)'
    """
    pieces = _nested_pieces(document.entities)
    counts = Counter(entity for _, _, entity in pieces)
    numbers = {entity: number for number, entity in enumerate((e for e in sorted(counts) if counts[e] > 1), 1)}
    labels = {
        entity: re.sub(r"([\\()#])", r"\\\1", document.entities[entity].label)
        + (f"#{numbers[entity]}" if entity in numbers else "")
        for entity in counts
    }
    openers, closers = Counter(start for start, _, _ in pieces), defaultdict[int, str](str)
    for _, end, entity in pieces:  # what is inside comes later, and is closed before
        closers[end] = f"]({labels[entity]})" + closers[end]
    markup = ""
    size = len(document.text)
    for start, end in pairwise(sorted({0, size, *openers, *closers})):
        text = re.sub(r"([\\\[\]])", r"\\\1", document.text[start:end])
        markup += closers[start] + "[" * openers[start] + text
    return markup + closers[size]


def _nested_pieces(entities: tuple[Entity, ...]) -> list[tuple[int, int, int]]:
    """Fragments as (start, end, entity), cut so that of any two one holds the other or they are apart."""
    waiting = [(start, -end, index) for index, entity in enumerate(entities) for start, end in entity.fragments]
    heapify(waiting)
    pieces: list[tuple[int, int, int]] = []
    ends: list[int] = []
    while waiting:
        start, end, index = heappop(waiting)
        end = -end
        while ends and ends[-1] <= start:
            ends.pop()
        if ends and ends[-1] < end:
            heappush(waiting, (ends[-1], -end, index))
            end = ends[-1]
        pieces.append((start, end, index))
        ends.append(end)
    return pieces


def _error(text: str, at: int, reason: str) -> CorpusError:
    return CorpusError(f"markup: character {at} ({excerpt(text[at : at + 20])}): {reason}")
