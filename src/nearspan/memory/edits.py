"""Edits of a memory, and what it holds after them. Pure data: no vectors here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

from pydantic import ValidationError

from nearspan.document import IDENTIFIER, NO_ATTRIBUTES, Document, Entity, Span, given_identifier
from nearspan.errors import EditError, ModelError, NearspanError
from nearspan.knn import AS_TRAINED, MemorySentence, Vote
from nearspan.memory.journal_lines import LINES
from nearspan.segment import Fragments, LabelledSpan, Sentence

Kind = Literal["add", "relabel", "remove", "forget", "undo", "train"]  # train: where a memory comes from; no edit
SpanWeights = tuple[tuple[int, int, float], ...]  # first word, stop, how often the span counts
CarriedWeights = tuple[tuple[int, int, float, float], ...]  # the same, in its sentence and for its words elsewhere
Reader = Callable[[Document], list[MemorySentence]]  # what a document brings into the memory


@dataclass(frozen=True, slots=True)
class Edit:
    """One change of a memory, as it stands in the journal."""

    number: int  # from 1
    time: str  # ISO 8601, UTC
    kind: Kind
    summary: str  # one line for people
    change: Mapping[str, Any]  # what to do, for replaying it
    receipt: tuple[str, ...] = ()  # what went or came, line by line

    def __repr__(self) -> str:
        return f"Edit({self.number}: {self.summary})"

    def to_dict(self) -> dict[str, Any]:
        """For JSON, without what only replaying needs."""
        return {
            "number": self.number,
            "time": self.time,
            "kind": self.kind,
            "summary": self.summary,
            "receipt": list(self.receipt),
        }

    @classmethod
    def from_line(cls, line: bytes, number: int, path: Path) -> Edit:
        """Read a line of the journal at a path, by its number."""
        try:
            content = LINES.validate_json(line)
            if content.number != number:
                raise ValueError(f"it is edit {content.number} where {number} is expected")
            change = content.change.model_dump(exclude_unset=True)
        except ValidationError as error:
            problem = error.errors(include_url=False)[0]
            place = ".".join(str(step) for step in problem["loc"][1:])
            raise ModelError(f"{path}:{number} is damaged: {f'{place}: ' * bool(place)}{problem['msg']}") from error
        except ValueError as error:
            raise ModelError(f"{path}:{number} is damaged: {error}") from error
        return cls(number, content.time, content.kind, content.summary, change, tuple(content.receipt))


def standing_edits(edits: Iterable[Edit]) -> list[Edit]:
    """The edits that have not been undone, in order; an undo takes back the last of them.

    >>> def edit(number: int, kind: Kind) -> Edit:
    ...     return Edit(number, "", kind, "", {})
    >>> kinds: list[Kind] = ["add", "remove", "undo", "relabel", "undo", "undo"]
    >>> [edit.number for edit in standing_edits(edit(n, kind) for n, kind in enumerate(kinds[:4], 1))]
    [1, 4]
    >>> standing_edits(edit(n, kind) for n, kind in enumerate(kinds, 1))
    []
    """
    standing: list[Edit] = []
    for edit in edits:
        if edit.kind == "undo" and standing:
            standing.pop()
        elif edit.kind not in ("undo", "train"):
            standing.append(edit)
    return standing


@dataclass
class Revision:
    """What a memory holds after some edits: its sentences by id, the documents that were added, what is forgotten."""

    sentences: dict[int, MemorySentence]
    added: dict[int, tuple[Mapping[str, Any], int]]  # `write_document`'s, by the id of its first sentence, of so many
    next_id: int  # ids are never given twice, not even after an undo
    forgotten: frozenset[int] = frozenset()  # digests of training sentences whose words are recalled no more
    vote: Vote = AS_TRAINED  # how spans count

    @classmethod
    def of(
        cls,
        base: Sequence[MemorySentence],
        edits: Sequence[Edit],
        read: Reader,
        forgotten: frozenset[int] = frozenset(),
        vote: Vote = AS_TRAINED,
    ) -> Revision:
        """The base's sentences, numbered from 0, with edits applied; `read` says what a document brings in.

        `forgotten` are those that the base knows of: no edit brings them back. `vote` is the base's too.
        """
        revision = cls(dict(enumerate(base)), {}, len(base), forgotten, vote)
        for edit in standing_edits(edits):
            try:
                revision.apply(edit.kind, edit.change, read)
            except (NearspanError, ValueError, KeyError, IndexError) as error:
                reason = f"there is no sentence {error}" if isinstance(error, KeyError) else error
                raise ValueError(f"line {edit.number}: {reason}") from error
        revision.next_id = len(base) + sum(edit.change["count"] for edit in edits if edit.kind == "add")
        return revision

    def after(self, kind: Kind, change: Mapping[str, Any], read: Reader) -> Revision:
        """What there is after one more change; this stays as it is."""
        revision = Revision(dict(self.sentences), dict(self.added), self.next_id, self.forgotten, self.vote)
        revision.apply(kind, change, read)
        return revision

    def apply(self, kind: Kind, change: Mapping[str, Any], read: Reader) -> None:
        """Make one change here; the caller has checked that it can be made."""
        if "vote" in change:
            self.vote = Vote.from_dict(change["vote"])
        if kind == "add":
            self._add(change, read)
        elif not change.get("span"):
            for number in change["sentences"]:
                del self.sentences[number]
            self.forgotten |= frozenset(change.get("forgotten", ()))
        else:
            span, label = Span(tuple(change["span"])), change["label"] if kind == "relabel" else None
            for number in change["sentences"]:
                sentence = self.sentences[number]
                runs = word_runs(sentence, number, span)
                changed = relabel(sentence, runs, label, change.get("identifier", ""))
                if "weight" in change:
                    weights = tuple(change.get("span_weights", ()))
                    carried = tuple(change.get("carried", ()))
                    changed = replace(changed, weight=float(change["weight"]), entity_weight=1.0)
                    changed = replace(changed, span_weights=weights, carried=carried)
                self.sentences[number] = changed

    def _add(self, change: Mapping[str, Any], read: Reader) -> None:
        """Take in a document again that was added once."""
        document, first = read_document(change["document"]), change["first"]
        sentences = read(document)
        if len(sentences) != change["count"]:
            raise ValueError(
                f"the added document {document.id!r} has {len(sentences)} sentences, not {change['count']}"
            )
        weight, entity_weight = (float(change.get(name, 1)) for name in ("weight", "entity_weight"))
        weights = change.get("weights") or [weight] * len(sentences)
        span_weights, carried = (change.get(name) or [()] * len(sentences) for name in ("span_weights", "carried"))
        self.added[first], self.next_id = (change["document"], len(sentences)), first + len(sentences)
        rows = zip(sentences, weights, span_weights, carried, strict=True)
        for number, (sentence, times, spans, elsewhere) in enumerate(rows, start=first):
            counted = replace(sentence, weight=float(times), entity_weight=entity_weight)
            self.sentences[number] = replace(counted, span_weights=tuple(spans), carried=tuple(elsewhere))


def relabel(sentence: MemorySentence, runs: Fragments, label: str | None, identifier: str = "") -> MemorySentence:
    """A sentence whose span has this label alone: `""` makes it no entity, None takes it out of the memory.

    Where it has the label already it keeps its identifier, unless it gets another.

    Only a run of words is remembered as no entity; fragments are either an entity together, or nothing.
    """
    entities = [gold for gold in sentence.entities if gold.fragments != runs]
    if label:
        before = (gold for gold in sentence.entities if (gold.fragments, gold.label) == (runs, label))
        identifier = identifier or next((gold.identifier for gold in before), "")
        entities.append(LabelledSpan(runs, label, identifier=identifier))
    entities.sort(key=lambda gold: (gold.discontinuous, gold.fragments, gold.label))
    removed = set(sentence.removed)
    if len(runs) == 1:
        removed = removed | {runs[0]} if label is None else removed - {runs[0]}
    return replace(sentence, entities=tuple(entities), removed=tuple(sorted(removed)))


def word_runs(sentence: MemorySentence, number: int, span: Span) -> Fragments:
    """The words of a span of a remembered sentence, first and stop: one run, or those of its fragments."""
    starts = {start: word for word, (start, _) in reversed(list(enumerate(sentence.words)))}
    ends = {end: word + 1 for word, (_, end) in enumerate(sentence.words)}
    runs = tuple((starts.get(start, len(ends)), ends.get(end, 0)) for start, end in span.fragments)
    if any(stop <= first for first, stop in runs):
        raise EditError(
            f"{span.fragments} is not {'made of runs' if span.discontinuous else 'a run'} of whole words of sentence "
            f"{number}, which reads {sentence.text[:200]!r}"
        )
    if any(stop >= first for (_, stop), (first, _) in pairwise(runs)):
        raise EditError(f"no word lies between fragments of {span.text(sentence.text)!r}: give them as one span")
    return runs


def write_document(document: Document, sentences: Sequence[Sentence] | None = None) -> dict[str, Any]:
    """A document for the journal; with its words and sentences, where given, so that it is always read alike again."""
    words, edges = document.words, document.sentences
    if sentences is not None:
        words = tuple((view.words[a][0], view.words[b - 1][1]) for view in sentences for a, b in view.runs)
        edges = tuple((view.words[0][0], view.words[-1][1]) for view in sentences)
    return {
        "id": document.id,
        "text": document.text,
        "entities": [
            [entity.span.fragments, entity.label, *([identifier] if (identifier := given_identifier(entity)) else [])]
            for entity in document.entities
        ],
        "words": words,
        "sentences": edges,
    }


def read_document(content: Mapping[str, Any]) -> Document:
    """Read what `write_document` wrote."""
    entities = (
        Entity(Span(tuple(fragments)), label, attributes={IDENTIFIER: identifier[0]} if identifier else NO_ATTRIBUTES)
        for fragments, label, *identifier in content["entities"]
    )
    words, sentences = (None if content[key] is None else tuple(content[key]) for key in ("words", "sentences"))
    return Document(content["text"], tuple(entities), content["id"], words, sentences)
