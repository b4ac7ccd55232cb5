"""Score a model on documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from nearspan.document import Document
from nearspan.errors import NearspanError
from nearspan.evaluation.matching import score
from nearspan.evaluation.scores import Scores
from nearspan.evaluation.slices import by_continuity, by_sentence_continuity
from nearspan.model import Model
from nearspan.model.decode import Fragments, ScoredSpan, decode
from nearspan.segment import Coverage, Sentence
from nearspan.spans import align_to_candidates

TYPING = (
    "this model was trained for typing: it labels spans that are given, so it has no precision, recall or F1 of "
    "recognition. Score it with evaluate_typing (`nearspan evaluate` does), or train the recipe with suggester.kind=all"
)


@dataclass(frozen=True)
class Evaluation:
    """Scores, what the settings put out of reach, and the predicted documents."""

    measure: ClassVar[str] = "F1"

    scores: Scores
    coverage: Coverage
    predicted: Sequence[Document]
    discontinuous: Mapping[str, Scores] = field(default_factory=dict)  # of these `entities`, of `sentences` with them

    @property
    def value(self) -> float:
        """The one number by which epochs are chosen."""
        return self.scores.f1

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        broken = {name: scores.total.to_dict() for name, scores in self.discontinuous.items()}
        found = {**self.scores.to_dict(), "coverage": self.coverage.to_dict()}
        return {**found, "discontinuous": broken} if broken else found


class Evaluator:
    """Gold documents, prepared once, that a model may be scored on many times while it trains."""

    def __init__(self, model: Model, documents: Sequence[Document]) -> None:
        if model.typing:
            raise NearspanError(TYPING)
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
        scores = score(self.documents, predicted)
        return Evaluation(scores, self.coverage, predicted, _discontinuous(self.documents, predicted))


def evaluate(model: Model, documents: Sequence[Document]) -> Evaluation:
    """Score a model on gold documents: which of their entities it finds."""
    return Evaluator(model, tuple(documents)).evaluate()


def _discontinuous(gold: Sequence[Document], predicted: Sequence[Document]) -> dict[str, Scores]:
    """The scores that discontinuous entities are judged by, where there are any."""
    if not any(entity.span.discontinuous for document in (*gold, *predicted) for entity in document.entities):
        return {}
    parts = {"entities": by_continuity(gold, predicted), "sentences": by_sentence_continuity(gold, predicted)}
    return {name: scores.get("discontinuous", Scores()) for name, scores in parts.items()}


def _coverage(model: Model, sentences: Sequence[Sentence], document: Document) -> Coverage:
    """What a model can reach of a document's entities: by width, by its labels, and by how they overlap."""
    network, head = model.network, model.recipe.head
    joined = (
        [model.labels[number] for number in network.fragment_linker.labels]
        if network.fragment_linker is not None
        else []
    )
    reached = align_to_candidates(
        sentences, document.entities, network.max_width, head.multilabel, bool(joined), head.tags_words
    )
    unknown, never = "with a label unknown to the model", "discontinuous, of a label that was not so in training"
    overlapping = f"overlapping more than {model.overlap} decoding allows"
    reasons = {unknown: 0, never: 0, overlapping: 0}
    for entities, broken in zip(reached.entities, reached.discontinuous, strict=True):
        places: list[tuple[Fragments, str]] = [(((first, stop),), label) for first, stop, label in entities]
        places += [(gold.fragments, gold.label) for gold in broken]
        named = [(fragments, label) for fragments, label in places if label in model.labels]
        known = [
            ScoredSpan(fragments, 1, -sum(stop - first for first, stop in fragments))  # the narrower stand
            for fragments, label in named
            if len(fragments) == 1 or label in joined
        ]
        reasons[unknown] += len(places) - len(named)
        reasons[never] += len(named) - len(known)
        reasons[overlapping] += len(known) - len(decode(known, model.overlap, model.joined_overlap))
    return reached.coverage + Coverage(unreachable={reason: count for reason, count in reasons.items() if count})
