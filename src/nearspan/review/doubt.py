"""How much a model doubts what it reads in a text."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional

from nearspan.document import Document
from nearspan.heads import Query
from nearspan.model import Model
from nearspan.model.predict import SentenceWindows


@torch.inference_mode()
def read_doubts(model: Model, documents: Sequence[Document]) -> tuple[Tensor, Tensor]:
    """For each document how many of its spans are read wrong, as the model itself expects [N]; its unit vector [N, E].

    A span is read as its likeliest label, or as no entity, and is wrong with the rest of the probability: so entities
    that are not sure count, and so do near-misses.
    """
    network, datastore = model.network.eval(), model.datastore
    by_document = [model.split(document) for document in documents]
    of_sentence = [number for number, sentences in enumerate(by_document) for _ in sentences]
    windows = SentenceWindows.of(network, [sentence for sentences in by_document for sentence in sentences])
    of_window = torch.tensor([of_sentence[position] for position in windows.positions])
    doubts, vectors = torch.zeros(len(documents)), torch.empty(0)
    for batch in windows.corpus.reading_batches():
        query = Query(network, batch, datastore)
        rows = of_window[batch.ids]
        wrong = expected_errors(network.predict_proba(query), multilabel=network.head.multilabel)
        doubts.index_add_(0, rows[query.candidates.sentence.cpu()], wrong.float().cpu())
        means = network.encoder.sentence_vectors(query.encoded).float().cpu()
        vectors = vectors if len(vectors) else means.new_zeros(len(documents), means.shape[1])
        vectors.index_add_(0, rows, means)
    return doubts, functional.normalize(vectors, dim=1)


def expected_errors(probabilities: Tensor, *, multilabel: bool) -> Tensor:
    """How many labels of each span [S] are expected to be wrong, for P(y|s) [S, 1 + Y].

    >>> expected_errors(torch.tensor([[0.75, 0.25], [0.5, 0.5]]), multilabel=False).tolist()
    [0.25, 0.5]
    """
    if multilabel:
        labels = probabilities[:, 1:]
        return torch.minimum(labels, 1 - labels).sum(1)
    return 1 - probabilities.amax(1)
