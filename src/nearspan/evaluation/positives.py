"""False positives: predictions with the right span and a wrong label, or with a wrong span (Nguyen et al., 2023,
tables 5 and 6)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from nearspan.document import Document
from nearspan.evaluation.matching import pairs


@dataclass(frozen=True, slots=True)
class FalsePositives:
    """How many predictions are wrong, and how."""

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

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {"predicted": self.predicted, "category": self.category, "span": self.span}


def false_positives(gold: Iterable[Document], predicted: Iterable[Document]) -> FalsePositives:
    """Count category errors and span errors.

    >>> from nearspan.document import Entity
    >>> gold = [Document("Ann Li in Oslo", (Entity.of(0, 6, "PER"), Entity.of(10, 14, "LOC")))]
    >>> guess = [gold[0].with_entities([Entity.of(0, 3, "PER"), Entity.of(10, 14, "ORG")])]
    >>> false_positives(gold, guess)
    FalsePositives(predicted=2, category=1, span=1)
    """
    count = category = span = 0
    for truth, guess in pairs(gold, predicted):
        golds, guesses = set(truth.entities), set(guess.entities)
        places = {entity.span for entity in golds}
        wrong = guesses - golds
        right = sum(entity.span in places for entity in wrong)
        count, category, span = count + len(guesses), category + right, span + len(wrong) - right
    return FalsePositives(count, category, span)
