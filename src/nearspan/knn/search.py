"""Search in a datastore: the nearest sentences, their spans as pools, and likenesses."""

import torch
from torch import Tensor
from torch.nn import functional

from nearspan.knn.datastore import Datastore
from nearspan.knn.pool import Pool
from nearspan.knn.word_table import PART, run_rows

GROUP = 16  # about the root of sentences over neighbours
SENTENCES = 32  # that are compared with all of the datastore at once: what a CPU's caches like


def nearest_sentences(datastore: Datastore, vectors: Tensor, count: int) -> Tensor:
    """The `count` sentences of the datastore with the highest cosine, for sentence vectors [B, E]: ids [B, count].

    Of those that are equally near, such as many copies of one sentence, the ones made to count more come first,
    then the earlier ones. Those that are aside are not among them.
    """
    queries = functional.normalize(vectors.float(), dim=1)
    parts = queries.split(len(queries) if queries.is_cuda else SENTENCES)
    count = min(count, int((~datastore.aside).sum()))
    offsets, keys = datastore.sentence_offsets, datastore.sentence_vectors.T
    return torch.cat([top_columns(torch.addmm(offsets, part, keys), count) for part in parts])


def top_columns(values: Tensor, count: int) -> Tensor:
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


def sentence_rows(datastore: Datastore, sentences: Tensor) -> tuple[Tensor, Tensor]:
    """Rows of all spans of some sentences [B, K]: rows [B, N], and which of them are real rather than padding."""
    rows = run_rows(datastore.starts[sentences], datastore.counts[sentences], padding=-1)
    return rows.clamp(min=0), rows >= 0


def sentence_pools(datastore: Datastore, sentences: Tensor) -> Pool:
    """The spans of some sentences [B, K] as B pools side by side."""
    rows, real = sentence_rows(datastore, sentences)
    labels, weights = datastore.labels[rows].masked_fill(~real, -1), datastore.log_weights[rows]
    return Pool(datastore.rows(rows), labels, weights)


def similarities(datastore: Datastore, vectors: Tensor, rows: Tensor | None = None, *, cosine: bool = False) -> Tensor:
    """Inner products [n, N] of span vectors [n, H] with the datastore's spans, or with those at some rows.

    They are -inf for spans that were removed; how much a sentence counts is no matter here. In double precision where
    the vectors are, else in single precision.
    """
    queries = vectors if vectors.dtype == torch.double else vectors.float()
    queries = functional.normalize(queries, dim=1) if cosine else queries
    if rows is not None and len(rows) > PART:
        return similarities(datastore, vectors, cosine=cosine)[:, rows]
    if rows is None:
        scores = datastore.scores(queries)
        if cosine:
            scores /= datastore.lengths.clamp(min=torch.finfo(scores.dtype).tiny)
        return scores.masked_fill_(datastore.labels < 0, -torch.inf)
    scores = queries.new_empty(len(queries), len(rows))
    for chosen, part in zip(rows.split(PART), scores.split(PART, dim=1), strict=True):
        keys = datastore.rows(chosen).to(queries.dtype)
        part.copy_(queries @ (functional.normalize(keys, dim=1) if cosine else keys).T)
    return scores.masked_fill_(datastore.labels[rows] < 0, -torch.inf)
