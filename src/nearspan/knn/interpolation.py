"""Interpolation: what the spans nearest to a span say of its label, beside a head that decides by weights.

P(y|s) = (1 - weight) P_head(y|s) + weight P_knn(y|s), as in nearest-neighbour language models. In P_knn each of the
nearest spans has the weight softmax(similarity / temperature). It says yes to each of its labels and no to all others,
so a span with two labels counts for both, and null has the weight of the spans that have none. That is the same reading
as a softmax's where every span has one label, and a sigmoid's, label by label, where it may have several. A span that
counts several times has the weight of so many copies, but is one of the nearest only once.
"""

from typing import Literal

import torch
from pydantic import Field
from torch import Tensor
from torch.nn import functional

from nearspan.knn.datastore import TIE, Datastore
from nearspan.knn.word_table import PART
from nearspan.settings import Settings
from nearspan.spans import one_hot_labels

ROWS = 512  # spans compared with a part of the datastore at once: 128 MB of similarities


class InterpolationSettings(Settings):
    """How much the datastore has to say beside a head that does not score with it."""

    weight: float = Field(default=0.3, ge=0, le=1)  # lambda
    neighbours: int = Field(default=16, ge=1, le=1_000_000)  # k: the nearest spans that count
    similarity: Literal["cosine", "distance"] = "cosine"  # distance: minus the squared Euclidean one
    temperature: float = Field(default=0.1, gt=0)  # the higher, the more alike are the neighbours' weights


def knn_probabilities(datastore: Datastore, vectors: Tensor, settings: InterpolationSettings) -> Tensor:
    """P_knn(y|s) [S, 1 + Y] for span vectors [S, H], all labels of the datastore. Where that is empty it is null."""
    parts = [
        weigh_labels(datastore, *_nearest(datastore, part.float(), settings), settings.temperature)
        for part in vectors.split(ROWS)
    ]
    return torch.cat(parts) if parts else vectors.new_zeros(0, len(datastore.names))


def weigh_labels(datastore: Datastore, similarity: Tensor, rows: Tensor, temperature: float) -> Tensor:
    """P_knn(y|s) [S, 1 + Y] from the spans at some rows [S, k] with their similarities [S, k], -inf for none."""
    weights = similarity / temperature + datastore.log_weights[rows]
    weights = weights.softmax(-1).nan_to_num_(0.0)
    probabilities = torch.einsum(
        "sk,sky->sy", weights, one_hot_labels(datastore.labels[rows], datastore.further[:, rows], len(datastore.names))
    )
    probabilities[:, 0] += 1 - weights.sum(-1)
    return probabilities


def _nearest(datastore: Datastore, vectors: Tensor, settings: InterpolationSettings) -> tuple[Tensor, Tensor]:
    """Similarities and rows [S, k] of the nearest spans, read part after part; -inf where there are fewer."""
    best = vectors.new_full((len(vectors), settings.neighbours), -torch.inf)
    rows = torch.zeros_like(best, dtype=torch.long)
    for first in range(0, len(datastore), PART):
        part = slice(first, first + PART)
        similarity = _similarity(vectors, datastore.rows(part).float(), settings.similarity)
        similarity += TIE * (datastore.log_weights[part] > 0)  # of many copies of a span the ones made to count more
        similarity.masked_fill_(datastore.labels[part] < 0, -torch.inf)
        top = similarity.topk(min(settings.neighbours, similarity.shape[1]), dim=1)
        both = torch.cat([best, top.values], dim=1).topk(settings.neighbours, dim=1)
        rows = torch.cat([rows, top.indices + first], dim=1).gather(1, both.indices)
        best = both.values
    return best, rows


def _similarity(vectors: Tensor, keys: Tensor, kind: str) -> Tensor:
    if kind == "cosine":
        return functional.normalize(vectors, dim=1) @ functional.normalize(keys, dim=1).T
    return 2 * vectors @ keys.T - keys.square().sum(1) - vectors.square().sum(1, keepdim=True)
