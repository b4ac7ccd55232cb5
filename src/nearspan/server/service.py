"""The service: what the server asks of a model. Its methods are work for the model's thread, but for `describe`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch

from nearspan.colours import LabelColours
from nearspan.document import Document, Span
from nearspan.errors import EditError
from nearspan.explain import Evidence
from nearspan.explain.neighbour import neighbour_at
from nearspan.formats import Documents, as_documents
from nearspan.knn import Datastore
from nearspan.knn.storage import NO_MEMORY
from nearspan.memory import Editor
from nearspan.model import Model
from nearspan.report.papers.projection import principal
from nearspan.server.error_browser import ErrorBrowser
from nearspan.server.limits import Limits, Refusal
from nearspan.server.response_schemas import ErrorsOut, MapOut, PointOut


class Service:
    """A model whose memory can be edited, and its errors on a corpus.

    service = Service(nearspan.load("runs/mine"), "test.jsonl")
    """

    def __init__(self, model: Model, corpus: Documents = ()) -> None:
        self._model, self._memory = model, model.memory
        self._scored = model.datastore  # as it was when the corpus was scored
        documents = as_documents(corpus)
        self.error_browser = ErrorBrowser(model, documents) if len(documents) else None
        self._map: tuple[Datastore, MapOut] | None = None

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
    def labels(self) -> list[str]:
        """The labels that the model knows; they never change."""
        return self._model.labels[1:]

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
        }

    def annotate(self, texts: Sequence[str]) -> list[Document]:
        """The texts with their entities."""
        return list(self.model.pipe(texts))

    def explain(self, text: str, count: int, limits: Limits) -> list[Evidence]:
        """Evidence for each entity of a text; refused where there are too many to explain at once."""
        model = self.model
        document = model(text)
        limits.check_explained(len(document.entities))
        return model.explain(document, count)

    def neighbours(self, text: str, span: Span, label: str, count: int) -> Evidence:
        """Evidence for a span, for one of its labels where a label is given."""
        evidence = self.model.explain_span(text, span, count)
        if label in ("", evidence.label):
            return evidence
        return replace(evidence, label=label, against=[], counter_evidence=None)

    def list_errors(self, kind: str, label: str, limit: int, offset: int) -> ErrorsOut:
        """A page of the errors on the corpus."""
        if self.error_browser is None:
            raise Refusal(404, "no corpus to score: start the server with a corpus")
        edited = self.model.datastore is not self._scored
        return self.error_browser.page(kind, label, limit, offset, edited)

    def map(self, points: int) -> MapOut:
        """The memory's entities in two dimensions; drawn once for each state of the memory."""
        model = self.model
        if model.datastore is None:
            raise EditError(f"this model has no memory to draw: {NO_MEMORY}")
        if self._map is None or self._map[0] is not model.datastore:
            self._map = model.datastore, _draw_map(model.datastore, model.labels, points)
        return self._map[1]


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
