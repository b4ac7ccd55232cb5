"""Search in a memory: the nearest sentences, their spans as pools, the nearest spans."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from nearspan.heads import Pool
from nearspan.memory.store import Memory


def nearest_sentences(memory: Memory, vectors: Tensor, count: int) -> Tensor:
    """The `count` sentences of the memory with the highest cosine, for sentence vectors [B, E]: ids [B, count]."""
    likeness = functional.normalize(vectors.float(), dim=1) @ memory.sentence_vectors.T  # [B, M]
    return likeness.topk(min(count, likeness.shape[1]), dim=1).indices


def rows_of(memory: Memory, sentences: Tensor) -> tuple[Tensor, Tensor]:
    """Rows of all spans of some sentences [B, K]: rows [B, N], and which of them are real rather than padding."""
    counts = memory.counts[sentences]
    ends = counts.cumsum(1)  # [B, K]
    column = torch.arange(int(ends[:, -1].max()), device=ends.device).expand(len(ends), -1).contiguous()  # [B, N]
    which = torch.searchsorted(ends, column, right=True).clamp(max=ends.shape[1] - 1)
    shift = memory.starts[sentences] - (ends - counts)
    real = column < ends[:, -1:]
    return (column + shift.gather(1, which)) * real, real


def pools(memory: Memory, sentences: Tensor) -> Pool:
    """The spans of some sentences [B, K] as B pools side by side."""
    rows, real = rows_of(memory, sentences)
    return Pool(memory.vectors[rows], memory.labels[rows].masked_fill(~real, -1))


def nearest_spans(memory: Memory, vector: Tensor, count: int, *, cosine: bool = False) -> tuple[Tensor, Tensor]:
    """The `count` spans of the memory nearest to a span vector [H]: scores and rows, best first."""
    scores = memory.vectors.float() @ vector.float()  # [N]
    if cosine:
        scores = scores / (memory.vectors.float().norm(dim=1) * vector.float().norm()).clamp(min=1e-12)
    best = scores.topk(min(count, len(scores)))
    return best.values, best.indices
