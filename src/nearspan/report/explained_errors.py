"""Every error of a model, with the training spans that explain it."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Self

from nearspan.document import Document, Entity, Span
from nearspan.errors import NearspanError
from nearspan.evaluation import Error
from nearspan.evaluation.evaluator import linked_labels
from nearspan.explain import Evidence, Neighbour
from nearspan.model import Model
from nearspan.progress import track
from nearspan.report.scored_model import ScoredModel
from nearspan.segment import align
from nearspan.spans import align_to_candidates

UNREACHABLE = "out of reach"
KINDS = ("wrong label", "wrong boundary", "wrong label and boundary", "spurious", "missed", UNREACHABLE)
ASKED, LISTED = 4, 5  # training spans of each label, and those that are kept of all
LIKELIEST = 3  # labels whose probabilities are given
SHOWN = ("label", "weight", "text", "document", "sentence_id")  # of a training span, in JSON


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
    def of(cls, evidence: Evidence) -> Self:
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
                {key: near.to_dict()[key] for key in SHOWN} | {"weight": round(near.weight, 6)}
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

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "kind": self.kind,
            "document": self.document.id,
            "gold": self.gold and self.gold.to_dict(),
            "predicted": self.predicted and self.predicted.to_dict(),
            "evidence": [evidence.to_dict() for evidence in self.evidence],
        }


def error_kinds(scored: ScoredModel) -> list[str]:
    """The kind of each error; a missed entity that the model cannot find is out of reach."""
    documents = {id(error.document): error.document for error in scored.errors if error.kind == "missed"}
    reachable = {
        key: set() if scored.model.classifies_given_spans else reachable_entities(scored.model, document)
        for key, document in documents.items()
    }
    return [
        UNREACHABLE if error.kind == "missed" and error.gold not in reachable[id(error.document)] else error.kind
        for error in scored.errors
    ]


def explain_errors(scored: ScoredModel, kinds: Sequence[str]) -> list[ExplainedError]:
    """All errors with their evidence; none for a model without a memory."""
    pairs = list(zip(kinds, scored.errors, strict=True))
    return [
        ExplainedError(kind, error.document, error.gold, error.predicted, list(_evidence(scored.model, kind, error)))
        for kind, error in track(pairs, "explaining errors", len(pairs))
    ]


def _evidence(model: Model, kind: str, error: Error) -> Iterator[SpanEvidence]:
    entities = (error.predicted, error.gold) if model.datastore and kind != UNREACHABLE else ()
    for span in dict.fromkeys(entity.span for entity in entities if entity is not None):
        with suppress(NearspanError):  # a gold span that is too wide, or discontinuous where no fragments are linked
            yield SpanEvidence.of(model.explain_span(error.document, span, ASKED))


def reachable_entities(model: Model, document: Document) -> set[Entity]:
    """The gold entities that a model can find; some, as wide ones that words are tagged for, are no candidates."""
    sentences, linked = model.split(document), linked_labels(model)
    aligned = align(sentences, document.entities)
    reached = align_to_candidates(sentences, document.entities, model.network.rules)
    entities: set[Entity] = set()
    for position, (golds, sources) in enumerate(zip(aligned.golds, aligned.sources, strict=True)):
        known = {gold for gold in reached.entities[position] if not gold.discontinuous or gold.label in linked}
        entities.update(entity for gold, entity in zip(golds, sources, strict=True) if gold in known)
    return entities
