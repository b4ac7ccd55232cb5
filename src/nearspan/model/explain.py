"""Evidence for spans of a text: what a model's memory says of them, and the scores that go with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

import torch

from nearspan.document import Document, Span
from nearspan.errors import ConfigError, ModelError
from nearspan.explain import NULL, Evidence, explain_span, linked_neighbour, locate
from nearspan.heads import Query
from nearspan.knn.storage import NO_MEMORY
from nearspan.model.strangers import nearest_cosines
from nearspan.segment import LabelledSpan

if TYPE_CHECKING:
    from nearspan.explain.question import Question
    from nearspan.knn import Datastore
    from nearspan.model.model import Model


@torch.inference_mode()
def explain_spans(model: Model, document: Document, spans: Sequence[tuple[Span, str | None]], k: int) -> list[Evidence]:
    """For each span of a document, with the label it is asked for or None, the training spans it rests on."""
    if k < 1:
        raise ConfigError(f"k is {k}: list one neighbour at least")
    datastore = model.datastore  # an editor may put another in its place at any time
    if datastore is None or not len(datastore):
        raise ModelError(f"this model has no memory to take evidence from: {NO_MEMORY}")
    network, sentences = model.network.eval(), model.split(document)
    rules, has_null = network.rules, network.suggester.has_null
    questions = [locate(sentences, span, span.text(document.text), rules, has_null) for span, _ in spans]
    windows = {question.key: question.window for question in questions}
    queries = {}
    for key, window in windows.items():  # each is read once
        places = [LabelledSpan((place,), NULL) for each in questions if each.key == key for place in each.places]
        corpus = network.encode([window.sentence], [places])
        queries[key] = Query(network, corpus.batch(torch.tensor([0])), datastore)
    evidence = []
    for question, (_, label) in zip(questions, spans, strict=True):
        query = queries[question.key]
        explained = explain_span(network, query, question, datastore, list(datastore.names), k, label)
        evidence.append(_identify(_score(model, explained, query, question), datastore, k))
    return evidence


def _identify(evidence: Evidence, datastore: Datastore, count: int) -> Evidence:
    """Evidence with the concepts that the memory gives the mention, and the `count` heaviest training spans behind."""
    concepts, mention = datastore.concepts, (evidence.text, evidence.label)
    if concepts is None or not evidence.label:
        return evidence
    likeliest = dict(islice(concepts.rank(mention).items(), count))
    return replace(
        evidence,
        identifiers=likeliest,
        linked=[linked_neighbour(each) for each in concepts.linked_spans(mention, count)],
    )


def _score(model: Model, evidence: Evidence, query: Query, question: Question) -> Evidence:
    """Evidence with the score of its label, and whether its span is a stranger."""
    if not evidence.label:
        return evidence
    cosine, rows = None, question.candidate_rows(query)
    asked = model.calibration is not None and model.calibration.needs_cosines and len(rows) == 1
    if asked and not question.span.discontinuous and query.datastore is not None and len(query.datastore.entity_rows):
        cosine = float(nearest_cosines(query.vectors[rows], query.datastore))
    score = model.to_score(evidence.probabilities[evidence.label], evidence.label, evidence.text, cosine)
    return replace(evidence, score=score, cosine=cosine, stranger=model.is_stranger(cosine))
