"""Exact sums over labelled spans, one by one: equations 1 and 2 of Ouchi et al. (2020)."""

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from nearspan.knn.datastore import Datastore
from nearspan.knn.pool import Pool
from nearspan.knn.search import sentence_pools
from nearspan.spans import Candidates

CACHE = 2**25  # bytes that a CPU is quickest with


def neighbour_probabilities(vectors: Tensor, pool: Pool) -> Tensor:
    """Equation 1: P(s_j | s_i) [..., S, N], a softmax of inner products; padding gets 0.

    A span of weight w counts as w copies: log w is added to its score.
    """
    scores = vectors.float() @ pool.vectors.float().mT + pool.offsets()[..., None, :]
    return scores.softmax(-1)


def pool_probabilities(vectors: Tensor, pool: Pool, labels: int) -> Tensor:
    """Equation 2: P(y|s) [..., S, 1 + Y] given all of a pool; `labels` is 1 + Y."""
    return _null_where_empty(neighbour_probabilities(vectors, pool) @ pool.one_hot_labels(labels))


def probabilities_over_all(vectors: Tensor, pool: Pool | Datastore, labels: int, budget: int) -> Tensor:
    """Equation 2 over a pool of any size, read in chunks: exact, with at most `budget` bytes at work.

    A running maximum m and sums of exp(score - m) by label are carried from chunk to chunk and
    rescaled whenever m grows: a log-sum-exp that never holds more than one chunk of scores.
    All in double precision: single precision is too coarse for differences of large scores and for many small weights.
    """
    spans, width = vectors.shape
    budget = budget if vectors.is_cuda else min(budget, CACHE)
    out = vectors.new_empty(spans, labels, dtype=torch.float32)
    per_neighbour = 20 * (width + labels + 1)  # its vector as it is put together and its label, beside scores
    size = max(1, min(spans, 1024, budget // (256 * 16)))
    chunk = max(1, budget // (16 * size + per_neighbour))
    for start in range(0, spans, size):
        queries = vectors[start : start + size].double()
        best = queries.new_full((len(queries), 1), -torch.inf)
        sums = queries.new_zeros(len(queries), labels)
        for first in range(0, len(pool.labels), chunk):
            rows = slice(first, first + chunk)
            part = Pool(pool.rows(rows).double(), pool.labels[rows])
            scores = (queries @ part.vectors.T).add_(pool.offsets(rows))
            higher = torch.maximum(best, scores.amax(1, keepdim=True)).clamp_(min=torch.finfo(scores.dtype).min)
            sums = sums * (best - higher).exp() + scores.sub_(higher).exp_() @ part.one_hot_labels(labels).double()
            best = higher
        out[start : start + size] = _null_where_empty(sums / sums.sum(1, keepdim=True))
    return out


def probabilities_over_sentences(
    datastore: Datastore, sentences: Tensor, vectors: Tensor, candidates: Candidates, labels: int, budget: int
) -> Tensor:
    """P(y|s) [S, 1 + Y] with the pools of sentences [B, K] padded and compared at once, as a GPU likes it."""
    padded = pad_sequence(list(vectors.split(candidates.counts.tolist())), batch_first=True)  # [B, S', H]
    most = int(datastore.counts[sentences].sum(1).max())
    each = 4 * most * (2 * padded.shape[1] + 3 * vectors.shape[1] + 3 * (labels + 1))  # scores, vectors, labels
    size = max(1, budget // each)
    parts = [
        pool_probabilities(queries, sentence_pools(datastore, ids), labels)
        for queries, ids in zip(padded.split(size), sentences.split(size), strict=True)
    ]
    real = torch.arange(padded.shape[1]) < candidates.counts[:, None]
    probabilities: Tensor = torch.cat(parts)[real.to(vectors.device)]
    return probabilities


def _null_where_empty(probabilities: Tensor) -> Tensor:
    """Where every neighbour was removed nothing speaks for a label, so the span is null for sure."""
    empty = probabilities.isnan().any(-1)
    if bool(empty.any()):
        probabilities = probabilities.nan_to_num(0.0)
        probabilities[..., 0].masked_fill_(empty, 1.0)
    return probabilities
