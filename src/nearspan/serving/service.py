"""What the server can do with a model; every method is work for the model's thread."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from nearspan.document import Document, Entity, Span
from nearspan.editing import Edit, Editor
from nearspan.errors import EditError
from nearspan.evidence import Evidence
from nearspan.heads import Instances
from nearspan.memory import Memory
from nearspan.model import Model
from nearspan.serving.map import draw
from nearspan.serving.mistakes import Mistakes
from nearspan.serving.schemas import MapOut
from nearspan.text import Sentence

CORRECTIONS = "corrections"  # the document that corrected sentences are remembered under


class Service:
    """A model with a memory that can be edited, and a corpus that it was scored on."""

    def __init__(self, editor: Editor, corpus: Sequence[Document] = ()) -> None:
        self.editor = editor
        self.mistakes = Mistakes(editor.model, corpus) if corpus else None
        self._map: tuple[Memory, MapOut] | None = None

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
        model = self.editor.model
        if isinstance(model.network.head, Instances):
            return 1.0
        return model.network.vote.share if model.network.vote else 0.0

    def annotate(self, texts: Sequence[str]) -> list[Document]:
        """The texts with their entities."""
        return list(self.model.annotate(texts))

    def explain(self, text: str, count: int) -> list[Evidence]:
        """Evidence for each entity of a text."""
        return self.model.explain(text, count)

    def neighbours(self, text: str, span: Span, label: str, count: int) -> Evidence:
        """Evidence for a span; where it has several labels, for the one that is asked about."""
        found = self.model.neighbours(text, span, count)
        return found if label in ("", found.label) else replace(found, label=label, against=[], flip=None)

    def map(self, most: int) -> MapOut:
        """The memory's entities in two dimensions; drawn once for each state of the memory."""
        model = self.model
        if model.memory is None:
            raise EditError("this model has no memory to draw: fill one with `nearspan memory MODEL build`")
        if self._map is None or self._map[0] is not model.memory:
            self._map = model.memory, draw(model.memory, model.labels, most)
        return self._map[1]

    def correct(self, text: str, span: Span, label: str) -> Edit:
        """Remember the sentence of a span as it should be read: the span with a label, or with none where it is `""`.

        A sentence that the memory holds already is corrected there. Any other is added with what the model finds in
        it now, but for the span and what it could not stand beside.
        """
        model = self.model
        sentence = _holding(model.split(Document(text)), text, span)
        mine = span.shifted(-sentence.start)
        known = [one for one in self.editor.sentences(sentence.text, limit=1_000) if one.text == sentence.text]
        if known:
            return self.editor.relabel(known[-1].id, mine, label)
        (found,) = model.annotate([Document(text)])
        kept = [
            Entity(entity.span.shifted(-sentence.start), entity.label)
            for entity in found.entities
            if sentence.start <= entity.start and entity.end <= sentence.end and entity.span != span
        ]
        if label:
            kept = [entity for entity in kept if _beside(entity.span, mine, model.overlap)]
            kept.append(Entity(mine, label))
        words = tuple(
            (sentence.words[first][0] - sentence.start, sentence.words[stop - 1][1] - sentence.start)
            for first, stop in sentence.runs
        )
        whole = ((0, len(sentence.text)),)
        return self.editor.add(Document(sentence.text, tuple(sorted(kept)), CORRECTIONS, words, whole))


def _holding(sentences: Sequence[Sentence], text: str, span: Span) -> Sentence:
    for sentence in sentences:
        if sentence.start <= span.start and span.end <= sentence.end:
            return sentence
    raise EditError(f"{span.text(text)!r} is not inside one sentence")


def _beside(one: Span, other: Span, overlap: str) -> bool:
    """Whether two entities can both be: apart, or one in the other where nesting is allowed, or in any way."""
    nested = one.covers(other) or other.covers(one)
    return overlap == "any" or not one.overlaps(other) or (overlap == "nested" and nested)
