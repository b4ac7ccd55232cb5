"""Scores of concept identifiers: which mentions have that of the gold standard."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from nearspan.document import Document
from nearspan.evaluation.matching import pair_documents
from nearspan.knn import Concepts

_SEPARATORS = re.compile(r"\s*[|+,;]\s*")  # of several identifiers of one mention


@dataclass(frozen=True, slots=True)
class IdentifierScores:
    """How many of the gold mentions with an identifier get it: given the gold spans, and among those that are found.

    >>> IdentifierScores(gold=4, given_correct=3, found=2, found_correct=1).found_accuracy
    0.5
    """

    gold: int  # mentions with an identifier
    given_correct: int  # of all of them, given their spans and labels
    found: int  # that were predicted with their spans and labels
    found_correct: int  # and with their identifiers too

    @property
    def given_accuracy(self) -> float:
        """The share of the gold mentions that get their identifiers, given their spans and labels."""
        return self.given_correct / self.gold if self.gold else 0.0

    @property
    def found_accuracy(self) -> float:
        """The share of the mentions found that have their identifiers."""
        return self.found_correct / self.found if self.found else 0.0

    def to_dict(self) -> dict[str, Any]:
        """For JSON: fractions between 0 and 1, and counts."""
        accuracies = {"given_accuracy": self.given_accuracy, "found_accuracy": self.found_accuracy}
        counts = {"gold": self.gold, "given_correct": self.given_correct}
        return accuracies | counts | {"found": self.found, "found_correct": self.found_correct}

    def __str__(self) -> str:
        return (
            f"identifiers: {100 * self.found_accuracy:.2f}% right of the {self.found:,} mentions found, "
            f"{100 * self.given_accuracy:.2f}% of all {self.gold:,} where their spans are given"
        )


def score_identifiers(
    gold: Iterable[Document], predicted: Iterable[Document], concepts: Concepts
) -> IdentifierScores | None:
    """Compare the identifiers of documents; None where the gold standard has none.

    The order of several identifiers of one mention does not matter.
    """
    pairs = [
        (truth, {entity: entity.identifier for entity in prediction.entities})
        for truth, prediction in pair_documents(gold, predicted)
    ]
    mentions = [
        (entity, found.get(entity))
        for truth, found in pairs
        for entity in dict.fromkeys(truth.entities)
        if entity.identifier
    ]
    if not mentions:
        return None
    given = concepts.identify([(entity.text, entity.label) for entity, _ in mentions])
    right = [split_identifiers(entity.identifier) for entity, _ in mentions]
    predictions = [(each, gold) for (_, each), gold in zip(mentions, right, strict=True) if each is not None]
    return IdentifierScores(
        len(mentions),
        sum(split_identifiers(identifier) == each for (identifier, _), each in zip(given, right, strict=True)),
        len(predictions),
        sum(split_identifiers(each) == gold for each, gold in predictions),
    )


def split_identifiers(identifier: str) -> frozenset[str]:
    """The identifiers of a mention that names several concepts.

    >>> sorted(split_identifiers("D001943|D010051"))
    ['D001943', 'D010051']
    """
    return frozenset(_SEPARATORS.split(identifier)) - {""}
