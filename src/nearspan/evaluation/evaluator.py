"""Score a model on documents."""

from __future__ import annotations

from nearspan.evaluation.evaluation import Evaluation
from nearspan.evaluation.recognition import Recognition
from nearspan.evaluation.span_classification import SpanClassification
from nearspan.formats import Documents, as_documents
from nearspan.model import Model


class Evaluator:
    """LabelledSpan documents, encoded once, on which a model may be scored many times while it trains.

        evaluator = Evaluator(model, "dev.conll")
        evaluator.evaluate().value

    A model that finds entities is scored by precision, recall and F1. A model whose spans are given is scored by its
    accuracy, beside that of the majority by string.
    """

    def __init__(self, model: Model, documents: Documents) -> None:
        self.model = model
        self.documents = as_documents(documents)
        self._task = (SpanClassification if self.gives_spans else Recognition)(model, self.documents)

    @property
    def gives_spans(self) -> bool:
        """Whether the model labels spans that documents give, rather than find entities."""
        return self.model.classifies_given_spans

    def evaluate(self) -> Evaluation:
        """Score the model as it is now."""
        return self._task.evaluate()


def evaluate(model: Model, documents: Documents) -> Evaluation:
    """Score a model on gold documents.

        nearspan.evaluate(nearspan.load("runs/mine"), "test.conll").scores.f1

    The documents are a path of any format, a corpus, or a list of documents.
    """
    return Evaluator(model, documents).evaluate()
