"""Scores: precision, recall and F1 from counts. Fractions of 1; percentages only in the printed table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Counts:
    """How many entities are right, predicted and in the gold standard. What cannot be divided is 0.0.

    >>> counts = Counts(correct=1, predicted=2, gold=4)
    >>> counts.precision, counts.recall, counts.tp, counts.fp, counts.fn
    (0.5, 0.25, 1, 1, 3)
    """

    correct: int = 0
    predicted: int = 0
    gold: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(self.correct + other.correct, self.predicted + other.predicted, self.gold + other.gold)

    @property
    def tp(self) -> int:
        """True positives."""
        return self.correct

    @property
    def fp(self) -> int:
        """False positives."""
        return self.predicted - self.correct

    @property
    def fn(self) -> int:
        """False negatives."""
        return self.gold - self.correct

    @property
    def support(self) -> int:
        """Entities in the gold standard."""
        return self.gold

    @property
    def precision(self) -> float:
        """The share of the predicted that is correct."""
        return self.correct / self.predicted if self.predicted else 0.0

    @property
    def recall(self) -> float:
        """The share of the gold standard that was found."""
        return self.correct / self.gold if self.gold else 0.0

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall."""
        total = self.predicted + self.gold
        return 2 * self.correct / total if total else 0.0

    def to_dict(self) -> dict[str, float | int]:
        """For JSON."""
        return {
            "precision": self.precision,
            "recall": self.recall,
            "f1": self.f1,
            "gold": self.gold,
            "predicted": self.predicted,
            "correct": self.correct,
        }


@dataclass(frozen=True, slots=True)
class Scores:
    """Counts for each label that occurs in the gold standard or the prediction, and what follows.

    >>> scores = Scores({"LOC": Counts(1, 2, 1), "PER": Counts(1, 1, 1)})
    >>> round(scores.f1, 3), round(scores.macro_f1, 3)
    (0.8, 0.833)
    >>> print(scores)
    label  precision  recall      F1  gold  predicted  correct
    LOC        50.00  100.00   66.67     1          2        1
    PER       100.00  100.00  100.00     1          1        1
    all        66.67  100.00   80.00     2          3        2
    macro                      83.33
    """

    labels: Mapping[str, Counts] = field(default_factory=dict)

    @property
    def total(self) -> Counts:
        """The counts of all labels together."""
        return sum(self.labels.values(), Counts())

    @property
    def precision(self) -> float:
        """Micro precision."""
        return self.total.precision

    @property
    def recall(self) -> float:
        """Micro recall."""
        return self.total.recall

    @property
    def f1(self) -> float:
        """Micro F1."""
        return self.total.f1

    @property
    def macro_f1(self) -> float:
        """The mean of the labels' F1."""
        return sum(counts.f1 for counts in self.labels.values()) / len(self.labels) if self.labels else 0.0

    def to_dict(self) -> dict[str, Any]:
        """For JSON: fractions between 0 and 1."""
        return {
            "precision": self.precision,
            "recall": self.recall,
            "f1": self.f1,
            "macro_f1": self.macro_f1,
            "labels": {label: counts.to_dict() for label, counts in self.labels.items()},
        }

    def __str__(self) -> str:
        width = max([5, *map(len, self.labels)])
        lines = [f"{'label':{width}}  precision  recall      F1  gold  predicted  correct"]
        for label, counts in [*self.labels.items(), ("all", self.total)]:
            measures = f"{100 * counts.precision:9.2f}  {100 * counts.recall:6.2f}  {100 * counts.f1:6.2f}"
            lines.append(f"{label:{width}}  {measures}  {counts.gold:4}  {counts.predicted:9}  {counts.correct:7}")
        lines.append(f"{'macro':{width}}  {100 * self.macro_f1:25.2f}")
        return "\n".join(lines)
