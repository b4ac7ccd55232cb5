"""How much the spans of each label weigh together, for spans that are asked about one sentence after the other."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional

from nearspan.knn.datastore import Datastore
from nearspan.knn.search import sentence_rows
from nearspan.knn.word_sums import weigh_span_rows
from nearspan.knn.word_table import WordTable

FEW = 8  # spans that are compared with the whole datastore at once


def log_label_sums(datastore: Datastore, vectors: Sequence[Tensor], sentences: Tensor) -> list[Tensor]:
    """log of the weights exp(s . s_j) of each label's spans [n, 1 + Y], each counting once by its label.

    `vectors` [n, H] are of spans of B sentences, which are compared with the spans of `sentences` [B, K].
    """
    return [_log_sums(datastore, asked, near[None]) for asked, near in zip(vectors, sentences, strict=True)]


def log_label_sums_over_all(datastore: Datastore, vectors: Tensor) -> Tensor:
    """The same [n, 1 + Y] for the spans of all sentences, in double precision; vectors [n, H]."""
    parts, labels = [], datastore.labels.clamp(min=0)
    for part in vectors.split(FEW):
        scores = datastore.scores(part.double()).add_(datastore.offsets(slice(None)))
        best = scores.amax(1, keepdim=True).clamp_(min=torch.finfo(scores.dtype).min)
        sums = scores.new_zeros(len(part), len(datastore.names)).index_add_(1, labels, scores.sub_(best).exp_())
        parts.append(sums.log() + best)
    return torch.cat(parts)


def _log_sums(datastore: Datastore, vectors: Tensor, sentences: Tensor) -> Tensor:
    table, count = datastore.vectors, len(datastore.names)
    if not len(vectors) or not sentences.shape[1]:
        return vectors.new_full((len(vectors), count), -math.inf)
    if isinstance(table, WordTable) and not vectors.is_cuda and not bool(table.set_apart[sentences].any()):
        totals, shares = weigh_span_rows(vectors, table.pool(sentences), count, datastore.max_width)
        shared = vectors @ table.shared[0]
        return shares.log() + (totals * math.log(2)).float()[:, None] + shared[:, None]
    rows, real = sentence_rows(datastore, sentences)
    rows = rows[real]
    scores = vectors @ datastore.rows(rows).float().T + datastore.offsets(rows)
    best = scores.amax(1, keepdim=True).clamp_(min=torch.finfo(scores.dtype).min)
    one_hot = functional.one_hot(datastore.labels[rows].clamp(min=0), count).to(scores.dtype)
    return (scores.sub_(best).exp_() @ one_hot).log() + best
