"""Recognition: which entities of documents a model finds, and which it cannot reach."""

from __future__ import annotations

from collections.abc import Sequence

from nearspan.document import Document
from nearspan.evaluation.evaluation import Evaluation
from nearspan.evaluation.matching import score
from nearspan.evaluation.scores import Scores
from nearspan.evaluation.slices import by_continuity, by_sentence_continuity
from nearspan.model import Model
from nearspan.model.decode import decode
from nearspan.model.predict import SentenceWindows
from nearspan.segment import Coverage, Fragments, LabelledSpan, Sentence
from nearspan.spans import align_to_candidates


class Recognition:
    """Documents whose entities are to be found."""

    def __init__(self, model: Model, documents: Sequence[Document]) -> None:
        self.model = model
        self.documents = documents
        self.sentences = [model.split(document) for document in documents]
        all_sentences = [sentence for sentences in self.sentences for sentence in sentences]
        self.windows = SentenceWindows.of(model.network, all_sentences)
        coverages = (_coverage(model, *pair) for pair in zip(self.sentences, documents, strict=True))
        self.coverage = sum(coverages, Coverage())

    def evaluate(self) -> Evaluation:
        """Precision, recall and F1 of the entities that the model finds now."""
        predictor = self.model.predictor
        spans = predictor.predict_spans(self.windows.corpus)
        entities = iter(predictor.decode_windows(self.windows, spans))  # by sentence
        predicted = [
            document.with_entities(entity for _ in sentences for entity in next(entities))
            for document, sentences in zip(self.documents, self.sentences, strict=True)
        ]
        scores = score(self.documents, predicted)
        return Evaluation(scores, self.coverage, predicted, _discontinuous(self.documents, predicted))


def _discontinuous(gold: Sequence[Document], predicted: Sequence[Document]) -> dict[str, Scores]:
    """The scores of discontinuous entities, and of the sentences with them, where there are any."""
    if not any(entity.span.discontinuous for document in (*gold, *predicted) for entity in document.entities):
        return {}
    slices = {"entities": by_continuity(gold, predicted), "sentences": by_sentence_continuity(gold, predicted)}
    return {name: scores.get("discontinuous", Scores()) for name, scores in slices.items()}


def _coverage(model: Model, sentences: Sequence[Sentence], document: Document) -> Coverage:
    """The entities of a document that a model can predict: by width, by its labels, and by how they overlap."""
    linker = model.network.fragment_linker
    linked_labels = [model.labels[number] for number in linker.labels] if linker is not None else []
    reached = align_to_candidates(sentences, document.entities, model.network.rules)
    unknown, never_linked = "with a label unknown to the model", "discontinuous, of a label that was not so in training"
    overlapping = f"overlapping more than {model.overlap} decoding allows"
    reasons = {unknown: 0, never_linked: 0, overlapping: 0}
    for contiguous, discontinuous in zip(reached.entities, reached.discontinuous, strict=True):
        spans: list[tuple[Fragments, str]] = [(((first, stop),), label) for first, stop, label in contiguous]
        spans += [(gold.fragments, gold.label) for gold in discontinuous]
        known = [(fragments, label) for fragments, label in spans if label in model.labels]
        predictable = [
            LabelledSpan(fragments, 1, -sum(stop - first for first, stop in fragments))  # the narrower stand
            for fragments, label in known
            if len(fragments) == 1 or label in linked_labels
        ]
        reasons[unknown] += len(spans) - len(known)
        reasons[never_linked] += len(known) - len(predictable)
        reasons[overlapping] += len(predictable) - len(decode(predictable, model.overlap, model.linked_overlap))
    return reached.coverage + Coverage(unreachable={reason: count for reason, count in reasons.items() if count})
