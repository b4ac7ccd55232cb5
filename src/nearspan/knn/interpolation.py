"""The memory's vote: what the spans nearest to a span say of its label, for heads that decide by weights.

P(y|s) = (1 - share) P_head(y|s) + share P_memory(y|s), as in nearest-neighbour language models. In P_memory each of the
nearest spans has the weight softmax(similarity / temperature). It says yes to each of its labels and no to all others,
so a span with two labels counts for both, and null has the weight of the spans that have none. That is the same reading
as a softmax's where every span has one label, and a sigmoid's, label by label, where it may have several. A span that
counts several times has the weight of so many copies, but is one of the nearest only once.
"""

from __future__ import annotations

from typing import Literal

import torch
from pydantic import Field
from torch import Tensor
from torch.nn import functional

from nearspan.knn.datastore import TIE, Datastore
from nearspan.knn.word_table import PART
from nearspan.settings import Settings

ROWS = 512  # spans compared with a part of the memory at once: 128 MB of similarities


class InterpolationSettings(Settings):
    """How much the memory has to say beside a head that does not score with it."""

    weight: float = Field(default=0.3, ge=0, le=1)  # lambda
    neighbours: int = Field(default=16, ge=1, le=1_000_000)  # k: spans of the memory that vote
    similarity: Literal["cosine", "distance"] = "cosine"  # distance: minus the squared Euclidean one
    temperature: float = Field(default=0.1, gt=0)  # the higher, the more alike are the neighbours' weights


def vote(memory: Datastore, vectors: Tensor, settings: InterpolationSettings, labels: int) -> Tensor:
    """P_memory(y|s) [S, 1 + Y] for span vectors [S, H]; `labels` is 1 + Y. Where nothing is remembered it is null."""
    found = [_vote(memory, some.float(), settings, labels) for some in vectors.split(ROWS)]
    return torch.cat(found) if found else vectors.new_zeros(0, labels)


def _vote(memory: Datastore, vectors: Tensor, settings: InterpolationSettings, labels: int) -> Tensor:
    return heard(memory, *_nearest(memory, vectors, settings), settings.temperature, labels)


def heard(memory: Datastore, likeness: Tensor, rows: Tensor, temperature: float, labels: int) -> Tensor:
    """What the spans at some rows [S, k] say with their likeness [S, k], -inf for none: P_memory(y|s) [S, 1 + Y]."""
    weights = likeness / temperature + memory.log_weights[rows]
    weights = weights.softmax(-1).nan_to_num_(0.0)
    found = torch.einsum("sk,sky->sy", weights, votes(memory, rows, labels))
    found[:, 0] += 1 - weights.sum(-1)
    return found


def votes(memory: Datastore, rows: Tensor, labels: int) -> Tensor:
    """The labels of the spans at some rows [..., k] as ones in [..., k, 1 + Y]."""
    found = functional.one_hot(memory.labels[rows].clamp(min=0), labels).float()
    for more in memory.further:
        label = more[rows][..., None]
        found.scatter_add_(-1, label, (label > 0).float())
    return found


def _nearest(memory: Datastore, vectors: Tensor, settings: InterpolationSettings) -> tuple[Tensor, Tensor]:
    """Similarities and rows [S, k] of the nearest spans, read part after part; -inf where there are fewer."""
    best = vectors.new_full((len(vectors), settings.neighbours), -torch.inf)
    rows = torch.zeros_like(best, dtype=torch.long)
    for first in range(0, len(memory), PART):
        part = slice(first, first + PART)
        likeness = _similarity(vectors, memory.rows(part).float(), settings.similarity)
        likeness += TIE * (memory.log_weights[part] > 0)  # of many copies of a span the ones made to count more
        likeness.masked_fill_(memory.labels[part] < 0, -torch.inf)
        own = likeness.topk(min(settings.neighbours, likeness.shape[1]), dim=1)
        both = torch.cat([best, own.values], dim=1).topk(settings.neighbours, dim=1)
        rows = torch.cat([rows, own.indices + first], dim=1).gather(1, both.indices)
        best = both.values
    return best, rows


def _similarity(vectors: Tensor, own: Tensor, kind: str) -> Tensor:
    if kind == "cosine":
        return functional.normalize(vectors, dim=1) @ functional.normalize(own, dim=1).T
    return 2 * vectors @ own.T - own.square().sum(1) - vectors.square().sum(1, keepdim=True)
