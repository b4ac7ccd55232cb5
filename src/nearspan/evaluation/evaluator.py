"""Score a model on documents: by the entities that it finds or, where spans are given, by the labels that they get."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from typing import Any

from nearspan.document import Document, Entity
from nearspan.evaluation.identifiers import IdentifierScores, score_identifiers
from nearspan.evaluation.matching import score
from nearspan.evaluation.scores import ClassificationScores, Scores
from nearspan.evaluation.slices import by_continuity, by_sentence_continuity
from nearspan.formats import Documents, as_documents
from nearspan.model import Model
from nearspan.model.calibration import expected_calibration_error, score_entities
from nearspan.model.decode import decode
from nearspan.model.predict import Predictor, SentenceWindows
from nearspan.model.thresholds import Scored, Threshold
from nearspan.segment import Coverage, LabelledSpan, Sentence
from nearspan.spans import align_to_candidates

UNKNOWN_LABEL = "with a label unknown to the model"


@dataclass(frozen=True)
class Evaluation:
    """Scores, the entities that the settings put out of reach, and the predicted documents."""

    scores: Scores  # ClassificationScores where spans were given
    coverage: Coverage
    predicted: Sequence[Document]
    discontinuous: Mapping[str, Scores] = field(default_factory=dict)  # of these `entities`, of `sentences` with them
    baseline: ClassificationScores | None = None  # the majority by string, where spans were given and it is known
    identifiers: IdentifierScores | None = None  # where the memory and the gold documents have some
    scored: Sequence[Scored] = ()  # the score of each predicted entity, and whether it is right

    @property
    def measure(self) -> str:
        """The name of `value`: F1, or accuracy where spans were given."""
        return self.scores.measure

    @property
    def value(self) -> float:
        """The number by which the best epoch is chosen."""
        return self.scores.value

    @property
    def calibration_error(self) -> float:
        """ECE: how far scores are from the share of the entities that are right."""
        return expected_calibration_error(self.scored)

    def count_changed(self, other: Evaluation) -> int:
        """How many entities this evaluation or another one of the same documents predicts and not both."""
        pairs = zip(self.predicted, other.predicted, strict=True)
        return sum(len({*ours.entities} ^ {*theirs.entities}) for ours, theirs in pairs)

    def __repr__(self) -> str:
        return f"Evaluation({self.measure} {100 * self.value:.2f}, {self.coverage})"

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        content = {**self.scores.to_dict(), "coverage": self.coverage.to_dict()}
        content["calibration_error"] = self.calibration_error
        if self.discontinuous:
            content["discontinuous"] = {name: part.total.to_dict() for name, part in self.discontinuous.items()}
        if self.identifiers is not None:
            content["identifiers"] = self.identifiers.to_dict()
        if self.baseline is not None:
            content["baseline"] = self.baseline.to_dict()
        return content


class Evaluator:
    """Gold documents, encoded once, on which a model may be scored many times while it trains.

        evaluator = Evaluator(model, "dev.conll")
        evaluator.evaluate().value

    A model that finds entities is scored by precision, recall and F1. A model whose spans are given is scored by its
    accuracy, beside that of the majority by string.
    """

    def __init__(self, model: Model, documents: Documents, threshold: Threshold | None = None) -> None:
        self.model = model
        self.documents = as_documents(documents)
        encode = _encode_given_spans if model.classifies_given_spans else _encode_sentences
        self._threshold = threshold
        self._evaluate = encode(model, self.documents)

    def evaluate(self) -> Evaluation:
        """Score the model as it is now."""
        return self._evaluate(Predictor(self.model, self._threshold))


def evaluate(model: Model, documents: Documents, *, threshold: Threshold | None = None) -> Evaluation:
    """Score a model on gold documents.

        nearspan.evaluate(nearspan.load("runs/mine"), "test.conll").scores.f1

    The documents are a path of any format, a corpus, or a list of documents. Entities with a score below the
    `threshold`, for all labels or by label, are left out.
    """
    return Evaluator(model, documents, threshold).evaluate()


def score_labels(gold: Sequence[str], predicted: Sequence[str | None]) -> ClassificationScores:
    """Compare the labels that spans have with those that they got; None for a span that got none.

    >>> scores = score_labels(["PER", "LOC", "LOC"], ["PER", "LOC", None])
    >>> scores.labels["LOC"], round(scores.accuracy, 3)
    (Counts(correct=1, predicted=1, gold=2), 0.667)
    """
    pairs = list(enumerate(zip(gold, predicted, strict=True)))
    predictions = {(number, prediction) for number, (_, prediction) in pairs if prediction is not None}
    return ClassificationScores.of({(number, label) for number, (label, _) in pairs}, predictions)


def linked_labels(model: Model) -> set[str]:
    """The labels whose discontinuous entities a model can find."""
    linker = model.network.fragment_linker
    return {model.labels[number] for number in linker.labels} if linker is not None else set()


def _encode_sentences(model: Model, documents: Sequence[Document]) -> Callable[[Predictor], Evaluation]:
    """What gives precision, recall and F1 of the entities that a predictor of the model finds."""
    sentences = [model.split(document) for document in documents]
    windows = SentenceWindows.of(model.network, list(chain.from_iterable(sentences)))
    coverage = sum(map(partial(_coverage, model), sentences, documents), Coverage())

    def evaluate(predictor: Predictor) -> Evaluation:
        spans = predictor.predict_spans(windows.corpus)
        entities = iter(predictor.decode_windows(windows, spans))  # by sentence
        predicted = [
            document.with_entities(entity for _ in parts for entity in next(entities))
            for document, parts in zip(documents, sentences, strict=True)
        ]
        return Evaluation(
            score(documents, predicted),
            coverage,
            predicted,
            _discontinuous_scores(documents, predicted),
            identifiers=_identifier_scores(model, documents, predicted),
            scored=score_entities(documents, predicted),
        )

    return evaluate


def _encode_given_spans(model: Model, documents: Sequence[Document]) -> Callable[[Predictor], Evaluation]:
    """What gives the accuracy of the labels that a predictor of the model gives, and of the majority by string."""
    given, corpus = model.predictor.encode_given(documents)
    # the entities with their documents' positions; an entity that is listed twice comes once
    places = [(i, entity) for i, document in enumerate(documents) for entity in dict.fromkeys(document.entities)]
    gold = [entity.label for _, entity in places]

    def evaluate(predictor: Predictor) -> Evaluation:
        relabelled: list[dict[Entity, Entity]] = [{} for _ in documents]  # an entity to itself with a new label
        classified = [[entity] for entity in predictor.classify_given(given, corpus)]
        kept_entities = predictor.identify(predictor.above_thresholds(classified))
        for (position, entity), kept in zip(given.entities, kept_entities, strict=True):
            relabelled[position].update((entity, relabelled_entity) for relabelled_entity in kept)
        predictions = (relabelled[position].get(entity) for position, entity in places)
        labels = [prediction.label if prediction else None for prediction in predictions]
        predicted = [
            document.with_entities(dict.fromkeys(entities.values()))
            for document, entities in zip(documents, relabelled, strict=True)
        ]
        strings = model.strings
        majority = score_labels(gold, [strings.label(entity.text) for _, entity in places]) if strings else None
        return Evaluation(
            score_labels(gold, labels),
            given.coverage,
            predicted,
            baseline=majority,
            identifiers=_identifier_scores(model, documents, predicted),
            scored=score_entities(documents, predicted),
        )

    return evaluate


def _identifier_scores(
    model: Model, gold: Sequence[Document], predicted: Sequence[Document]
) -> IdentifierScores | None:
    """The scores of identifiers, where the memory has some and the gold documents too."""
    concepts = model.datastore.concepts if model.datastore is not None else None
    return score_identifiers(gold, predicted, concepts) if concepts is not None else None


def _discontinuous_scores(gold: Sequence[Document], predicted: Sequence[Document]) -> dict[str, Scores]:
    """The scores of discontinuous entities, and of the sentences with them, where there are any."""
    if not any(entity.span.discontinuous for document in (*gold, *predicted) for entity in document.entities):
        return {}
    slices = {"entities": by_continuity(gold, predicted), "sentences": by_sentence_continuity(gold, predicted)}
    return {name: scores.get("discontinuous", Scores()) for name, scores in slices.items()}


def _coverage(model: Model, sentences: Sequence[Sentence], document: Document) -> Coverage:
    """The entities of a document that a model can predict: by width, by its labels, and by how they overlap."""
    linked = linked_labels(model)
    reached = align_to_candidates(sentences, document.entities, model.network.rules)
    never_linked = "discontinuous, of a label that was not so in training"
    overlapping = f"overlapping more than {model.overlap} decoding allows"
    reasons = {UNKNOWN_LABEL: 0, never_linked: 0, overlapping: 0}
    for entities in reached.entities:
        known = [gold for gold in entities if gold.label in model.labels]
        predictable = [
            LabelledSpan(gold.fragments, 1, -gold.width)  # the narrower stand
            for gold in known
            if not gold.discontinuous or gold.label in linked
        ]
        reasons[UNKNOWN_LABEL] += len(entities) - len(known)
        reasons[never_linked] += len(known) - len(predictable)
        reasons[overlapping] += len(predictable) - len(decode(predictable, model.overlap, model.linked_overlap))
    return reached.coverage + Coverage(unreachable={reason: count for reason, count in reasons.items() if count})
