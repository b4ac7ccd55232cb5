"""Typing: how many given entities get their label. It is no recognition, and its scores are never called that.

Whoever is given the spans of a test set cannot miss an entity nor find one too many. Accuracy is therefore all there
is to count; it must not stand beside the F1 of systems that find entities.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from nearspan.document import Document, Entity
from nearspan.errors import NearspanError
from nearspan.model import Model
from nearspan.segment import Coverage
from nearspan.spans.string_majority import StringMajority


@dataclass(frozen=True, slots=True)
class TypedCounts:
    """Of one label: given entities that have it, given entities that got it, and those where both are so."""

    gold: int = 0
    typed: int = 0
    correct: int = 0

    @property
    def share(self) -> float:
        """The share of the label's entities that got it."""
        return self.correct / self.gold if self.gold else 0.0

    @property
    def balance(self) -> float:
        """2 correct / (gold + typed): what the macro mean is over."""
        total = self.gold + self.typed
        return 2 * self.correct / total if total else 0.0


@dataclass(frozen=True, slots=True)
class SpanClassificationScores:
    """Counts for each label that given entities have or got; entities out of reach got none.

    >>> gold = [Entity.of(0, 3, "PER"), Entity.of(7, 11, "LOC"), Entity.of(12, 15, "LOC")]
    >>> scores = SpanClassificationScores.of(gold, ["PER", "LOC", "PER"])
    >>> round(scores.accuracy, 3), round(scores.macro, 3)
    (0.667, 0.667)
    """

    labels: Mapping[str, TypedCounts]

    @classmethod
    def of(cls, gold: Sequence[Entity], labels: Sequence[str | None]) -> SpanClassificationScores:
        """Compare the labels that entities have with those that they got; None for one that got none."""
        has = Counter(entity.label for entity in gold)
        got = Counter(label for label in labels if label is not None)
        right = Counter(entity.label for entity, label in zip(gold, labels, strict=True) if entity.label == label)
        return cls({name: TypedCounts(has[name], got[name], right[name]) for name in sorted(has | got)})

    @property
    def accuracy(self) -> float:
        """The share of the given entities that got their label."""
        gold = sum(counts.gold for counts in self.labels.values())
        return sum(counts.correct for counts in self.labels.values()) / gold if gold else 0.0

    @property
    def macro(self) -> float:
        """Macro-F1 of typing: the mean of the labels' balance."""
        return sum(counts.balance for counts in self.labels.values()) / len(self.labels) if self.labels else 0.0

    def to_dict(self) -> dict[str, Any]:
        """For JSON: fractions between 0 and 1, under names that recognition does not use."""
        return {
            "typing_accuracy": self.accuracy,
            "typing_macro_f1": self.macro,
            "labels": {
                name: {"typing_accuracy": one.share, "gold": one.gold, "typed": one.typed, "correct": one.correct}
                for name, one in self.labels.items()
            },
        }


@dataclass(frozen=True)
class SpanClassificationEvaluation:
    """Typing scores, those of the majority by string, what was out of reach, and the documents with new labels."""

    measure: ClassVar[str] = "typing accuracy"

    scores: SpanClassificationScores
    baseline: SpanClassificationScores | None  # None: the model does not know the strings of its training data
    coverage: Coverage
    predicted: Sequence[Document]

    @property
    def value(self) -> float:
        """The one number by which epochs are chosen."""
        return self.scores.accuracy

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        baseline = self.baseline.to_dict() if self.baseline else None
        found = {"task": "typing", **self.scores.to_dict(), "baseline": baseline}
        return {**found, "coverage": self.coverage.to_dict()}


class SpanClassificationEvaluator:
    """Given entities, prepared once, that a model may be scored on many times while it trains."""

    def __init__(self, model: Model, documents: Sequence[Document]) -> None:
        if not model.typing:
            raise NearspanError("this model finds entities: score it with `evaluate`, not with given spans")
        self.model = model
        self.documents = documents
        self.asked = model.asked(documents)

    def evaluate(self) -> SpanClassificationEvaluation:
        """Score the model as it is now."""
        found: list[dict[Entity, Entity]] = [{} for _ in self.documents]
        for (document, entity), typed in zip(self.asked.placed.entities, self.model.types(self.asked), strict=True):
            found[document][entity] = typed
        pairs = [(entity, own.get(entity)) for document, own in self._each(found) for entity in _once(document)]
        gold = [entity for entity, _ in pairs]
        scores = SpanClassificationScores.of(gold, [typed.label if typed else None for _, typed in pairs])
        predicted = [document.with_entities(dict.fromkeys(own.values())) for document, own in self._each(found)]
        return SpanClassificationEvaluation(
            scores, self._baseline(self.model.strings), self.asked.placed.coverage, predicted
        )

    def _each(self, found: list[dict[Entity, Entity]]) -> Iterable[tuple[Document, dict[Entity, Entity]]]:
        return zip(self.documents, found, strict=True)

    def _baseline(self, strings: StringMajority | None) -> SpanClassificationScores | None:
        if strings is None:
            return None
        named = [(entity, document.text) for document in self.documents for entity in _once(document)]
        return SpanClassificationScores.of(
            [entity for entity, _ in named], [strings.label(e.span.text(text)) for e, text in named]
        )


def _once(document: Document) -> Iterable[Entity]:
    """The entities of a document, one that is listed twice once."""
    return dict.fromkeys(document.entities)


def evaluate_span_classification(model: Model, documents: Sequence[Document]) -> SpanClassificationEvaluation:
    """Score a model for the typing task on gold documents: which of their entities get their label.

    nearspan.evaluate_typing(nearspan.load("runs/typing"), nearspan.read("test.conll").documents)
    """
    return SpanClassificationEvaluator(model, tuple(documents)).evaluate()
