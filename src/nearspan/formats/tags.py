"""Chunk tags: IOB1, IOB2, BIOES, BMES and BILOU, read by one rule, that of conlleval.

An entity begins at a `B`, `S` or `U`, or at any other tag where none of its label is open; it ends after an
`E`, `L`, `S` or `U`, or before whatever does not continue it. Right sequences of all schemes are read right
by this, and wrong ones lose nothing.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple, cast

from nearspan.formats.corpus import clean_label

BARE = "ENTITY"
"""The label of tags without one, such as `B`, `I` and `O` in corpora of one type."""

_SEPARATOR = re.compile("[,|]")
_BARE = re.compile(r"[^\W\d_][^\W_]")
_SUFFIX = re.compile("[-_][BIESMLUO]$")
OPENERS = frozenset("BSU")
CLOSERS = frozenset("ELSU")
_PREFIXES = frozenset("BIESMLU")
_FIRST_ENTITIES = 1 << 13  # by which the scheme of a file is found


class Tag(NamedTuple):
    """A tag's two halves; outside tags have an empty label."""

    prefix: str
    label: str


OUTSIDE = Tag("O", "")


class Chunk(NamedTuple):
    """Words `first` to `stop` (half-open) with a label, and the prefixes of its first and last tag."""

    first: int
    stop: int
    label: str
    first_prefix: str
    last_prefix: str


@lru_cache(maxsize=4096)  # files hold few different tags, each many times
def parse(tag: str) -> Tag | None:
    """A tag's prefix and label, or None if it is not a tag.

    >>> parse("B-PER"), parse("O"), parse("NNP")
    (Tag(prefix='B', label='PER'), Tag(prefix='O', label=''), None)
    """
    if tag == "O":
        return OUTSIDE
    if tag in _PREFIXES:
        return Tag(tag, BARE)
    label = clean_label(tag[2:])
    return Tag(tag[0], label) if label and tag[1] == "-" and tag[0] in _PREFIXES else None


@lru_cache(maxsize=4096)
def parse_all(text: str, bare: bool = False) -> tuple[Tag, ...]:
    """The tags of a word, several where a comma or a bar parts them; none if that is no tag.

    `bare` labels have no prefix: words in a row with the same one are one entity.

    >>> parse_all("B-group,I-person")
    (Tag(prefix='B', label='group'), Tag(prefix='I', label='person'))
    >>> parse_all("B-a,b"), parse_all("PERSON", bare=True), parse_all("PERSON")
    ((Tag(prefix='B', label='a,b'),), (Tag(prefix='I', label='PERSON'),), ())
    """
    if bare and is_bare_label(text):
        return (Tag("I", clean_label(text)),)
    several = [parse(part) for part in _SEPARATOR.split(text) if part]
    tags = [tag for tag in several if tag is not None and tag.label]
    if len(tags) == len(several) > 1:
        return tuple(tags)
    tag = parse(text)
    return () if tag is None else (tag,)


class PlainTags(dict[str, Tag | None]):
    """Tags by what is written, of which a word has one and nothing has to be said; for others None.

    >>> PlainTags(bare=False)["B-PER"], PlainTags(bare=False)["B-PER,B-LOC"]
    (Tag(prefix='B', label='PER'), None)
    """

    def __init__(self, bare: bool) -> None:
        super().__init__()
        self.bare = bare

    def __missing__(self, text: str) -> Tag | None:
        tags = parse_all(text, self.bare)
        is_plain = len(tags) == 1 and (self.bare or len(text) <= 2 or text[2:] == tags[0].label)
        self[text] = tag = tags[0] if is_plain else None
        return tag

    def of(self, texts: Sequence[str]) -> list[Tag]:
        """The tags of a sentence; none if there is one that has to be looked at more closely."""
        tags = [self[text] for text in texts]
        return [] if None in tags else cast(list[Tag], tags)


def is_bare_label(text: str) -> bool:
    """Whether a text may be a label without a prefix: it has a letter, and is no tag nor like one of another scheme.

    >>> [is_bare_label(text) for text in ("PERSON", "O", "Q-PER", "B_PER", "PER-B", "_")]
    [True, False, False, False, False, False]
    """
    return _BARE.match(text) is not None and _SUFFIX.search(text) is None


def layers(words: Sequence[tuple[Tag, ...]]) -> list[list[Tag]]:
    """The tags of a sentence whose words may have several, as sentences of which each word has one.

    A tag that goes on stays in the layer of the word before it that has its label.

    >>> rows = layers([parse_all("B-group,B-person"), parse_all("I-person"), parse_all("O")])
    >>> [[tag.label for tag in row] for row in rows]
    [['group', '', ''], ['person', 'person', '']]
    """
    if all(len(tags) == 1 for tags in words):
        return [[tag for (tag,) in words]]
    rows = [[OUTSIDE] * len(words) for _ in range(max(map(len, words), default=1))]
    for index, tags in enumerate(words):
        free = list(rows)
        for tag in sorted(tags, key=lambda tag: tag.prefix in OPENERS):  # those that go on choose first
            before = [row[index - 1].label if index and tag.prefix not in OPENERS else "" for row in free]
            row = free.pop(before.index(tag.label) if tag.label in before else 0)
            row[index] = tag
    return rows


def is_labelled(tag: str) -> bool:
    """Whether a tag is `O` or PREFIX-LABEL."""
    return tag == "O" or (len(tag) > 2 and tag[1] == "-" and tag[0] in _PREFIXES)


def chunks(tags: Sequence[Tag]) -> list[Chunk]:
    """The entities of a sentence's tags.

    >>> [chunk[:3] for chunk in chunks([Tag("B", "PER"), Tag("I", "PER"), OUTSIDE, Tag("I", "LOC")])]
    [(0, 2, 'PER'), (3, 4, 'LOC')]
    """
    entities: list[Chunk] = []
    first, current, first_prefix, last_prefix = -1, "", "", ""
    for index, (prefix, label) in enumerate(tags):
        if current and (label != current or prefix in OPENERS):
            entities.append(Chunk(first, index, current, first_prefix, last_prefix))
            current = ""
        if not label:
            continue
        if not current:
            first, current, first_prefix = index, label, prefix
        last_prefix = prefix
        if prefix in CLOSERS:
            entities.append(Chunk(first, index + 1, label, first_prefix, last_prefix))
            current = ""
    if current:
        entities.append(Chunk(first, len(tags), current, first_prefix, last_prefix))
    return entities


def count_entities(tags: Sequence[Tag]) -> int:
    """How many entities begin in a sentence's tags, by pairs of neighbours and not by what `chunks` makes of them.

    >>> count_entities([Tag("B", "PER"), Tag("I", "PER"), OUTSIDE, Tag("I", "LOC")])
    2
    """
    return sum(
        bool(tag.label) and (tag.prefix in OPENERS or tag.label != before.label or before.prefix in CLOSERS)
        for before, tag in pairwise((OUTSIDE, *tags))
    )


def scheme(prefixes: Counter[str], entities: Iterable[Chunk]) -> str:
    """The scheme most of a file's entities follow, by its tags' prefixes and its entities."""
    entities = list(entities)
    closers = sum(chunk.last_prefix in CLOSERS for chunk in entities)
    openers = sum(chunk.first_prefix in OPENERS for chunk in entities)
    adjacent = sum(
        chunk.first_prefix in OPENERS and (before.stop, before.label) == (chunk.first, chunk.label)
        for before, chunk in pairwise(entities)
    )
    if 2 * closers > len(entities):
        if prefixes["L"] + prefixes["U"] > prefixes["E"] + prefixes["S"]:
            return "BILOU"
        return "BMES" if prefixes["M"] > prefixes["I"] else "BIOES"
    # A B right after an entity of its label is IOB1 as well as IOB2.
    return "IOB1" if len(entities) - openers > openers - adjacent else "IOB2"


class SequenceCheck:
    """Lists entities whose tags are wrong under the scheme of their file, which its first entities show.

    >>> listed = []
    >>> check = SequenceCheck()
    >>> for chunk in [*[Chunk(0, 1, "PER", "B", "B")] * 2, Chunk(0, 1, "LOC", "I", "I")]:
    ...     check.add(chunk, listed.append)
    >>> check.finish()
    >>> listed
    ['I-LOC begins an entity in a file tagged as IOB2; the entity is kept']
    """

    def __init__(self) -> None:
        self.scheme = ""
        self._first: list[tuple[Chunk, Callable[[str], None]]] = []
        self._prefixes: Counter[str] = Counter()

    def count(self, prefixes: Iterable[str] | Counter[str]) -> None:
        """Count the prefixes of tags; those of the first entities tell BMES from BIOES and BILOU."""
        if not self.scheme:
            self._prefixes.update(prefixes)

    def add(self, chunk: Chunk, add_problem: Callable[[str], None]) -> None:
        """An entity, and what is told if its tags are wrong."""
        if self.scheme:
            self._list_fault(chunk, add_problem)
            return
        self._first.append((chunk, add_problem))
        if len(self._first) == _FIRST_ENTITIES:
            self.finish()

    def finish(self) -> None:
        """Find the scheme, if that was not done yet, and list what is wrong under it."""
        if not self.scheme:
            self.scheme = scheme(self._prefixes, [chunk for chunk, _ in self._first])
            for entity in self._first:
                self._list_fault(*entity)
            self._first.clear()

    def _list_fault(self, chunk: Chunk, add_problem: Callable[[str], None]) -> None:
        if wrong := fault(chunk, self.scheme):
            add_problem(f"{wrong} in a file tagged as {self.scheme}; the entity is kept")


def fault(chunk: Chunk, scheme: str) -> str:
    """What is wrong with the tags of an entity under a scheme; empty if nothing is.

    >>> fault(Chunk(0, 1, "PER", "I", "I"), "IOB2")
    'I-PER begins an entity'
    """
    if scheme == "IOB1":
        return ""
    if chunk.first_prefix not in OPENERS:
        return f"{chunk.first_prefix}-{chunk.label} begins an entity"
    if scheme != "IOB2" and chunk.last_prefix not in CLOSERS:
        return f"{chunk.last_prefix}-{chunk.label} ends an entity"
    return ""
