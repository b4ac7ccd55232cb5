"""Span classification: how many entities that documents give get their label from a model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from nearspan.document import Document, Entity
from nearspan.evaluation.evaluation import Evaluation
from nearspan.evaluation.scores import ClassificationScores, Counts
from nearspan.model import Model


class SpanClassification:
    """Documents whose entities are given, to be labelled."""

    def __init__(self, model: Model, documents: Sequence[Document]) -> None:
        self.model = model
        self.documents = documents
        self.given, self.corpus = model.predictor.encode_given(documents)

    def evaluate(self) -> Evaluation:
        """The accuracy of the labels that the model gives now, and of the majority by string."""
        relabelled: list[dict[Entity, Entity]] = [{} for _ in self.documents]  # an entity to itself with a new label
        classified = self.model.predictor.classify_given(self.given, self.corpus)
        for (position, entity), relabelled_entity in zip(self.given.entities, classified, strict=True):
            relabelled[position][entity] = relabelled_entity
        gold = list(self._entities())
        predictions = (relabelled[position].get(entity) for position, entity in gold)
        labels = [prediction.label if prediction else None for prediction in predictions]
        predicted = [
            document.with_entities(dict.fromkeys(entities.values()))
            for document, entities in zip(self.documents, relabelled, strict=True)
        ]
        scores = score_labels([entity.label for _, entity in gold], labels)
        return Evaluation(scores, self.given.coverage, predicted, baseline=self._baseline())

    def _baseline(self) -> ClassificationScores | None:
        """The scores of the majority by string, if the model knows the strings of its training data."""
        strings = self.model.strings
        if strings is None:
            return None
        gold = list(self._entities())
        texts = [entity.span.text(self.documents[position].text) for position, entity in gold]
        return score_labels([entity.label for _, entity in gold], [strings.label(text) for text in texts])

    def _entities(self) -> Iterator[tuple[int, Entity]]:
        """The entities with their documents' positions; an entity that is listed twice comes once."""
        for position, document in enumerate(self.documents):
            yield from ((position, entity) for entity in dict.fromkeys(document.entities))


def score_labels(gold: Sequence[str], predicted: Sequence[str | None]) -> ClassificationScores:
    """Compare the labels that spans have with those that they got; None for a span that got none.

    >>> scores = score_labels(["PER", "LOC", "LOC"], ["PER", "LOC", None])
    >>> scores.labels["LOC"], round(scores.accuracy, 3)
    (Counts(correct=1, predicted=1, gold=2), 0.667)
    """
    has = Counter(gold)
    got = Counter(label for label in predicted if label is not None)
    right = Counter(label for label, guess in zip(gold, predicted, strict=True) if label == guess)
    return ClassificationScores({label: Counts(right[label], got[label], has[label]) for label in sorted(has | got)})
