"""Score a model on documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from nearspan.decoding import Guess, decode
from nearspan.document import Document
from nearspan.evaluation.matching import score
from nearspan.evaluation.scores import Scores
from nearspan.model import Model
from nearspan.spans import reach
from nearspan.text import Coverage, Sentence


@dataclass(frozen=True)
class Evaluation:
    """Scores, what the settings put out of reach, and the predicted documents."""

    scores: Scores
    coverage: Coverage
    predicted: Sequence[Document]

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {**self.scores.as_dict(), "coverage": self.coverage.as_dict()}


class Judge:
    """Gold documents, prepared once, that a model may be scored on many times while it trains."""

    def __init__(self, model: Model, documents: Sequence[Document]) -> None:
        self.model = model
        self.documents = documents
        self.sentences = [model.split(document) for document in documents]
        self.given = model.read([sentence for own in self.sentences for sentence in own])
        self.coverage = sum(
            (_coverage(model, own, document) for own, document in zip(self.sentences, documents, strict=True)),
            Coverage(),
        )

    def evaluate(self) -> Evaluation:
        """Score the model as it is now."""
        found = iter(self.model.entities(self.given))
        predicted = [
            document.with_entities(entity for _ in own for entity in next(found))
            for document, own in zip(self.documents, self.sentences, strict=True)
        ]
        return Evaluation(score(self.documents, predicted), self.coverage, predicted)


def evaluate(model: Model, documents: Sequence[Document]) -> Evaluation:
    """Score a model on gold documents."""
    return Judge(model, documents).evaluate()


def _coverage(model: Model, sentences: Sequence[Sentence], document: Document) -> Coverage:
    """What a model can reach of a document's entities: by width, by its labels, and by how they overlap."""
    head = model.recipe.head
    reached = reach(sentences, document.entities, model.network.max_width, head.multilabel, head.tags_words)
    reasons = {"with a label unknown to the model": 0, f"overlapping more than {model.overlap} decoding allows": 0}
    unknown, overlapping = reasons
    for entities in reached.entities:
        known = [Guess(first, stop, 1, first - stop) for first, stop, label in entities if label in model.labels]
        reasons[unknown] += len(entities) - len(known)
        reasons[overlapping] += len(known) - len(decode(known, model.overlap))  # the narrower stand
    return reached.coverage + Coverage(unreachable={reason: count for reason, count in reasons.items() if count})
