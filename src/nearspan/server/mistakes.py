"""The error browser: gold against predicted on a corpus, error by error."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from nearspan.document import Document, Entity, Span
from nearspan.evaluation import Error, evaluate, find_errors
from nearspan.model import Model
from nearspan.server.answers import EntityOut, MistakeOut, MistakesOut


class Mistakes:
    """A model's errors on a corpus, as they were when it was scored."""

    def __init__(self, model: Model, documents: Sequence[Document]) -> None:
        found = evaluate(model, documents)
        self.split = model.split
        self.memory = model.memory
        self.scores = found.scores.to_dict()
        self.errors = find_errors(documents, found.predicted)
        self.kinds: dict[str, int] = dict(Counter(str(error.kind) for error in self.errors).most_common())

    def page(self, kind: str, label: str, limit: int, offset: int, edited: bool) -> MistakesOut:
        """Some errors of a kind and with a label, all where they are empty."""
        chosen = [
            error
            for error in self.errors
            if kind in ("", error.kind) and (not label or label in (one.label for one in _entities(error)))
        ]
        shown = [self._shown(error) for error in chosen[offset : offset + limit]]
        return MistakesOut(scores=self.scores, kinds=self.kinds, total=len(chosen), errors=shown, edited=edited)

    def _shown(self, error: Error) -> MistakeOut:
        """An error with the sentences that it is in."""
        start = min(entity.start for entity in _entities(error))
        end = max(entity.end for entity in _entities(error))
        for sentence in self.split(error.document):
            if sentence.start < end and start < sentence.end:
                start, end = min(start, sentence.start), max(end, sentence.end)
        text = error.document.text[start:end]
        return MistakeOut(
            kind=error.kind,
            document=error.document.id,
            text=text,
            gold=_moved(error.gold, -start, text),
            predicted=_moved(error.predicted, -start, text),
        )


def _entities(error: Error) -> list[Entity]:
    return [entity for entity in (error.gold, error.predicted) if entity is not None]


def _moved(entity: Entity | None, by: int, text: str) -> EntityOut | None:
    if entity is None:
        return None
    span: Span = entity.span.shifted(by)
    return EntityOut.of(Entity(span, entity.label, entity.score), text)
