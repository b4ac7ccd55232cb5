"""The error browser: gold against predicted on a corpus, error by error."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from nearspan.document import Document, Entity
from nearspan.evaluation import Error, evaluate, find_errors
from nearspan.model import Model
from nearspan.server.response_schemas import EntityOut, ErrorOut, ErrorsOut


class ErrorBrowser:
    """A model's errors on a corpus, as they were when it was scored."""

    def __init__(self, model: Model, documents: Sequence[Document]) -> None:
        evaluation = evaluate(model, documents)
        self.split = model.split
        self.scores = evaluation.scores.to_dict()
        self.errors = find_errors(documents, evaluation.predicted)
        self.kinds: dict[str, int] = dict(Counter(str(error.kind) for error in self.errors).most_common())

    def page(self, kind: str, label: str, limit: int, offset: int, edited: bool) -> ErrorsOut:
        """A page of the errors of a kind and with a label; "" is any."""
        errors = [
            error
            for error in self.errors
            if kind in ("", error.kind) and (not label or label in {entity.label for entity in _entities(error)})
        ]
        page = [self._in_context(error) for error in errors[offset : offset + limit]]
        return ErrorsOut(scores=self.scores, kinds=self.kinds, total=len(errors), errors=page, edited=edited)

    def _in_context(self, error: Error) -> ErrorOut:
        """An error with the sentences that it is in."""
        start = min(entity.start for entity in _entities(error))
        end = max(entity.end for entity in _entities(error))
        for sentence in self.split(error.document):
            if sentence.start < end and start < sentence.end:
                start, end = min(start, sentence.start), max(end, sentence.end)
        text = error.document.text[start:end]

        def shift(entity: Entity | None) -> EntityOut | None:
            if entity is None:
                return None
            span = entity.span.shift(-start)
            return EntityOut(**Entity(span, entity.label, entity.score, span.text(text)).to_dict())

        gold, predicted = shift(error.gold), shift(error.predicted)
        return ErrorOut(kind=error.kind, document=error.document.id, text=text, gold=gold, predicted=predicted)


def _entities(error: Error) -> list[Entity]:
    return [entity for entity in (error.gold, error.predicted) if entity is not None]
