"""What the server can do with a model; every method is work for the model's thread."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from nearspan.document import Document, Span
from nearspan.errors import ModelError
from nearspan.evidence import Evidence
from nearspan.memory import Memory
from nearspan.model import Model
from nearspan.serving.map import draw
from nearspan.serving.mistakes import Mistakes
from nearspan.serving.schemas import MapOut


class Service:
    """A model with its memory, and a corpus that it was scored on."""

    def __init__(self, model: Model, corpus: Sequence[Document] = ()) -> None:
        self.model = model
        self.mistakes = Mistakes(model, corpus) if corpus else None
        self._map: tuple[Memory, int, MapOut] | None = None

    def annotate(self, texts: Sequence[str]) -> list[Document]:
        """The texts with their entities."""
        return list(self.model.annotate(texts))

    def explain(self, text: str, count: int) -> list[Evidence]:
        """Evidence for each entity of a text."""
        return self.model.explain(text, count)

    def neighbours(self, text: str, span: Span, label: str, count: int) -> Evidence:
        """Evidence for a span."""
        found = self.model.neighbours(text, span, count)
        return replace(found, label=label) if label else found

    def map(self, most: int) -> MapOut:
        """The memory's entities in two dimensions; drawn once for each state of the memory."""
        memory = self.model.memory
        if memory is None:
            raise ModelError("this model has no memory to draw")
        if self._map is None or self._map[0] is not memory or self._map[1] != most:
            self._map = memory, most, draw(memory, self.model.labels, most)
        return self._map[2]
