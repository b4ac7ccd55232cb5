"""Search in a memory: the nearest sentences, their spans as pools, the nearest spans."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor
from torch.nn import functional

from nearspan.knn.datastore import Datastore
from nearspan.knn.pool import Pool
from nearspan.knn.word_table import PART, WordTable, spread

GROUP = 16  # about the root of sentences over neighbours
SENTENCES = 32  # that are compared with all of the memory at once: what a CPU's caches like


def nearest_sentences(memory: Datastore, vectors: Tensor, count: int) -> Tensor:
    """The `count` sentences of the memory with the highest cosine, for sentence vectors [B, E]: ids [B, count].

    Of those that are equally near, such as many copies of one sentence, the ones made to count more come first,
    then the earlier ones.
    """
    asked = functional.normalize(vectors.float(), dim=1)
    parts = asked.split(len(asked) if asked.is_cuda else SENTENCES)
    count = min(count, len(memory.sentence_vectors))
    first, others = memory.head_starts, memory.sentence_vectors.T
    return torch.cat([highest(torch.addmm(first, part, others), count) for part in parts])


def highest(values: Tensor, count: int) -> Tensor:
    """Where the `count` highest of values [B, M] are, in falling order: quicker than topk, which sorts as it goes.

    In a table of GROUP rows, the highest ones lie in the `count` columns with the highest maxima.
    """
    columns = values.shape[1] // GROUP
    if columns <= 2 * count:
        return values.topk(count, dim=1).indices
    cells = GROUP * columns
    best = values[:, :cells].view(-1, GROUP, columns).amax(1).topk(count, dim=1).indices  # [B, count]
    rows = torch.arange(0, cells, columns, device=values.device)[:, None]
    rest = torch.arange(cells, values.shape[1], device=values.device)
    among = torch.cat([(best[:, None] + rows).flatten(1), rest.expand(len(values), -1)], dim=1)
    return among.gather(1, values.gather(1, among).topk(count, dim=1).indices)


def rows_of(memory: Datastore, sentences: Tensor) -> tuple[Tensor, Tensor]:
    """Rows of all spans of some sentences [B, K]: rows [B, N], and which of them are real rather than padding."""
    rows = spread(memory.starts[sentences], memory.counts[sentences], padding=-1)
    return rows.clamp(min=0), rows >= 0


def pools(memory: Datastore, sentences: Tensor) -> Pool:
    """The spans of some sentences [B, K] as B pools side by side."""
    rows, real = rows_of(memory, sentences)
    labels, weights = memory.labels[rows].masked_fill(~real, -1), memory.log_weights[rows]
    return Pool(memory.rows(rows), labels, weights)


def pools_apart(memory: Datastore, words: WordTable, sentences: Tensor, most: int) -> Iterator[Pool]:
    """Pools as above of those sentences among [B, K] that stand apart, in parts of at most `most` spans, or of one.

    As in pools of words, what all spans begin with is left out: it adds the same to every score.
    """
    if not words.some_apart:
        return
    wanted = words.apart[sentences]  # [B, K]
    count = int(wanted.sum(1).max()) if wanted.numel() else 0
    if not count:
        return
    order = wanted.byte().argsort(dim=1, descending=True, stable=True)[:, :count]
    chosen, real = sentences.gather(1, order), wanted.gather(1, order)
    counts = memory.counts[chosen] * real
    size = max(1, most // int(counts.max()))
    for ids, own in zip(chosen.split(size, dim=1), counts.split(size, dim=1), strict=True):
        rows = spread(memory.starts[ids], own, padding=-1)
        labels, rows = memory.labels[rows].masked_fill(rows < 0, -1), rows.clamp(min=0)
        weights = memory.log_weights[rows]
        yield Pool(memory.rows(rows) - words.shared, labels, weights)


def scores_of(memory: Datastore, vectors: Tensor, rows: Tensor | None = None, *, cosine: bool = False) -> Tensor:
    """Inner products [n, N] of span vectors [n, H] with the memory's spans, or with those at some rows.

    They are -inf for spans that were removed; how much a sentence counts is no matter here. In double precision where
    the vectors are, else in single precision.
    """
    asked = vectors if vectors.dtype == torch.double else vectors.float()
    asked = functional.normalize(asked, dim=1) if cosine else asked
    if rows is not None and len(rows) > PART:
        return scores_of(memory, vectors, cosine=cosine)[:, rows]
    if rows is None:
        found = memory.scores(asked)
        if cosine:
            found /= memory.lengths.clamp(min=torch.finfo(found.dtype).tiny)
        return found.masked_fill_(memory.labels < 0, -torch.inf)
    found = asked.new_empty(len(asked), len(rows))
    for some, place in zip(rows.split(PART), found.split(PART, dim=1), strict=True):
        own = memory.rows(some).to(asked.dtype)
        place.copy_(asked @ (functional.normalize(own, dim=1) if cosine else own).T)
    return found.masked_fill_(memory.labels[rows] < 0, -torch.inf)


def nearest_spans(memory: Datastore, vector: Tensor, count: int, *, cosine: bool = False) -> tuple[Tensor, Tensor]:
    """The `count` spans of the memory nearest to a span vector [H]: scores and rows, best first."""
    there = int((memory.labels >= 0).sum())
    best = scores_of(memory, vector[None], cosine=cosine)[0].topk(min(count, there))
    return best.values, best.indices
