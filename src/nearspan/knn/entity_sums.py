"""What the entities of a datastore weigh for all spans of some sentences, from their ends alone.

A span's score with an entity is that of its left end and that of its right end, so its weight is a product, and the sum
of such products over the entities of a label is a matrix product: exponentials are taken for ends alone.
"""

import torch
from torch import Tensor
from torch.nn import functional

from nearspan.knn.prefix_products import LEAST
from nearspan.knn.word_table import end_queries, scores_by_end
from nearspan.linear import linear
from nearspan.spans import EndSums

COLUMNS = 2048  # entities at once
LOG2_E = 1.4426950408889634


def entity_weights(
    ends: EndSums,
    vectors: Tensor,
    labels: Tensor,
    log_weights: Tensor,
    max_width: int,
    dtype: torch.dtype,
) -> tuple[Tensor, Tensor]:
    """log2 of the weight of all entities [B, T, L] for spans by first word and width, and of the most that may lack.

    The entities have vectors [E, H], labels [E], which rise, and log of how many times they count [E]. Products are
    made in a precision: what is far below the largest factors vanishes.
    """
    batch, length, _ = ends.left.shape
    widths = min(max_width, length)
    totals = ends.left.new_full((batch, length, widths), -torch.inf, dtype=torch.double)
    lacking, queries = totals.clone(), end_queries(ends) * LOG2_E
    for begin, stop in label_runs(labels):
        left, right = scores_by_end(ends, linear(queries, vectors[begin:stop]))  # [B, T, E']
        left, highest_left = _scale(left + log_weights[begin:stop] * LOG2_E, dtype)
        right, highest_right = _scale(right, dtype)
        products = functional.pad(left @ right.mT, (0, widths - 1))  # [B, T, T']
        size = products.shape[2]
        band = products.as_strided((batch, length, widths), (length * size, size + 1, 1))  # [t, t + w]
        highest = highest_left[..., None] + functional.pad(highest_right, (0, widths - 1)).unfold(1, widths, 1)
        totals = torch.logaddexp2(totals, band.double().log2() + highest)
        lacking = torch.logaddexp2(lacking, highest + LEAST[dtype] + (stop - begin).bit_length())
    return totals, lacking


def label_runs(labels: Tensor) -> list[tuple[int, int]]:
    """Runs of equal labels, none longer than COLUMNS.

    >>> label_runs(torch.tensor([1, 1, 3]))
    [(0, 2), (2, 3)]
    """
    sizes = labels.unique_consecutive(return_counts=True)[1]
    runs = list[tuple[int, int]]()
    for stop, size in zip(sizes.cumsum(0).tolist(), sizes.tolist(), strict=True):
        runs += [(begin, min(begin + COLUMNS, stop)) for begin in range(stop - size, stop, COLUMNS)]
    return runs


def _scale(scores: Tensor, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """2^scores [..., E] over the highest of each row, and log2 of that."""
    highest = scores.amax(-1)
    return scores.sub_(highest[..., None]).to(dtype).exp2_(), highest.double()
