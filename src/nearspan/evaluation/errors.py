"""Errors: what exactly a prediction got wrong."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product
from typing import Literal

from nearspan.document import Document, Entity
from nearspan.evaluation.matching import Overlaps, pair_documents

ErrorKind = Literal["missed", "spurious", "wrong label", "wrong boundary", "wrong label and boundary"]
PREFERENCE: tuple[ErrorKind, ...] = ("wrong label", "wrong boundary", "wrong label and boundary")


@dataclass(frozen=True, slots=True)
class Error:
    """One error: `gold` is None when spurious, `predicted` is None when missed."""

    kind: ErrorKind
    document: Document
    gold: Entity | None
    predicted: Entity | None


def find_errors(gold: Iterable[Document], predicted: Iterable[Document]) -> list[Error]:
    """All errors, in order of the text. Every false negative and every false positive is in exactly one.

    Correct entities are set aside. The rest are paired, each with one partner at most: first those with the same span
    ("wrong label"), then overlapping entities with the same label ("wrong boundary"), then all that overlap; the
    largest overlap first. An entity without a partner is missed or spurious.

    >>> gold = [Document("Ann Li in Oslo", (Entity.of(0, 6, "PER"), Entity.of(10, 14, "LOC")))]
    >>> prediction = [gold[0].with_entities([Entity.of(0, 3, "PER"), Entity.of(10, 14, "ORG")])]
    >>> [(error.kind, error.gold.label, error.predicted.label) for error in find_errors(gold, prediction)]
    [('wrong boundary', 'PER', 'PER'), ('wrong label', 'LOC', 'ORG')]
    """
    pairs = pair_documents(gold, predicted)
    return [error for truth, prediction in pairs for error in _document_errors(truth, prediction)]


def _document_errors(truth: Document, prediction: Document) -> list[Error]:
    golds, predictions = set(truth.entities), set(prediction.entities)
    missed, spurious = golds - predictions, predictions - golds
    index = Overlaps(spurious)
    pairs = [_rank(gold, predicted) for gold in missed for predicted in index.of(gold.span)]
    errors: list[Error] = []
    for kind, _, gold, predicted in sorted(pairs):
        if gold in missed and predicted in spurious:
            missed.remove(gold)
            spurious.remove(predicted)
            errors.append(Error(PREFERENCE[kind], truth, gold, predicted))
    errors += [Error("missed", truth, entity, None) for entity in missed]
    errors += [Error("spurious", truth, None, entity) for entity in spurious]
    return sorted(errors, key=lambda error: (error.gold or error.predicted, error.predicted or error.gold))


def _rank(gold: Entity, predicted: Entity) -> tuple[int, int, Entity, Entity]:
    """The pair after its kind, as a place in PREFERENCE, and the characters that it shares: the best is the least."""
    kind = 0 if gold.span == predicted.span else 1 if gold.label == predicted.label else 2
    pairs = product(gold.fragments, predicted.fragments)
    return kind, -sum(max(0, min(b, end) - max(a, start)) for (a, b), (start, end) in pairs), gold, predicted


@dataclass(frozen=True, slots=True)
class FalsePositives:
    """How many predictions are wrong, and how (Nguyen et al., 2023, tables 5 and 6)."""

    predicted: int  # in all
    category: int  # the span is a gold entity's, the label is none of its labels
    span: int  # the span is no gold entity's

    @property
    def category_share(self) -> float:
        """Category errors as a part of all predictions."""
        return self.category / self.predicted if self.predicted else 0.0

    @property
    def span_share(self) -> float:
        """Span errors as a part of all predictions."""
        return self.span / self.predicted if self.predicted else 0.0


def false_positives(gold: Iterable[Document], predicted: Iterable[Document]) -> FalsePositives:
    """Count category errors and span errors.

    >>> gold = [Document("Ann Li in Oslo", (Entity.of(0, 6, "PER"), Entity.of(10, 14, "LOC")))]
    >>> prediction = [gold[0].with_entities([Entity.of(0, 3, "PER"), Entity.of(10, 14, "ORG")])]
    >>> false_positives(gold, prediction)
    FalsePositives(predicted=2, category=1, span=1)
    """
    total = category = span = 0
    for truth, prediction in pair_documents(gold, predicted):
        golds, predictions = set(truth.entities), set(prediction.entities)
        gold_spans = {entity.span for entity in golds}
        wrong = predictions - golds
        mislabelled = sum(entity.span in gold_spans for entity in wrong)
        total, category, span = total + len(predictions), category + mislabelled, span + len(wrong) - mislabelled
    return FalsePositives(total, category, span)
