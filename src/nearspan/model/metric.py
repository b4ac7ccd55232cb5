"""A metric for a memory of labels that training did not know, fitted on it in closed form.

What training made of spans tells its own labels apart, and has thrown away what would tell others. The words'
pretrained features have not. So a linear map of both (spans/metric.py) is fitted to the memory's labels by weighted
least squares with a penalty: A = (X'DX + p I)^-1 X'D Y, for spans X with one-hot labels Y, null among them. There is no
gradient, and no weight of the network changes. A prediction is a sum over the memory's spans as before; what they are
compared by is another thing.

The memory's spans must not be compared by a map that has seen them: they would look surer than a new text's spans are.
So the spans G of each sentence are mapped by what is fitted without them, which is known in closed form too:

    A_G = A - P X_G' D_G (I - X_G P X_G' D_G)^-1 (Y_G - X_G A), where P = (X'DX + p I)^-1
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.nn import functional

from nearspan.encoders import EncodedCorpus
from nearspan.heads import Query
from nearspan.knn import Datastore, LeaveOneOut
from nearspan.model.vote import best_vote
from nearspan.spans.metric import SpanMetric, pool_words, word_features

if TYPE_CHECKING:
    from nearspan.model.model import Model

FEWEST, MOST = 5, 2000  # sentences of a memory that is worth it, and for which it is quick enough
ENTITIES, NULLS = 6000, 6000  # spans that the map is fitted on, at most
ENTITY_WEIGHT = 10.0  # of a span with a label beside a null one
PENALTY = 0.1  # p, in parts of what all spans weigh; there is none on the last column of X, a 1 for c
SHARPNESS = 20.0  # k; the fitted temperature makes it another


@torch.inference_mode()
def fit_metric(model: Model, datastore: Datastore, corpus: EncodedCorpus, score: float) -> Datastore:
    """The datastore of a corpus with a metric and a vote fitted on it, or as it is where it reads no better so.

    `score` is the F1 by which its sentences are read as it is, each by the others.
    """
    if not can_have_metric(model, datastore):
        return datastore
    queries = [Query(model.network, batch) for batch in corpus.reading_batches()]
    groups = LeaveOneOut.of(datastore).duplicate_group  # copies of a sentence go together
    fit = _Fit.of(datastore, groups[datastore.sentence], queries)
    metric = fit.metric()
    vectors = datastore.log_weights.new_empty(len(datastore), metric.size)
    for query in queries:
        candidates, ids = query.candidates, query.batch.ids.to(groups.device)
        starts = datastore.starts[ids][candidates.sentence]
        for place, group in enumerate(groups[ids].tolist()):
            rows = (candidates.sentence == place).nonzero().flatten()
            projected = fit.metric(without=group).project(query.encoded, candidates, query.span_vectors, rows)
            vectors[starts[rows] + candidates.number[rows]] = projected
    fitted = replace(datastore, vectors=vectors, metric=metric, vote=datastore.vote.of_known())
    vote, with_metric = best_vote(model, fitted)
    return replace(fitted, vote=vote) if with_metric > score else datastore


def can_have_metric(model: Model, datastore: Datastore) -> bool:
    """Whether a metric can be fitted: to labels that are all new, for a head that compares spans alone."""
    head, sentences = model.network.head, datastore.sentences
    if not head.fits_metric or model.network.fragment_linker is not None:
        return False
    used = {gold.label for sentence in sentences for gold in sentence.entities}
    if not used or used & set(model.trained_labels) or not model.network.suggester.has_null:
        return False
    return len({sentence.text for sentence in sentences}) >= FEWEST and len(sentences) <= MOST


@dataclass(frozen=True)
class _Fit:
    """A map fitted on some spans of a datastore."""

    inputs: Tensor  # X [n, Z + 1], standardised, the last column 1
    targets: Tensor  # Y [n, 1 + Y]
    weights: Tensor  # D [n]
    group: Tensor  # [n] of their sentences
    mean: Tensor  # [Z]
    deviation: Tensor  # [Z]
    factor: Tensor  # of X'DX + p I, by Cholesky
    solved: Tensor  # A [Z + 1, 1 + Y]
    labels: tuple[str, ...]  # by the columns of Y

    @classmethod
    def of(cls, datastore: Datastore, groups: Tensor, queries: Sequence[Query]) -> _Fit:
        """Fit on some spans of a datastore, whose sentences the queries are about; groups [N] of its spans."""
        chosen, shares = _draw(datastore.labels)
        place = torch.full_like(datastore.labels, -1)
        place[chosen] = torch.arange(len(chosen), device=place.device)
        inputs: Tensor | None = None
        for query in queries:
            candidates = query.candidates
            sentence = query.batch.ids.to(place.device)[candidates.sentence]
            places = place[datastore.starts[sentence] + candidates.number]
            rows = (places >= 0).nonzero().flatten()
            pooled = pool_words(word_features(query.encoded), candidates, rows)
            values = torch.cat([pooled, query.span_vectors[rows].float()], dim=1)
            inputs = values.new_empty(len(chosen), values.shape[1]) if inputs is None else inputs
            inputs[places[rows]] = values
        assert inputs is not None
        mean, deviation = inputs.mean(0), inputs.std(0) + 1e-3
        inputs = functional.pad(inputs.sub_(mean).div_(deviation), (0, 1), value=1.0)
        labels = datastore.labels[chosen]
        targets = functional.one_hot(labels, len(datastore.names)).float()
        weights = torch.where(labels > 0, ENTITY_WEIGHT, 1.0) / shares
        weighted = inputs * weights[:, None]
        ridge = weighted.T @ inputs
        # not c: features would carry the mean as well, and those of a sentence left out are on the mean's other side
        ridge.diagonal()[:-1].add_(PENALTY * weights.sum())
        factor = torch.linalg.cholesky(ridge)
        solved = torch.cholesky_solve(weighted.T @ targets, factor)
        return cls(inputs, targets, weights, groups[chosen], mean, deviation, factor, solved, datastore.names)

    def metric(self, without: int = -1) -> SpanMetric:
        """The map of spans as they are, not standardised; fitted `without` the sentences of a group."""
        rows, solved = (self.group == without).nonzero().flatten(), self.solved
        if len(rows):
            inputs, weights = self.inputs[rows], self.weights[rows]
            spread = torch.cholesky_solve(inputs.T, self.factor) * weights  # P X_G' D_G [Z + 1, g]
            leverage = torch.eye(len(rows), device=rows.device) - inputs @ spread
            solved = solved - spread @ torch.linalg.solve(leverage, self.targets[rows] - inputs @ solved)
        maps = solved[:-1] / self.deviation[:, None]
        return SpanMetric(maps, solved[-1] - self.mean @ maps, SHARPNESS, self.labels)


def _draw(labels: Tensor) -> tuple[Tensor, Tensor]:
    """Rows [n] of some spans, and the share of their kind, entities or null, that was drawn [n]."""
    generator = torch.Generator().manual_seed(0)
    chosen, shares = [], []
    for rows, most in (((labels > 0).nonzero().flatten(), ENTITIES), ((labels == 0).nonzero().flatten(), NULLS)):
        drawn = rows[torch.randperm(len(rows), generator=generator)[:most].to(rows.device)].sort().values
        chosen.append(drawn)
        shares.append(torch.full((len(drawn),), len(drawn) / max(1, len(rows)), device=labels.device))
    return torch.cat(chosen), torch.cat(shares)
