"""Every error of a model, with the training spans that explain it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console

from nearspan.document import Document, Entity, Span
from nearspan.evaluation import Error
from nearspan.explain import Evidence, Neighbour
from nearspan.model import Model
from nearspan.report.model_access import evidence_of, has_datastore, linked_labels, reachability
from nearspan.report.progress import each
from nearspan.report.scored_model import ScoredModel
from nearspan.segment import LabelledSpan, align

UNREACHABLE = "out of reach"
KINDS = ("wrong label", "wrong boundary", "wrong label and boundary", "spurious", "missed", UNREACHABLE)
LISTED = 5  # training spans for a span
LIKELIEST = 3  # labels whose probabilities are given


@dataclass(frozen=True, slots=True)
class SpanEvidence:
    """The heaviest of the evidence for a span; a report keeps no more, as it has thousands of them."""

    span: Span
    text: str
    label: str  # the likeliest; "" for no entity
    strength: str
    probabilities: dict[str, float]  # of the likeliest labels
    neighbours: Sequence[Neighbour]  # the heaviest of all labels

    @classmethod
    def of(cls, evidence: Evidence) -> SpanEvidence:
        """Take the heaviest training spans or, where words recall training words, the heaviest occurrences."""
        groups = list(evidence.neighbours.values())
        if evidence.strength == "attended":
            groups = [word.neighbours for word in evidence.recalled]
        heaviest = sorted((near for group in groups for near in group), key=lambda near: -near.weight)[:LISTED]
        likeliest = dict(list(evidence.probabilities.items())[:LIKELIEST])
        return cls(evidence.span, evidence.text, evidence.label, evidence.strength, likeliest, heaviest)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "text": self.text,
            "fragments": self.span.fragments,
            "label": self.label or None,
            "strength": self.strength,
            "probabilities": {label or "null": round(value, 6) for label, value in self.probabilities.items()},
            "neighbours": [
                {
                    "label": near.label or None,
                    "weight": round(near.weight, 6),
                    "text": near.text,
                    "document": near.document,
                    "sentence_id": near.sentence_id,
                }
                for near in self.neighbours
            ],
        }


@dataclass(frozen=True, slots=True)
class ExplainedError:
    """An error with the evidence for each span in it: the predicted one first, then the gold one."""

    kind: str  # of the error, or "out of reach" for a missed entity that the model cannot find
    document: Document
    gold: Entity | None
    predicted: Entity | None
    evidence: Sequence[SpanEvidence]

    @property
    def marks(self) -> list[tuple[Span, str]]:
        """The spans to mark in the document's text, and how."""
        sides = ((self.gold, "gold"), (self.predicted, "predicted"))
        return [(entity.span, name) for entity, name in sides if entity]

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "kind": self.kind,
            "document": self.document.id,
            "gold": _entity(self.gold, self.document.text),
            "predicted": _entity(self.predicted, self.document.text),
            "evidence": [evidence.to_dict() for evidence in self.evidence],
        }


def error_kinds(scored: ScoredModel) -> list[str]:
    """The kind of each error; a missed entity that the model cannot find is out of reach."""
    reachable: dict[int, set[Entity]] = {}
    kinds: list[str] = []
    for error in scored.errors:
        key, kind = id(error.document), str(error.kind)
        if kind == "missed":
            if key not in reachable:
                reachable[key] = (
                    set() if scored.model.classifies_given_spans else reachable_entities(scored.model, error.document)
                )
            kind = kind if error.gold in reachable[key] else UNREACHABLE
        kinds.append(kind)
    return kinds


def count_kinds(kinds: Sequence[str]) -> dict[str, int]:
    """How many errors of each kind, in the order of KINDS."""
    counts = Counter(kinds)
    return {kind: counts[kind] for kind in KINDS if counts[kind]}


def explain_errors(
    scored: ScoredModel, kinds: Sequence[str], count: int = 4, console: Console | None = None
) -> list[ExplainedError]:
    """All errors, with evidence from `count` training spans of each label; none for a model without a memory."""
    explain = has_datastore(scored.model)
    pairs = list(zip(kinds, scored.errors, strict=True))
    return [
        ExplainedError(
            kind,
            error.document,
            error.gold,
            error.predicted,
            _explain(scored.model, error, count) if explain and kind != UNREACHABLE else [],
        )
        for kind, error in each(pairs, console, "explaining errors")
    ]


def _explain(model: Model, error: Error, count: int) -> list[SpanEvidence]:
    spans = dict.fromkeys(entity.span for entity in (error.predicted, error.gold) if entity is not None)
    explained = (evidence_of(model, error.document, span, count) for span in spans)
    return [SpanEvidence.of(evidence) for evidence in explained if evidence is not None]


def reachable_entities(model: Model, document: Document) -> set[Entity]:
    """The gold entities that a model can find; some, as wide ones that words are tagged for, are no candidates."""
    sentences, linked = model.split(document), linked_labels(model)
    aligned, reached = align(sentences, document.entities), reachability(model, sentences, document.entities)
    entities: set[Entity] = set()
    for position, (golds, sources) in enumerate(zip(aligned.golds, aligned.sources, strict=True)):
        known = {LabelledSpan(((first, stop),), label) for first, stop, label in reached.entities[position]}
        known.update(gold for gold in reached.discontinuous[position] if gold.label in linked)
        entities.update(entity for gold, entity in zip(golds, sources, strict=True) if gold in known)
    return entities


def _entity(entity: Entity | None, text: str) -> dict[str, Any] | None:
    if entity is None:
        return None
    return {
        "text": entity.span.text(text),
        "label": entity.label,
        "start": entity.start,
        "end": entity.end,
        "fragments": entity.span.fragments,
        "score": entity.score,
    }
