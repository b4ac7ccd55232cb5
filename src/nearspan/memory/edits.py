"""Edits of a memory, and what it holds after them. Pure data: no vectors here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Literal, get_args

from nearspan.document import Document, Entity, Fragment, Span
from nearspan.errors import EditError
from nearspan.knn.memory_sentence import MemorySentence
from nearspan.segment import Gold

Fragments = tuple[Fragment, ...]  # over words, in order
Kind = Literal["add", "relabel", "remove", "forget", "undo"]


@dataclass(frozen=True, slots=True)
class Edit:
    """One change of a memory, as it stands in the journal."""

    number: int  # from 1
    time: str  # ISO 8601, UTC
    kind: Kind
    summary: str  # one line for people
    change: Mapping[str, Any]  # what to do, for replaying it
    receipt: tuple[str, ...] = ()  # what went or came, line by line

    def to_dict(self) -> dict[str, Any]:
        """For JSON, without what only replaying needs."""
        return {
            "number": self.number,
            "time": self.time,
            "kind": self.kind,
            "summary": self.summary,
            "receipt": list(self.receipt),
        }

    def line(self) -> dict[str, Any]:
        """One line of the journal."""
        return self.to_dict() | {"change": dict(self.change)}

    @classmethod
    def from_line(cls, found: dict[str, Any]) -> Edit:
        """Read one line of the journal."""
        kind = found["kind"]
        if kind not in get_args(Kind):
            raise ValueError(f"there is no edit of the kind {kind!r}")
        receipt = tuple(str(line) for line in found["receipt"])
        return cls(
            int(found["number"]), str(found["time"]), kind, str(found["summary"]), dict(found["change"]), receipt
        )


def standing(edits: Iterable[Edit]) -> list[Edit]:
    """The edits that have not been undone, in order; an undo takes back the last of them.

    >>> def edit(number: int, kind: Kind) -> Edit:
    ...     return Edit(number, "", kind, "", {})
    >>> kinds: list[Kind] = ["add", "remove", "undo", "relabel", "undo", "undo"]
    >>> [one.number for one in standing(edit(n, kind) for n, kind in enumerate(kinds[:4], 1))]
    [1, 4]
    >>> standing(edit(n, kind) for n, kind in enumerate(kinds, 1))
    []
    """
    found: list[Edit] = []
    for edit in edits:
        if edit.kind != "undo":
            found.append(edit)
        elif found:
            found.pop()
    return found


@dataclass
class Revision:
    """What a memory holds after some edits: its sentences by id, the documents that were added, what is forgotten."""

    sentences: dict[int, MemorySentence]
    added: dict[int, Document]  # by the id of its first sentence
    next_id: int  # ids are never given twice, not even after an undo
    forgotten: frozenset[int] = frozenset()  # digests of training sentences whose words are recalled no more

    @classmethod
    def of(
        cls,
        base: Sequence[MemorySentence],
        edits: Sequence[Edit],
        read: Callable[[Document], list[MemorySentence]],
        forgotten: frozenset[int] = frozenset(),
    ) -> Revision:
        """The base's sentences, numbered from 0, with edits applied; `read` says what a document brings in.

        `forgotten` are those that the base knows of: no edit brings them back.
        """
        found = cls(dict(enumerate(base)), {}, len(base), forgotten)
        for edit in standing(edits):
            found.apply(edit.kind, edit.change, read)
        found.next_id = len(base) + sum(int(edit.change["count"]) for edit in edits if edit.kind == "add")
        return found

    def after(
        self, kind: Kind, change: Mapping[str, Any], read: Callable[[Document], list[MemorySentence]]
    ) -> Revision:
        """What there is after one more change; this stays as it is."""
        found = Revision(dict(self.sentences), dict(self.added), self.next_id, self.forgotten)
        found.apply(kind, change, read)
        return found

    def apply(self, kind: Kind, change: Mapping[str, Any], read: Callable[[Document], list[MemorySentence]]) -> None:
        """Make one change here; the caller has checked that it can be made."""
        if kind == "add":
            document, first = document_of(change["document"]), int(change["first"])
            kept = read(document)
            if len(kept) != int(change["count"]):
                raise ValueError(f"the added document {document.id!r} has {len(kept)} sentences, not {change['count']}")
            weight, heavier = float(change.get("weight", 1)), change.get("heavier") or [()] * len(kept)
            pairs = zip(kept, heavier, strict=True)
            weighed = [replace(one, weight=weight, heavier=_heavier(own)) for one, own in pairs]
            self.added[first], self.next_id = document, first + len(kept)
            self.sentences.update(enumerate(weighed, start=first))
        elif kind == "forget" or change.get("span") is None:
            for sentence in change["sentences"]:
                del self.sentences[int(sentence)]
            self.forgotten |= frozenset(map(int, change.get("forgotten", ())))
        else:
            span = Span(_places(change["span"]))
            label = str(change["label"]) if kind == "relabel" else None
            for sentence in map(int, change["sentences"]):
                one = self.sentences[sentence]
                found = relabelled(one, runs_of(one, sentence, span), label)
                if "weight" in change:
                    found = replace(found, weight=float(change["weight"]), heavier=_heavier(change.get("heavier", ())))
                self.sentences[sentence] = found


def relabelled(one: MemorySentence, runs: Fragments, label: str | None) -> MemorySentence:
    """A sentence whose span has this label alone: `""` makes it no entity, None takes it out of the memory.

    Only a run of words is remembered as no entity; fragments are either an entity together, or nothing.
    """
    if len(runs) > 1:
        broken = [gold for gold in one.discontinuous if gold.fragments != runs]
        return replace(one, discontinuous=tuple([*broken, Gold(runs, label)] if label else broken))
    place = runs[0]
    others = [entity for entity in one.entities if entity[:2] != place]
    entities = tuple(sorted([*others, (*place, label)] if label else others))
    removed = {other for other in one.removed if other != place} | ({place} if label is None else set())
    return replace(one, entities=entities, removed=tuple(sorted(removed)))


def runs_of(one: MemorySentence, sentence: int, span: Span) -> Fragments:
    """The words of a span of a remembered sentence, first and stop: one run, or those of its fragments."""
    starts = {start: word for word, (start, _) in reversed(list(enumerate(one.words)))}
    ends = {end: word + 1 for word, (_, end) in enumerate(one.words)}
    runs = tuple((starts.get(start, len(ends)), ends.get(end, 0)) for start, end in span.fragments)
    if any(stop <= first for first, stop in runs):
        raise EditError(
            f"{span.fragments} is not {'made of runs' if span.discontinuous else 'a run'} of whole words of sentence "
            f"{sentence}, which reads {one.text[:200]!r}"
        )
    if any(stop >= first for (_, stop), (first, _) in pairwise(runs)):
        raise EditError(f"no word lies between fragments of {span.text(one.text)!r}: give them as one span")
    return runs


def document_dict(document: Document) -> dict[str, Any]:
    """A document for the journal."""
    return {
        "id": document.id,
        "text": document.text,
        "entities": [[entity.span.fragments, entity.label] for entity in document.entities],
        "words": document.words,
        "sentences": document.sentences,
    }


def document_of(found: Mapping[str, Any]) -> Document:
    """Read what `document_dict` wrote."""
    entities = (Entity(Span(_places(fragments)), str(label)) for fragments, label in found["entities"])
    words, sentences = found["words"], found["sentences"]
    return Document(
        str(found["text"]),
        tuple(entities),
        str(found["id"]),
        None if words is None else _places(words),
        None if sentences is None else _places(sentences),
    )


def _heavier(found: Iterable[tuple[int, int, float]]) -> tuple[tuple[int, int, float], ...]:
    return tuple((int(first), int(stop), float(times)) for first, stop, times in found)


def _places(found: Iterable[Iterable[int]]) -> tuple[tuple[int, int], ...]:
    return tuple((int(start), int(end)) for start, end in found)
