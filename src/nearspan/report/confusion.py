"""The confusion matrix: which labels gold entities get."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

from nearspan.evaluation import Error, Scores


@dataclass(frozen=True)
class ConfusionMatrix:
    """Counts by gold and predicted label; None stands for no entity.

    Every gold entity is counted once: under the label that it got, at its own boundary or not if that is another
    label; as `boundary` where the label is right and the boundary is wrong; or under None where it was missed.
    Predictions that no gold entity is paired with have the gold label None.

    >>> from nearspan.document import Document, Entity
    >>> from nearspan.evaluation import find_errors, score
    >>> gold = Document("Ann Li in Oslo", (Entity.of(0, 6, "PER"), Entity.of(10, 14, "LOC")))
    >>> predicted = gold.with_entities([Entity.of(0, 3, "PER"), Entity.of(10, 14, "ORG")])
    >>> matrix = ConfusionMatrix.of(score([gold], [predicted]), find_errors([gold], [predicted]))
    >>> matrix.boundary["PER"], matrix.counts["LOC", "ORG"], matrix.counts["LOC", None]
    (1, 1, 0)
    """

    labels: Sequence[str]
    counts: Counter[tuple[str | None, str | None]]  # by gold and predicted label
    boundary: Counter[str]

    @classmethod
    def of(cls, scores: Scores, errors: Sequence[Error]) -> Self:
        """From the correct entities of each label, and the errors."""
        counts: Counter[tuple[str | None, str | None]] = Counter()
        counts.update({(label, label): row.correct for label, row in scores.labels.items()})
        boundary: Counter[str] = Counter()
        for error in errors:
            if error.kind == "wrong boundary" and error.gold:
                boundary[error.gold.label] += 1
            else:
                gold, predicted = (entity.label if entity else None for entity in (error.gold, error.predicted))
                counts[gold, predicted] += 1
        labels = {label for cell in counts for label in cell if label is not None}
        return cls(sorted(labels | boundary.keys()), counts, boundary)

    def total(self, gold: str | None) -> int:
        """The sum of a row: all gold entities of a label, or all spurious predictions."""
        cells = sum(self.counts[gold, predicted] for predicted in (*self.labels, None))
        return cells + (self.boundary[gold] if gold is not None else 0)

    def heat(self, gold: str | None, count: int) -> int:
        """How strongly to colour a count of a row, in percent: by the root of its share, as errors are rare."""
        return round(70 * (count / self.total(gold)) ** 0.5) if count else 0

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        cells = [
            {"gold": gold, "predicted": predicted, "count": count}
            for (gold, predicted), count in self.counts.most_common()
            if count
        ]
        return {"cells": cells, "wrong_boundary": dict(self.boundary)}
