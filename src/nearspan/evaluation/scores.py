"""Scores: precision, recall, F1 and accuracy from counts. Fractions of 1; percentages only in the printed table."""

from collections import Counter
from collections.abc import Hashable, Mapping, Set
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

from nearspan.errors import NearspanError

Labelled = tuple[Hashable, str]  # anything, such as a span of a document, and its label


@dataclass(frozen=True, slots=True)
class Counts:
    """How many entities are correct, predicted and in the gold standard. A measure that divides by zero is 0.0.

    >>> counts = Counts(correct=1, predicted=2, gold=4)
    >>> counts.precision, counts.recall, counts.fp, counts.fn
    (0.5, 0.25, 1, 3)
    """

    correct: int = 0
    predicted: int = 0
    gold: int = 0

    def __add__(self, other: Self) -> Self:
        return type(self)(self.correct + other.correct, self.predicted + other.predicted, self.gold + other.gold)

    @property
    def fp(self) -> int:
        """False positives."""
        return self.predicted - self.correct

    @property
    def fn(self) -> int:
        """False negatives."""
        return self.gold - self.correct

    @property
    def precision(self) -> float:
        """The share of the predicted entities that are correct."""
        return self.correct / self.predicted if self.predicted else 0.0

    @property
    def recall(self) -> float:
        """The share of the gold entities that were predicted; of given spans with one label, its accuracy."""
        return self.correct / self.gold if self.gold else 0.0

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall."""
        total = self.predicted + self.gold
        return 2 * self.correct / total if total else 0.0

    def to_dict(self) -> dict[str, float | int]:
        """For JSON."""
        counts = {"gold": self.gold, "predicted": self.predicted, "correct": self.correct}
        return {"precision": self.precision, "recall": self.recall, "f1": self.f1, **counts}


@dataclass(frozen=True, slots=True)
class Scores:
    """Counts for each label in the gold standard or the prediction, and the measures of recognition.

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

    measure: ClassVar[str] = "F1"  # the name of `value`

    labels: Mapping[str, Counts] = field(default_factory=dict)

    @classmethod
    def of(cls, gold: Set[Labelled], predicted: Set[Labelled]) -> Self:
        """Count by label, in alphabetical order; what is in both sets is correct.

        >>> Scores.of({("Ada", "PER")}, {("Ada", "PER"), ("Oslo", "PER")}).labels
        {'PER': Counts(correct=1, predicted=2, gold=1)}
        """
        counts = [Counter(label for _, label in side) for side in (gold & predicted, predicted, gold)]
        return cls({label: Counts(*(side[label] for side in counts)) for label in sorted(counts[1] | counts[2])})

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

    @property
    def value(self) -> float:
        """The number by which the best epoch is chosen."""
        return self.f1

    def metrics(self) -> dict[str, float]:
        """The measures of all labels together, as metrics files, trackers and model cards name them."""
        return {"precision": self.precision, "recall": self.recall, "f1": self.f1}

    def to_dict(self) -> dict[str, Any]:
        """For JSON: fractions between 0 and 1."""
        labels = {label: counts.to_dict() for label, counts in self.labels.items()}
        return {**self.metrics(), "macro_f1": self.macro_f1, "labels": labels}

    def __str__(self) -> str:
        width = max([5, *map(len, self.labels)])
        lines = [f"{'label':{width}}  precision  recall      F1  gold  predicted  correct"]
        for label, counts in [*self.labels.items(), ("all", self.total)]:
            measures = f"{100 * counts.precision:9.2f}  {100 * counts.recall:6.2f}  {100 * counts.f1:6.2f}"
            lines.append(f"{label:{width}}  {measures}  {counts.gold:4}  {counts.predicted:9}  {counts.correct:7}")
        lines.append(f"{'macro':{width}}  {100 * self.macro_f1:25.2f}")
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class ClassificationScores(Scores):
    """Counts for each label that given spans have or got, and the accuracy.

    Where the spans are given, no entity can be missed and none predicted too many. These scores must not stand beside
    those of systems that find entities, so there is no precision, recall or F1 of all labels together.

    >>> scores = ClassificationScores({"LOC": Counts(1, 1, 2), "PER": Counts(1, 2, 1)})
    >>> round(scores.accuracy, 3), round(scores.macro_f1, 3)
    (0.667, 0.667)
    >>> print(scores)
    label  accuracy  gold  predicted  correct
    LOC       50.00     2          1        1
    PER      100.00     1          2        1
    all       66.67     3          3        2
    """

    measure: ClassVar[str] = "accuracy"

    @property
    def accuracy(self) -> float:
        """The share of the given spans that got their label; a span out of reach got none."""
        return self.total.recall

    @property
    def value(self) -> float:
        """The number by which the best epoch is chosen."""
        return self.accuracy

    @property
    def _recognition(self) -> float:
        raise NearspanError(
            "these scores are of spans that were given, so they have no precision, recall or F1 of recognition: read "
            "`accuracy`, or train the recipe with suggester.kind=all"
        )

    precision = recall = f1 = _recognition

    def metrics(self) -> dict[str, float]:
        """The measures of all labels together, under names that recognition does not use."""
        return {"accuracy": self.accuracy, "classification_macro_f1": self.macro_f1}

    def to_dict(self) -> dict[str, Any]:
        """For JSON: fractions between 0 and 1."""
        labels = {
            y: {"accuracy": n.recall, "gold": n.gold, "predicted": n.predicted, "correct": n.correct}
            for y, n in self.labels.items()
        }
        return {"task": "span classification", **self.metrics(), "labels": labels}

    def __str__(self) -> str:
        width = max([5, *map(len, self.labels)])
        lines = [f"{'label':{width}}  accuracy  gold  predicted  correct"]
        for label, counts in [*self.labels.items(), ("all", self.total)]:
            numbers = f"{counts.gold:4}  {counts.predicted:9}  {counts.correct:7}"
            lines.append(f"{label:{width}}  {100 * counts.recall:8.2f}  {numbers}")
        return "\n".join(lines)
