"""Doubts: annotations that their neighbours contradict, and spans without one that look like entities."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from nearspan.document import Document, Entity
from nearspan.explain import Neighbour
from nearspan.model import Model
from nearspan.model.decode import Overlap, ScoredSpan, decode
from nearspan.report.leave_one_out import Opinions, Place

Kind = Literal["wrong label", "wrong boundary", "no entity", "missing"]


@dataclass(frozen=True, slots=True)
class Doubt:
    """An annotation in doubt, and what the neighbours would have instead."""

    kind: Kind
    number: int  # the document's position in the corpus
    document: Document
    annotated: Entity | None  # None where an entity is missing
    suggested: Entity | None  # None where the neighbours see no entity; its score is the probability they give it
    doubt: float  # the probability that the neighbours do not give to the annotation
    probabilities: dict[str, float]  # of the span in doubt, by label, the most probable first; "" is no entity
    against: Sequence[Neighbour] = ()  # training spans that speak for what is suggested
    backing: Sequence[Neighbour] = ()  # training spans that speak for what is annotated
    row: int = -1  # among the opinions

    @property
    def entity(self) -> Entity:
        """The annotation or, where there is none, the entity that is missing."""
        return self.annotated or self.suggested  # type: ignore[return-value]

    def to_dict(self) -> dict[str, Any]:
        """One line of the list."""
        return {
            "kind": self.kind,
            "document": self.document.id,
            "number": self.number,
            "doubt": self.doubt,
            "annotated": self._entity(self.annotated),
            "suggested": self._entity(self.suggested),
            "probabilities": {label or "null": value for label, value in self.probabilities.items()},
            "against": [one.to_dict() for one in self.against],
            "backing": [one.to_dict() for one in self.backing],
        }

    def _entity(self, entity: Entity | None) -> dict[str, Any] | None:
        if entity is None:
            return None
        text = entity.span.text(self.document.text)
        return {"label": entity.label, "text": text, "fragments": entity.span.fragments}


@dataclass(frozen=True, slots=True)
class _Claim:
    """A label that a span has, and the one that it should have."""

    row: int  # among the opinions
    first: int
    stop: int
    annotated: int  # 0: null
    suggested: int
    doubt: float


def doubts(model: Model, documents: Sequence[Document], found: Opinions) -> list[Doubt]:
    """All doubts, the gravest first; of equal ones the first in the corpus."""
    believed = found.annotated.new_zeros(found.annotated.shape)
    believed[model.network.chosen(found.probabilities)] = 1
    spans = zip(*(column.tolist() for column in (found.place, found.first, found.stop)), strict=True)
    labels = zip(*(column.tolist() for column in (found.annotated, believed, found.probabilities)), strict=True)
    claims: dict[int, list[_Claim]] = {}
    for row, ((place, first, stop), (has, should, shares)) in enumerate(zip(spans, labels, strict=True)):
        claims.setdefault(place, []).extend(
            _Claim(row, first, stop, *pair, _doubt(model, shares, *pair)) for pair in _pairs(has, should)
        )
    listed = [
        _as_doubt(model, documents, found, found.places[place], one)
        for place, own in claims.items()
        for one in _settled(model, found.places[place], own)
    ]
    return sorted(listed, key=lambda one: (-one.doubt, one.number, one.entity))


def _pairs(has: Sequence[float], should: Sequence[float]) -> Iterator[tuple[int, int]]:
    """The labels that a span has, each with the one that it should have instead; 0 for none."""
    both = [label for label in range(1, len(has)) if has[label] and should[label]]
    wrong = [label for label in range(1, len(has)) if has[label] and not should[label]]
    new = [label for label in range(1, len(has)) if should[label] and not has[label]]
    yield from ((label, label) for label in both)
    for i in range(max(len(wrong), len(new))):
        yield wrong[i] if i < len(wrong) else 0, new[i] if i < len(new) else 0


def _doubt(model: Model, shares: Sequence[float], annotated: int, suggested: int) -> float:
    """What the neighbours do not give to the annotation; to a label that is missing, what they give to it."""
    if not annotated and model.recipe.head.multilabel:
        return shares[suggested]
    return 1 - shares[annotated]


def _settled(model: Model, place: Place, claims: list[_Claim]) -> list[tuple[_Claim, _Claim | None]]:
    """The doubts of a sentence: an annotation that is no entity, with the missing one that it overlaps if any.

    Missing entities that may not stand beside the annotations that are entities are left out, and so are the less
    probable ones of those that may not stand together.
    """
    gone = {(one.first, one.stop, model.labels[one.annotated]) for one in claims if one.annotated and not one.suggested}
    stands = [((first, stop),) for first, stop, label in place.entities if (first, stop, label) not in gone]
    strange = (((first, stop),) for first, stop, label in place.entities if label not in model.labels)
    unasked = {*strange, *place.others}
    missing = [one for one in claims if not one.annotated and ((one.first, one.stop),) not in unasked]
    guesses = [ScoredSpan.of(one.first, one.stop, number, one.doubt) for number, one in enumerate(missing)]
    kept = decode(guesses, model.overlap, model.linked_overlap, [*stands, *place.others])
    left = {one.label: missing[one.label] for one in kept}
    found: list[tuple[_Claim, _Claim | None]] = []
    for one in claims:
        if one.annotated and not one.suggested:
            over = [n for n, other in left.items() if _moved(one, other, model.overlap)]
            best = max(over, key=lambda n: left[n].doubt, default=None)
            found.append((one, left.pop(best) if best is not None else None))
        elif one.annotated != one.suggested and one.annotated:
            found.append((one, None))
    return found + [(one, None) for one in left.values()]


def _moved(one: _Claim, other: _Claim, overlap: Overlap) -> bool:
    """Whether an annotation and a missing entity are one entity; where entities may nest only if of one label."""
    return other.first < one.stop and one.first < other.stop and (overlap == "flat" or one.annotated == other.suggested)


def _as_doubt(
    model: Model, documents: Sequence[Document], found: Opinions, place: Place, pair: tuple[_Claim, _Claim | None]
) -> Doubt:
    one, other = pair
    sentence, shares = place.part.sentence, found.probabilities[one.row].tolist()
    ranked = dict(sorted(zip(model.labels, shares, strict=True), key=lambda entry: -entry[1]))
    annotated = suggested = None
    if one.annotated:
        annotated = Entity(sentence.span(one.first, one.stop), model.labels[one.annotated])
    instead = other or one
    if instead.suggested:
        score = float(found.probabilities[instead.row, instead.suggested])
        span = sentence.span(instead.first, instead.stop)
        suggested = Entity(span, model.labels[instead.suggested], score)
    kind: Kind
    if other is not None:
        kind = "wrong boundary"
    elif one.annotated:
        kind = "wrong label" if one.suggested else "no entity"
    else:
        kind = "missing"
    doubt = one.doubt if other is None else (one.doubt + other.doubt) / 2
    return Doubt(kind, place.document, documents[place.document], annotated, suggested, doubt, ranked, row=one.row)
