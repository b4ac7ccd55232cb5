"""Coupling: how alike the vectors of overlapping spans are (table 4 of Zhu et al., 2023)."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional

from nearspan.model import Model
from nearspan.report.model_access import WordSpan, candidate_vectors, span_batches
from nearspan.report.papers.geometry import Cosine

LEVELS = ("non-overlapping", "weakly overlapping", "strongly overlapping")
NEAR = 5  # words on either side of an entity that its neighbouring spans may reach into


@torch.inference_mode()
def coupling(model: Model, spans: Sequence[WordSpan], widest: int, near: int = NEAR) -> dict[str, Cosine]:
    """The mean cosine between entities and their neighbouring spans, by how much the two overlap.

    The neighbouring spans of an entity are the candidates of its sentence that begin at most `near` words before
    it, end at most `near` words after it and have at most `widest` words; not its own span. What is within it,
    around it, across its ends and beside it is among them. One sentence's vectors are held at a time.
    """
    sums = torch.zeros(len(LEVELS), dtype=torch.double, device=model.device)
    counts = torch.zeros(len(LEVELS), dtype=torch.long, device=model.device)
    for batch in span_batches(model, spans):
        vectors, candidates = candidate_vectors(model, batch)
        sizes = candidates.counts
        starts = (sizes.cumsum(0) - sizes).tolist()
        for sentence, row in zip(batch.places[:, 0].tolist(), batch.rows(candidates).tolist(), strict=True):
            mine = slice(starts[sentence], starts[sentence] + int(sizes[sentence]))
            first, stop = candidates.first[mine], candidates.stop[mine]  # [C]
            units = functional.normalize(vectors[mine].float(), dim=1)  # [C, H]
            entity = row - mine.start
            close = neighbouring(first, stop, entity, widest, near)
            level = overlap_levels(first, stop, entity)[close]
            cosines = (units[close] @ units[entity]).double()
            sums.index_add_(0, level, cosines)
            counts += torch.bincount(level, minlength=len(LEVELS))
    totals = zip(LEVELS, sums.tolist(), counts.tolist(), strict=True)
    return {level: Cosine.of(total, pairs) for level, total, pairs in totals}


def neighbouring(first: Tensor, stop: Tensor, entity: int, widest: int, near: int = NEAR) -> Tensor:
    """Which of a sentence's candidates [C] are neighbouring spans of the one with number `entity`."""
    close = (first >= first[entity] - near) & (stop <= stop[entity] + near) & (stop - first <= widest)
    close[entity] = False
    return close


def overlap_levels(first: Tensor, stop: Tensor, entity: int) -> Tensor:
    """The level [C] at which candidates overlap one of them: alpha = 0, up to 0.5, above.

    alpha is the overlapping ratio: the words that two spans share, as a part of the words that are in either.

    >>> overlap_levels(torch.tensor([0, 0, 0, 2]), torch.tensor([2, 3, 4, 3]), entity=0).tolist()
    [2, 2, 1, 0]
    """
    shared = (torch.minimum(stop, stop[entity]) - torch.maximum(first, first[entity])).clamp(min=0)
    union = (stop - first) + (stop[entity] - first[entity]) - shared
    return (shared > 0).long() + (2 * shared > union).long()
