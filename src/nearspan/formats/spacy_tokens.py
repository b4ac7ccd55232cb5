"""The tokens of spaCy: a text is made of them, with nothing but a blank between some, and so are entities.

Characters that are in no word, such as line breaks, are tokens of their own, and so is a blank with which an entity
begins or ends; words are cut where an entity begins or ends inside one. Sentences hold all tokens: blanks after one
belong to it.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from nearspan.document import Document, Entity, Fragment
from nearspan.segment import split

GROUP = "sc"
"""The group of spans that entities go to if they share characters; spaCy's span categoriser uses it."""


@dataclass(frozen=True)
class SpacyTokens:
    """A document as tokens: where each begins and ends, whether a blank follows, and the first tokens of sentences.

    >>> tokens = SpacyTokens.of(Document("Ada wrote.\\nYes", words=((0, 3), (4, 9), (9, 10), (11, 14))))
    >>> tokens.offsets, tokens.spaces
    ([(0, 3), (4, 9), (9, 10), (10, 11), (11, 14)], [True, False, False, False, False])
    """

    offsets: list[Fragment]
    spaces: list[bool]
    sentence_starts: list[int] | None
    changes: dict[str, int]

    @classmethod
    def of(cls, document: Document) -> SpacyTokens:
        """The tokens of a document, and what they do not keep."""
        text = document.text
        given = document.words
        words = given if given is not None else [word for sentence in split(document) for word in sentence.words]
        begins, ends = ({getattr(entity, name) for entity in document.entities} for name in ("start", "end"))
        edges = sorted(begins | ends)
        offsets: list[Fragment] = []
        spaces: list[bool] = []
        before = 0
        for start, end in (*(word for word in words if word[0] < word[1]), (len(text), len(text))):
            gap = before
            if offsets and gap < start and text[gap] == " " and not (gap in begins or gap + 1 in ends):
                spaces[-1] = True
                gap += 1
            for first, last in (*_cut(gap, start, edges), *_cut(start, end, edges)):
                offsets.append((first, last))
                spaces.append(False)
            before = end
        kept = [(start, end) for start, end in offsets if text[start:end].strip()]
        starts = _sentence_starts(document, offsets)
        changed = given is not None and kept != [word for word in given if text[slice(*word)].strip()]
        again = None if starts is None else sentences_of(text, offsets, starts)
        sentences = document.sentences is not None and tuple(again or ()) != document.sentences
        changes = {
            "documents whose words were cut, or have further ones between them": int(changed),
            "documents whose sentences are not kept as they were": int(sentences),
        }
        return cls(offsets, spaces, starts, changes)

    def span(self, entity: Entity) -> tuple[int, int]:
        """The first token of an entity and the one after its last."""
        first = bisect_left(self.offsets, (entity.start, 0))
        stop = bisect_right(self.offsets, entity.end, key=lambda offset: offset[1])
        return first, stop


def sentences_of(text: str, offsets: Sequence[Fragment], starts: Sequence[int]) -> list[Fragment]:
    """The characters of sentences whose first tokens are given, without blanks at their ends."""
    sentences: list[Fragment] = []
    for first, stop in pairwise([*starts, len(offsets)]):
        full = [offset for offset in offsets[first:stop] if text[slice(*offset)].strip()]
        sentences += [(full[0][0], full[-1][1])] if full else []
    return sentences


def place(document: Document) -> dict[str, list[Entity]]:
    """The entities of a document by the group that they go to; those under the empty name are spaCy's `ents`.

    Where an entity has `groups` among its attributes, these say so. Of the others all are `ents`, or, if some of them
    share characters, all are spans of `GROUP`.
    """
    groups: dict[str, list[Entity]] = {"": []}
    plain: list[Entity] = []
    for entity in document.entities:
        names = groups_of(entity)
        for name in names or ():
            groups.setdefault("" if name == "ents" else name, []).append(entity)
        plain += [] if names else [entity]
    flat = sorted([*plain, *groups[""]], key=lambda entity: (entity.start, entity.end))
    if any(entity.end > after.start for entity, after in pairwise(flat)):
        known = set(groups.setdefault(GROUP, []))
        groups[GROUP] += [entity for entity in plain if entity not in known]
    else:
        groups[""] += plain
    return groups


def groups_of(entity: Entity) -> list[str] | None:
    """The groups that the attributes of an entity name, if they do."""
    names = entity.attributes.get("groups")
    if isinstance(names, tuple) and names and all(isinstance(name, str) and name for name in names):
        return list(dict.fromkeys(names))
    return None


def count_unkept(corpus: Sequence[Document], keeps: Sequence[str]) -> Counter[str]:
    """How many entities of a corpus have attributes other than those of some names and `groups`."""
    entities = [entity for document in corpus for entity in document.entities]
    unkept = sum(
        any(
            not (key in keeps and isinstance(value, str)) and not (key == "groups" and groups_of(entity))
            for key, value in entity.attributes.items()
        )
        for entity in entities
    )
    return Counter({"entities whose attributes are not kept": unkept})


def _cut(start: int, end: int, edges: list[int]) -> list[Fragment]:
    """A stretch cut where entities begin or end inside it; none if it is empty."""
    if start == end:
        return []
    return list(pairwise([start, *edges[bisect_right(edges, start) : bisect_left(edges, end)], end]))


def _sentence_starts(document: Document, offsets: Sequence[Fragment]) -> list[int] | None:
    """The first token of each sentence, if the document says where they are."""
    if document.sentences is None:
        return None
    begins = [start for start, _ in offsets]
    return sorted({bisect_left(begins, start) for start, _ in document.sentences} - {0, len(offsets)} | {0})
