"""Label issues: annotations that their neighbours contradict, and spans without one that look like entities."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, Literal

import torch

from nearspan.document import Document, Entity
from nearspan.explain import Neighbour
from nearspan.model import Model
from nearspan.model.decode import Overlap, decode
from nearspan.report.leave_one_out_predictions import AuditedSentence, LeaveOneOutPredictions
from nearspan.segment import LabelledSpan

Kind = Literal["wrong label", "wrong boundary", "no entity", "missing"]


@dataclass(frozen=True, slots=True)
class LabelIssue:
    """An annotation that the neighbours contradict, and what they suggest instead."""

    kind: Kind
    number: int  # the document's position in the corpus
    document: Document
    annotated: Entity | None  # None where an entity is missing
    suggested: Entity | None  # None where the neighbours see no entity; its score is the probability they give it
    severity: float  # the probability that the neighbours do not give to the annotation
    probabilities: dict[str, float]  # of the span, by label, the most probable first; "" is no entity
    against: Sequence[Neighbour] = ()  # training spans that speak for what is suggested
    support: Sequence[Neighbour] = ()  # training spans that speak for what is annotated
    row: int = -1  # among the predictions

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
            "severity": self.severity,
            "annotated": self._entity(self.annotated),
            "suggested": self._entity(self.suggested),
            "probabilities": {label or "null": value for label, value in self.probabilities.items()},
            "against": [near.to_dict() for near in self.against],
            "support": [near.to_dict() for near in self.support],
        }

    def _entity(self, entity: Entity | None) -> dict[str, Any] | None:
        if entity is None:
            return None
        text = entity.span.text(self.document.text)
        return {"label": entity.label, "text": text, "fragments": entity.span.fragments}


@dataclass(frozen=True, slots=True)
class _Change:
    """A label that a span has, and the one that it should have."""

    row: int  # among the predictions
    first: int
    stop: int
    annotated: int  # 0: null
    suggested: int
    severity: float


def find_label_issues(model: Model, predictions: LeaveOneOutPredictions) -> list[LabelIssue]:
    """All issues, the gravest first; of equal ones the first in the corpus."""
    annotated, suggested = predictions.annotated, torch.zeros_like(predictions.annotated)
    suggested[model.network.head.choose(predictions.probabilities)] = 1
    places = (predictions.sentence, predictions.first, predictions.stop)
    columns = (column.tolist() for column in (*places, annotated, suggested, predictions.probabilities))
    changes: dict[int, list[_Change]] = {}
    for row, (sentence, first, stop, has, should, shares) in enumerate(zip(*columns, strict=True)):
        changes.setdefault(sentence, []).extend(
            _Change(row, first, stop, *pair, _severity(model, shares, *pair)) for pair in _label_pairs(has, should)
        )
    issues = [
        _issue(model, predictions, predictions.sentences[sentence], *pair)
        for sentence, proposed in changes.items()
        for pair in _settle(model, predictions.sentences[sentence], proposed)
    ]
    return sorted(issues, key=lambda issue: (-issue.severity, issue.number, issue.entity))


def _label_pairs(has: Sequence[float], should: Sequence[float]) -> Iterator[tuple[int, int]]:
    """The labels that a span has, each with the one that it should have instead; 0 for none."""
    before, after = ({label for label in range(1, len(has)) if column[label]} for column in (has, should))
    yield from ((label, label) for label in sorted(before & after))
    yield from zip_longest(sorted(before - after), sorted(after - before), fillvalue=0)


def _severity(model: Model, shares: Sequence[float], annotated: int, suggested: int) -> float:
    """What the neighbours do not give to the annotation; to a label that is missing, what they give to it."""
    if not annotated and model.network.head.multilabel:
        return shares[suggested]
    return 1 - shares[annotated]


def _settle(model: Model, sentence: AuditedSentence, changes: list[_Change]) -> list[tuple[_Change, _Change | None]]:
    """The issues of a sentence: an annotation that is no entity, with the missing one that it overlaps if any.

    Missing entities that may not stand beside the annotations that are entities are left out, and so are the less
    probable ones of those that may not stand together.
    """
    wrong = [change for change in changes if change.annotated and not change.suggested]
    no_entities = {LabelledSpan.of(change.first, change.stop, model.labels[change.annotated]) for change in wrong}
    stands = [gold.fragments for gold in sentence.entities if gold not in no_entities]
    unknown = (gold.fragments for gold in sentence.entities if gold.label not in model.labels)
    unasked = {*unknown, *sentence.unasked}
    new = [change for change in changes if not change.annotated]
    missing = [change for change in new if ((change.first, change.stop),) not in unasked]
    scored = [LabelledSpan.of(change.first, change.stop, i, change.severity) for i, change in enumerate(missing)]
    kept = decode(scored, model.overlap, model.linked_overlap, [*stands, *sentence.unasked])
    left = {span.label: missing[span.label] for span in kept}
    issues: list[tuple[_Change, _Change | None]] = []
    for change in wrong:
        overlapping = [number for number, new in left.items() if _moves_to(change, new, model.overlap)]
        best = max(overlapping, key=lambda number: left[number].severity, default=None)
        issues.append((change, left.pop(best) if best is not None else None))
    relabelled = (change for change in changes if change.annotated and change.suggested not in (0, change.annotated))
    return issues + [(change, None) for change in (*relabelled, *left.values())]


def _moves_to(change: _Change, new: _Change, overlap: Overlap) -> bool:
    """Whether an annotation and a missing entity are one entity; where entities may nest only if of one label."""
    overlaps = new.first < change.stop and change.first < new.stop
    return overlaps and (overlap == "flat" or change.annotated == new.suggested)


def _issue(
    model: Model, predictions: LeaveOneOutPredictions, audited: AuditedSentence, change: _Change, moved: _Change | None
) -> LabelIssue:
    sentence, shares = audited.window.sentence, predictions.probabilities[change.row].tolist()
    ranked = dict(sorted(zip(model.labels, shares, strict=True), key=lambda entry: -entry[1]))
    annotated = suggested = None
    if change.annotated:
        annotated = Entity(sentence.span(change.first, change.stop), model.labels[change.annotated])
    new = moved or change
    if new.suggested:
        score = float(predictions.probabilities[new.row, new.suggested])
        suggested = Entity(sentence.span(new.first, new.stop), model.labels[new.suggested], score)
    kind: Kind = "wrong label" if annotated and suggested else "no entity" if annotated else "missing"
    severity = change.severity
    if moved is not None:
        kind, severity = "wrong boundary", (change.severity + moved.severity) / 2
    place = (audited.document, sentence.document)
    return LabelIssue(kind, *place, annotated, suggested, severity, ranked, row=change.row)
