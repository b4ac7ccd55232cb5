"""The service: what the server asks of a model."""

import logging
from bisect import bisect
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from itertools import groupby, islice
from time import monotonic
from typing import Any

import torch
from pydantic import BaseModel

from nearspan.colours import LabelColours
from nearspan.document import Document, Entity, Span
from nearspan.errors import EditError
from nearspan.evaluation import Error, evaluate, find_errors, score
from nearspan.explain import Evidence
from nearspan.explain.evidence import neighbour_at
from nearspan.formats import Documents, as_documents
from nearspan.knn import Datastore
from nearspan.knn.storage import NO_MEMORY
from nearspan.memory import Editor
from nearspan.memory.build import can_have_label
from nearspan.model import Model
from nearspan.model.folder import weights_id
from nearspan.model.predict import SentenceWindows
from nearspan.report.papers.projection import principal
from nearspan.review import Review
from nearspan.review.retraining import Retraining
from nearspan.segment import LabelledSpan
from nearspan.segment.windows import balanced_runs
from nearspan.server.limits import Limits, Refusal
from nearspan.server.schemas import EntityOut, ErrorOut, ErrorsOut, MapOut, PointOut
from nearspan.server.worker import Pieces, Question, finish, to_json

logger = logging.getLogger(__name__)

PIECE = 256  # words that are read before others have their turn
DOCUMENTS = 32  # of the corpus that are scored at a time
SECONDS = 2.0  # for which one request scores the corpus
ONE_WORKER = (
    "several workers keep the model that they were started with: train on from it with `nearspan train`, and "
    "start the server again"
)


class Service:
    """A model whose memory can be edited, and its errors on a corpus: work for the thread, but for `describe`.

    service = Service(nearspan.load("runs/mine"), "test.jsonl", texts)

    `texts` are those of a review, where there is to be one. `configure` sets how a model is used that is trained in it.
    """

    def __init__(
        self,
        model: Model,
        corpus: Documents = (),
        texts: Iterable[Document | str] = (),
        configure: Callable[[Model], Model] = lambda model: model,
    ) -> None:
        self._model, self._memory = model, model.memory
        documents = as_documents(corpus)
        self.error_browser = ErrorBrowser(model, documents) if len(documents) else None
        self._map: tuple[Datastore, MapOut] | None = None
        self._review = model.review(texts) if (texts := list(texts)) else None
        if self._review is not None:
            self._review.prepare()
        self._configure = configure
        self._retraining: Retraining | None = None

    @property
    def memory(self) -> Editor:
        """The memory, with the edits that other processes have made."""
        self._memory.refresh()
        return self._memory

    @property
    def model(self) -> Model:
        """The model, with the edits that other processes have made to its memory."""
        self._memory.refresh()
        return self._model

    @property
    def review(self) -> Review:
        """The review of the texts that the server was started with.

        Where a model was trained in it that is ready, it is what answers from now on.
        """
        if self._review is None:
            raise Refusal(404, "no texts to review: start the server with some")
        self.take_trained()
        return self._review

    @property
    def labels(self) -> list[str]:
        """The labels that the model knows: its own, and those that its memory has beside them."""
        return self._model.labels[1:]

    def may_remember(self, label: str) -> bool:
        """Whether an entity with a label can be remembered: the model knows it, or can have it as a new one."""
        model = self._model
        return label in self.labels or (model.datastore is not None and can_have_label(model, label))

    def describe(self) -> dict[str, Any]:
        """What is served, without asking the model's thread."""
        model, colours = self._model, LabelColours(self.labels)
        return {
            "recipe": model.recipe.name,
            "labels": self.labels,
            "colours": {label: colours[label].name for label in self.labels},
            "overlap": model.overlap,
            "sentences": len(model.datastore.sentences) if model.datastore is not None else 0,
            "datastore_weight": model.datastore_weight,
            "corpus": self.error_browser is not None,
            "review": len(self._review) if self._review is not None else 0,
        }

    def begin(self, schema: type[BaseModel], question: Question) -> Pieces[str]:
        """The answer to a question as JSON, in pieces."""
        return to_json(schema, lambda: getattr(self, question.name)(*question.arguments))

    def annotate_together(self, schema: type[BaseModel], batch: Sequence[Sequence[str]]) -> list[str]:
        """What `annotate` answers to each of several questions, as JSON; their texts are read together."""
        pieces = _annotate(self._snapshot(), [Document(text) for texts in batch for text in texts])
        documents = iter(finish(pieces))
        by_question = [list(islice(documents, len(texts))) for texts in batch]
        return [finish(to_json(schema, partial(_to_dict, answer))) for answer in by_question]

    def close(self) -> None:
        """Stop what goes on beside the answers."""
        if self._review is not None:
            self._review.close()
        if self._retraining is not None:
            self._retraining.stop()
            self._retraining = None

    def train(self) -> None:
        """Train the model again with its memory as it is now, by a process of its own."""
        if self._review is not None:
            self._review.train()
        elif self._retraining is not None and self._retraining.is_running:
            raise EditError("the model is being trained already")
        else:
            self._retraining = Retraining(self.memory.folder)

    @property
    def is_training(self) -> bool:
        """Whether the model is being trained again."""
        if self._review is not None:
            return self._review.progress().training == "running"
        return self._retraining is not None and self._retraining.is_running

    def take_trained(self) -> bool:
        """Go on with the model that `train` has made, if it is ready; whether it was. Nobody edits meanwhile."""
        if self._review is not None:
            if is_new := self._review.swap(self._configure):
                self._go_on_with(self._review.model)
            return is_new
        training = self._retraining
        if training is None or training.is_running:
            return False
        self._retraining, folder = None, self._memory.folder
        try:
            if training.failure or not training.swap():
                logger.warning("training again has failed, so the model stays as it is: %s", training.failure)
                return False
        finally:
            training.stop()
        self._go_on_with(self._configure(Model.load(folder, str(self._model.device))))
        return True

    def _go_on_with(self, model: Model) -> None:
        self._model, self._memory, self._map = model, model.memory, None

    def annotate(self, texts: Sequence[str]) -> Pieces[dict[str, Any]]:
        """The texts with their entities."""
        documents = yield from _annotate(self._snapshot(), [Document(text) for text in texts])
        return _to_dict(documents)

    def explain(self, text: str, count: int, limits: Limits) -> Pieces[dict[str, Any]]:
        """Evidence for each entity of a text; refused where there are too many to explain at once."""
        model = self._snapshot()
        [document] = yield from _annotate(model, [Document(text)])
        limits.check_explained(len(document.entities))
        evidence = yield from _explain(model, document, count)
        return {"evidence": [each.to_dict() for each in evidence]}

    def explain_documents(
        self, documents: Sequence[Document], count: int, most: int
    ) -> Pieces[list[tuple[Document, list[Evidence]]]]:
        """Documents with their entities, and evidence for the first `most` of these; none where there is no memory."""
        model, explained = self._snapshot(), list[tuple[Document, list[Evidence]]]()
        most = most if model.datastore is not None else 0
        for document in (yield from _annotate(model, documents)):
            entities = document.entities[:most]
            most -= len(entities)
            evidence = yield from _explain(model, replace(document, entities=entities), count)
            explained.append((document, evidence))
        return explained

    def version(self) -> str:
        """What names the model and the state of its memory: the recipe, the weights and the number of the last edit."""
        memory = self.memory
        return f"{self._model.recipe.name}-{weights_id(memory.folder)[:8]}.{len(memory.log())}"

    def _snapshot(self) -> Model:
        """The model with its memory as it is now: an edit between two pieces of an answer does not change it."""
        return copy(self.model)

    def neighbours(self, text: str, span: Span, label: str, count: int) -> dict[str, Any]:
        """Evidence for a span, for one of its labels where a label is given."""
        model = self.model
        evidence = model.explain_span(text, span, count)
        if label not in ("", evidence.label):
            score = model.to_score(evidence.probabilities[label], label, evidence.text, evidence.cosine)
            evidence = replace(evidence, label=label, score=score, against=[], counter_evidence=None)
        return evidence.to_dict()

    def list_errors(self, kind: str, label: str, limit: int, offset: int) -> Pieces[ErrorsOut]:
        """A page of the errors on the corpus, which is scored again where the memory was edited."""
        if self.error_browser is None:
            raise Refusal(404, "no corpus to score: start the server with a corpus")
        scored = yield from self.error_browser.score_again(self._snapshot())
        return self.error_browser.page(kind, label, limit, offset, scored)

    def map(self, points: int) -> MapOut:
        """The memory's entities in two dimensions; drawn once for each state of the memory."""
        model = self.model
        if model.datastore is None:
            raise EditError(f"this model has no memory to draw: {NO_MEMORY}")
        if self._map is None or self._map[0] is not model.datastore:
            self._map = model.datastore, _draw_map(model.datastore, model.labels, points)
        return self._map[1]


def _to_dict(documents: Sequence[Document]) -> dict[str, Any]:
    return {"documents": [document.to_dict() for document in documents]}


def _annotate(model: Model, documents: Sequence[Document]) -> Pieces[list[Document]]:
    """The documents with their entities, read a few sentences at a time, as `Model.pipe` gives them."""
    sentences = [model.split(document) for document in documents]
    windows = SentenceWindows.of(model.network, [sentence for views in sentences for sentence in views])
    spans: list[list[LabelledSpan[int]]] = [[] for _ in windows.windows]
    corpus, predictor = windows.corpus, model.predictor
    by_size = sorted(range(len(corpus.passages)), key=corpus.sizes.__getitem__)
    for first, stop in balanced_runs([corpus.sizes[number][0] for number in by_size], PIECE):
        yield
        ids = [window for number in by_size[first:stop] for window in corpus.passages[number]]
        predicted = predictor.predict_batch(corpus.batch(torch.tensor(ids)))
        for window, of_window in zip(ids, predicted, strict=True):
            spans[window] = of_window
    entities = iter(predictor.decode_windows(windows, spans))
    return [
        replace(document, entities=tuple(sorted(entity for _ in views for entity in next(entities))))
        for document, views in zip(documents, sentences, strict=True)
    ]


def _explain(model: Model, document: Document, count: int) -> Pieces[list[Evidence]]:
    """Evidence for each entity of a document, a sentence at a time."""
    evidence: list[Evidence] = []
    starts = [sentence.start for sentence in model.split(document)]
    for _, entities in groupby(document.entities, lambda entity: bisect(starts, entity.start)):
        yield
        evidence += model.explain(replace(document, entities=tuple(entities)), count)
    return evidence


@torch.inference_mode()
def _draw_map(datastore: Datastore, labels: list[str], most: int) -> MapOut:
    """At most `most` of the memory's entities, evenly taken, along their principal components."""
    entities = (datastore.labels > 0).nonzero().flatten()
    count = min(most, len(entities))
    rows = entities[torch.linspace(0, max(0, len(entities) - 1), count).long().to(entities.device)]
    components = principal(datastore.rows(rows).float().cpu().numpy())
    return MapOut(
        points=[
            PointOut(x=x, y=y, **neighbour_at(datastore, labels, row, 0.0).to_dict())
            for (x, y), row in zip(components.points.tolist(), rows.tolist(), strict=False)  # no points of too few
        ],
        entities=len(entities),
        explained_variance=components.explained,
    )


class ErrorBrowser:
    """A model's errors on a corpus, found again after each edit of its memory."""

    def __init__(self, model: Model, documents: Sequence[Document]) -> None:
        self.documents, self.split = documents, model.split
        self._datastore = model.datastore  # with which these were predicted
        self._predicted = list(evaluate(model, documents).predicted)
        self._compare()

    def _compare(self) -> None:
        self.scores = score(self.documents, self._predicted).to_dict()
        self.errors = find_errors(self.documents, self._predicted)
        self.kinds: dict[str, int] = dict(Counter(str(error.kind) for error in self.errors).most_common())

    def score_again(self, model: Model) -> Pieces[float]:
        """Read on in the corpus if the memory is another; the share that has been read with it.

        It ends after some seconds, so that the client hears of it, and goes on with the next call.
        """
        if self._datastore is not model.datastore:
            self._datastore, self._predicted = model.datastore, []
        deadline = monotonic() + SECONDS
        while (done := len(self._predicted)) < len(self.documents) and monotonic() < deadline:
            predicted = yield from _annotate(model, self.documents[done : done + DOCUMENTS])
            if self._datastore is not model.datastore:
                return 0.0  # edited meanwhile
            if len(self._predicted) == done:  # no other client was here before
                self._predicted += predicted
                if len(self._predicted) == len(self.documents):
                    self._compare()
        return len(self._predicted) / len(self.documents)

    def page(self, kind: str, label: str, limit: int, offset: int, scored: float) -> ErrorsOut:
        """A page of the errors of a kind and with a label; "" is any."""
        errors = [
            error
            for error in self.errors
            if kind in ("", error.kind) and (not label or label in {entity.label for entity in _entities(error)})
        ]
        page = [self._in_context(error) for error in errors[offset : offset + limit]]
        return ErrorsOut(scores=self.scores, kinds=self.kinds, total=len(errors), errors=page, scored=scored)

    def _in_context(self, error: Error) -> ErrorOut:
        """An error with the sentences that it is in."""
        start = min(entity.start for entity in _entities(error))
        end = max(entity.end for entity in _entities(error))
        for sentence in self.split(error.document):
            if sentence.start < end and start < sentence.end:
                start, end = min(start, sentence.start), max(end, sentence.end)
        gold, predicted = (
            None if entity is None else EntityOut(**replace(entity, span=entity.span.shift(-start)).to_dict())
            for entity in (error.gold, error.predicted)
        )
        text, document = error.document.text[start:end], error.document.id
        return ErrorOut(kind=error.kind, document=document, text=text, gold=gold, predicted=predicted)


def _entities(error: Error) -> list[Entity]:
    return [entity for entity in (error.gold, error.predicted) if entity is not None]
