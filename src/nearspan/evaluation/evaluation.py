"""The result of an evaluation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from nearspan.document import Document
from nearspan.evaluation.scores import ClassificationScores, Scores
from nearspan.segment import Coverage


@dataclass(frozen=True)
class Evaluation:
    """Scores, the entities that the settings put out of reach, and the predicted documents."""

    scores: Scores  # ClassificationScores where spans were given
    coverage: Coverage
    predicted: Sequence[Document]
    discontinuous: Mapping[str, Scores] = field(default_factory=dict)  # of these `entities`, of `sentences` with them
    baseline: ClassificationScores | None = None  # the majority by string, where spans were given and it is known

    @property
    def measure(self) -> str:
        """The name of `value`: F1, or accuracy where spans were given."""
        return self.scores.measure

    @property
    def value(self) -> float:
        """The number by which the best epoch is chosen."""
        return self.scores.value

    def __repr__(self) -> str:
        return f"Evaluation({self.measure} {100 * self.value:.2f}, {self.coverage})"

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        content = {**self.scores.to_dict(), "coverage": self.coverage.to_dict()}
        if self.discontinuous:
            content["discontinuous"] = {name: part.total.to_dict() for name, part in self.discontinuous.items()}
        if self.baseline is not None:
            content["baseline"] = self.baseline.to_dict()
        return content
