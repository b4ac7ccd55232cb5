"""What the server can do with a model; every method is work for the model's thread."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from nearspan.document import Document, Span
from nearspan.errors import EditError
from nearspan.explain import Evidence
from nearspan.knn import Datastore
from nearspan.knn.datastore import FILL
from nearspan.memory.editor import Editor
from nearspan.model import Model
from nearspan.server.answers import MapOut
from nearspan.server.limits import Limits
from nearspan.server.map import draw
from nearspan.server.mistakes import Mistakes


class Service:
    """A model with a memory that can be edited, and a corpus that it was scored on."""

    def __init__(self, editor: Editor, corpus: Sequence[Document] = ()) -> None:
        self.editor = editor
        self.mistakes = Mistakes(editor.model, corpus) if corpus else None
        self._map: tuple[Datastore, MapOut] | None = None

    @property
    def model(self) -> Model:
        """The model, with what other processes have done to its memory."""
        self.editor.refresh()
        return self.editor.model

    @property
    def labels(self) -> list[str]:
        """The labels that the model knows; they never change."""
        return self.editor.model.labels[1:]

    @property
    def share(self) -> float:
        """The memory's share in what the model decides."""
        return self.editor.model.share

    def annotate(self, texts: Sequence[str]) -> list[Document]:
        """The texts with their entities."""
        return list(self.model.annotate(texts))

    def explain(self, text: str, count: int, limits: Limits) -> list[Evidence]:
        """Evidence for each entity of a text; refused where there are too many to explain at once."""
        model = self.model
        (annotated,) = model.annotate([text])
        limits.check_explained(len(annotated.entities))
        return model.evidence(annotated, count)

    def neighbours(self, text: str, span: Span, label: str, count: int) -> Evidence:
        """Evidence for a span; where it has several labels, for the one that is asked about."""
        found = self.model.neighbours(text, span, count)
        return found if label in ("", found.label) else replace(found, label=label, against=[], flip=None)

    def map(self, most: int) -> MapOut:
        """The memory's entities in two dimensions; drawn once for each state of the memory."""
        model = self.model
        if model.memory is None:
            raise EditError(f"this model has no memory to draw: {FILL}")
        if self._map is None or self._map[0] is not model.memory:
            self._map = model.memory, draw(model.memory, model.labels, most)
        return self._map[1]
