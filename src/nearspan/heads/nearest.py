"""The nearest-neighbour head: a span's label is what its neighbours in the training set say (Ouchi et al., 2020)."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import torch
from pydantic import Field
from torch import Tensor
from torch.nn import functional

from nearspan.errors import ModelError
from nearspan.heads.protocol import Contributions, Head, HeadInputs, Query, Targets
from nearspan.knn import (
    Datastore,
    Pool,
    WholeMemory,
    WordSumEngine,
    WordTable,
    log_label_sums,
    log_label_sums_over_all,
    nearest_sentences,
    probabilities_over_all,
    probabilities_over_sentences,
    sentence_rows,
    similarities,
)
from nearspan.linear import linear
from nearspan.registry import register
from nearspan.segment import LabelledSpan
from nearspan.settings import Settings


class NearestSettings(Settings):
    """Instance-based span classification, equations 1 and 2."""

    kind: Literal["instances"] = "instances"
    neighbours: int = Field(default=50, ge=1, le=1_000_000)  # K: sentences whose spans are compared with
    training_neighbours: int = Field(default=0, ge=0, le=1_000_000)  # as many in a step of training; 0: K
    batch_neighbours: bool = False  # compare with the batch's other sentences as well, which are encoded anyway
    null_share: float = Field(default=1.0, gt=0, le=1)  # of the spans without a label, drawn in each step of training
    search: Literal["nearest", "whole"] = "nearest"  # compare with the K nearest sentences, or with all of them
    budget_mb: int = Field(default=512, ge=1, le=10_000_000)  # the most memory that scores take at once
    tune_times: bool = False  # count the spans of entities as often, beside null, as is best on development data
    through_neighbours: bool = False  # let the gradient flow into the neighbours' vectors too
    fit_metric: bool = False  # compare by a map in closed form where a memory has new labels alone, and reads better so


class NearestHead(Head):
    """P(y|s) is the part of the neighbour probability that falls on spans labelled y. It has no weights.

    So its labels are those of the datastore, whichever it was trained with.
    """

    Settings: ClassVar[type[Settings]] = NearestSettings
    uses_datastore: ClassVar[bool] = True
    sums_inner_products: ClassVar[bool] = True
    open_labels: ClassVar[bool] = True
    search_modes: ClassVar[tuple[str, ...]] = ("nearest", "whole")

    def __init__(self, settings: NearestSettings, inputs: HeadInputs) -> None:
        super().__init__()
        self.settings, self.has_null = settings, inputs.has_null
        self.labels = inputs.labels + 1  # in training; null is a label like the others
        self.search = settings.search
        self.budget = settings.budget_mb * 2**20
        self.training_neighbours = settings.training_neighbours or settings.neighbours
        self.trains_neighbours = settings.through_neighbours
        self.fits_metric = settings.fit_metric

    @property
    def tunes_times(self) -> bool:
        """Whether `tune_times` is set and there is a null to count beside."""
        return self.settings.tune_times and self.has_null

    def loss(self, query: Query, targets: Targets, pool: Pool | None = None) -> Tensor:
        """-sum_y t_y log P(y|s), summed over spans; targets t [S, 1 + Y].

        A label that the pool lacks says nothing and adds nothing. With `batch_neighbours` each sentence is compared
        with the others of its batch as well, as they were encoded for their own loss.
        """
        if pool is None or targets.spans is None:
            raise ValueError("the nearest-neighbour head needs a pool of training spans to compare with")
        vectors, compared, labels, wanted = query.vectors, pool.vectors.float(), pool.labels, targets.spans
        own: OwnSentences | None = None
        if self.settings.batch_neighbours:
            sentence = query.candidates.sentence
            own = OwnSentences(sentence, torch.cat([sentence, torch.full_like(labels, -1)]))
            compared, labels = torch.cat([vectors.detach(), compared]), torch.cat([wanted.argmax(1), labels])
        if self.settings.null_share < 1:
            rows, weights = _draw_nulls(wanted[:, 0] == wanted.sum(1), self.settings.null_share)
            others, counts = _draw_nulls(labels == 0, self.settings.null_share)
            # w_j exp(h . h_j) = exp([h, 1] . [h_j, log w_j]): a null that was drawn stands for those that were not
            vectors = functional.pad(vectors[rows], (0, 1), value=1.0)
            compared = torch.cat([compared[others], counts.log()[:, None]], dim=1)
            labels, wanted = labels[others], wanted[rows] * weights[:, None]
            own = own.select(rows, others) if own is not None else None
        counts = torch.zeros(self.labels, device=wanted.device).index_add_(0, labels, wanted.new_ones(len(labels)))
        wanted = wanted * (counts > (own.label_counts(labels, self.labels) if own is not None else 0))
        losses: Tensor = _NeighbourLoss.apply(vectors, compared, labels, wanted, own)  # type: ignore[no-untyped-call]
        return losses.sum()

    def predict_proba(self, query: Query, *, entities_only: bool = False) -> Tensor:
        """Equation 2: P(y|s) [S, 1 + Y], over the nearest sentences or over all of the datastore.

        Where words were corrected elsewhere, the corrected spans are summed up with these.
        """
        datastore, sentences = self._neighbours(query)
        vote, names = datastore.vote, datastore.names
        table, candidates, labels = datastore.vectors, query.candidates, len(names)
        if query.network.is_additive and isinstance(table, WordTable) and not query.batch.rows.is_cuda:
            ends = query.network.representation.end_sums(query.encoded.states).scale(1 / vote.temperature)
            engine: WholeMemory | WordSumEngine
            if sentences is None:
                engine = WholeMemory(datastore, table, labels)
                probabilities = engine.probabilities(ends, candidates, entities_only=entities_only)
            else:
                engine = WordSumEngine(datastore, table, labels, self.budget)
                probabilities = engine.probabilities(ends, candidates, sentences, entities_only=entities_only)
        elif sentences is None:
            vectors = query.vectors / vote.temperature
            probabilities = probabilities_over_all(vectors, datastore, labels, self.budget)
        else:
            near = (datastore, sentences, query.vectors / vote.temperature, candidates)
            probabilities = probabilities_over_sentences(*near, labels, self.budget)
        if datastore.metric is not None:
            scores = datastore.metric.label_scores(query.vectors, names) / vote.temperature
            weighted = probabilities * (scores - scores.amax(1, keepdim=True)).exp()
            probabilities = weighted / weighted.sum(1, keepdim=True)
        probabilities = vote.reweigh(probabilities, names)
        carried = datastore.carried
        rows = torch.tensor(carried.matches(query.batch, candidates) if carried is not None else (), dtype=torch.long)
        if len(rows):
            corrected = self.log_label_sums(query, rows.to(probabilities.device)).softmax(1).to(probabilities.dtype)
            probabilities[rows] = torch.where(corrected.isnan(), probabilities[rows], corrected)  # NaN: of nothing
        return probabilities

    def predict(self, query: Query, probabilities: Tensor | None = None) -> list[list[LabelledSpan[int]]]:
        """The entities of each sentence; those that a correction of another sentence speaks for know what they would
        be without it."""
        if probabilities is None:
            probabilities = self.predict_proba(query, entities_only=self.has_null)
        spans, carried = super().predict(query, probabilities), self._neighbours(query)[0].carried
        if carried is None:
            return spans
        matches = torch.tensor(carried.matches(query.batch, query.candidates), dtype=torch.long)
        chosen, labels = (part.cpu() for part in self.choose(probabilities))
        aided = torch.isin(chosen, matches)
        rows, labels = chosen[aided], labels[aided]
        if not len(rows):
            return spans
        unaided = (
            self.log_label_sums(query, rows.to(probabilities.device), own_alone=True).softmax(1).nan_to_num(0.0).cpu()
        )
        columns = (query.candidates.sentence, query.candidates.first, query.candidates.stop)
        places = zip(*(column.cpu()[rows].tolist() for column in columns), strict=True)
        known = dict(zip(places, unaided[torch.arange(len(rows)), labels].tolist(), strict=True))
        return [
            [replace(span, unaided=known.get((number, span.first, span.stop))) for span in of_sentence]
            for number, of_sentence in enumerate(spans)
        ]

    def log_label_sums(self, query: Query, rows: Tensor, *, own_alone: bool = False) -> Tensor:
        """log of what the spans of each label weigh together [n, 1 + Y], for the candidates at some rows, which rise.

        Carried spans of the same words are among them, or `own_alone` those of the very same sentences.
        """
        datastore, sentences = self._neighbours(query)
        vote, carried = datastore.vote, datastore.carried
        vectors = query.vectors[rows] / vote.temperature
        if sentences is None:
            sums = log_label_sums_over_all(datastore, vectors)
        else:
            asking, counts = query.candidates.sentence[rows].unique_consecutive(return_counts=True)
            sums = torch.cat(log_label_sums(datastore, vectors.split(counts.tolist()), sentences[asking]))
        sums = sums + vote.label_weights(datastore.names).to(sums.device).log()
        if carried is None:
            return sums
        places = {row: place for place, row in enumerate(rows.tolist())}
        for row in carried.matches(query.batch, query.candidates):
            if row in places:
                place = places[row]
                more, scores = self._carried(query, row, vectors[place], own_alone)
                for number, score in zip(datastore.labels[more].tolist(), scores, strict=True):
                    sums[place, number] = torch.logaddexp(sums[place, number], score)
        return sums

    def contributions(self, query: Query, row: int) -> Contributions:
        """Equation 1: the probability of each datastore span that the span at a row is compared with."""
        datastore, sentences = self._neighbours(query)
        if sentences is None:
            rows = (datastore.labels >= 0).nonzero().flatten()
        else:
            rows, real = sentence_rows(datastore, sentences[query.candidates.sentence[row]][None])
            rows = rows[real & (datastore.labels[rows] >= 0)]
        vector = query.vectors[row].double() / datastore.vote.temperature
        votes = datastore.vote.label_weights(datastore.names).to(rows.device).log()
        if datastore.metric is not None:
            votes = votes + datastore.metric.label_scores(vector[None], datastore.names)[0]
        scores = (
            similarities(datastore, vector[None], rows)[0] + datastore.offsets(rows) + votes[datastore.labels[rows]]
        )
        if datastore.carried is None:
            return Contributions(rows, scores.softmax(0))
        more, more_scores = self._carried(query, row, vector)
        both = torch.cat([scores, more_scores])
        rows, places = torch.cat([rows, more]).unique(return_inverse=True)
        return Contributions(rows, both.new_zeros(len(rows)).index_add_(0, places, both.softmax(0)))

    def _carried(self, query: Query, row: int, vector: Tensor, own_alone: bool = False) -> tuple[Tensor, Tensor]:
        """The carried spans [n] that the candidate at a row with a vector is compared with, and log of their weights.

        Of the vector the temperature is taken out already.
        """
        datastore, _ = self._neighbours(query)
        assert datastore.carried is not None
        found = datastore.carried.compared_with(query.batch, query.candidates, row, own_alone=own_alone)
        rows, log_weights = (part.to(vector.device) for part in found)
        votes = datastore.vote.label_weights(datastore.names).to(rows.device).log()
        return rows, similarities(datastore, vector[None], rows)[0] + log_weights + votes[datastore.labels[rows]]

    def _neighbours(self, query: Query) -> tuple[Datastore, Tensor | None]:
        """The datastore, and its sentences [B, K] that each sentence of a batch is compared with; None: all of them."""
        if query.datastore is None:
            raise ModelError("this model predicts from its memory, and it has none: fill it with `model.memory.build`")
        if query.neighbour_sentences is None and self.search == "nearest":
            vectors = query.network.encoder.sentence_vectors(query.encoded)
            count = query.datastore.vote.neighbours or self.settings.neighbours
            query.neighbour_sentences = nearest_sentences(query.datastore, vectors, count)
        return query.datastore, query.neighbour_sentences


@dataclass(frozen=True)
class OwnSentences:
    """The sentences of a batch that its spans and those of a pool belong to: no span is compared with its own."""

    queries: Tensor  # [S]
    pool: Tensor  # [N], -1 for those of no sentence of the batch

    def select(self, queries: Tensor | slice, pool: Tensor) -> "OwnSentences":
        """Those of some rows of both."""
        return OwnSentences(self.queries[queries], self.pool[pool])

    def hidden(self, rows: slice) -> Tensor:
        """Which spans of the pool [S, N] some spans are not compared with."""
        return self.queries[rows, None] == self.pool

    def label_counts(self, labels: Tensor, count: int) -> Tensor:
        """How many spans of each label [S, count] the pool has of each span's own sentence; labels [N]."""
        inside = self.pool >= 0
        sentences = int(max(self.queries.max(), self.pool.max())) + 1
        sizes = torch.zeros(sentences, count, device=labels.device)
        sizes.index_put_((self.pool[inside], labels[inside]), sizes.new_ones(()), accumulate=True)
        return sizes[self.queries]


class _NeighbourLoss(torch.autograd.Function):
    """-sum_y t_y log P(y|s) [S] for span vectors [S, H], a pool [N, H] with labels [N], and targets t [S, 1 + Y].

    The S x N scores are the cost of the whole system, so they are made and used up some rows at a time: the
    gradient with respect to the span vectors, sum_y t_y sum_j (P(j|i) - P(j|i, y_j = y)) h_j, is found along with
    the loss, and no S x N matrix is kept. P(y|s) below float32's least positive number counts as that number; the
    gradient then only pushes the wrong neighbours away. The pool is sorted by label: what is the same for all spans of
    a label is then one number a row.
    """

    @staticmethod
    def forward(
        ctx: Any, vectors: Tensor, pool: Tensor, labels: Tensor, targets: Tensor, own: OwnSentences | None
    ) -> Tensor:
        order = labels.argsort(stable=True)
        counts = torch.bincount(labels, minlength=targets.shape[1]).tolist()
        pool = pool.index_select(0, order)
        own = own.select(slice(None), order) if own is not None else None
        columns = pool.T.contiguous()  # [H, N]
        losses, gradient = vectors.new_empty(len(vectors)), torch.empty_like(vectors)
        for rows in _row_blocks(vectors, pool):
            hidden = own.hidden(rows) if own is not None else None
            slope, losses[rows] = _score_gradient(vectors[rows], pool, counts, targets[rows], hidden)
            gradient[rows] = linear(slope, columns)
        ctx.own, ctx.counts = own, counts
        ctx.save_for_backward(gradient, vectors, pool, order, targets)
        return losses

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        gradient, vectors, pool, order, targets = ctx.saved_tensors
        upstream = gradients[0][:, None]
        pool_gradient = None
        if ctx.needs_input_grad[1]:
            by_label = torch.zeros_like(pool)
            for rows in _row_blocks(vectors, pool):
                hidden = ctx.own.hidden(rows) if ctx.own is not None else None
                slope, _ = _score_gradient(vectors[rows], pool, ctx.counts, targets[rows], hidden)
                by_label += slope.T @ (vectors[rows] * upstream[rows])
            pool_gradient = torch.empty_like(by_label).index_copy_(0, order, by_label)
        return gradient * upstream, pool_gradient, None, None, None


def _draw_nulls(null: Tensor, share: float) -> tuple[Tensor, Tensor]:
    """The rows of all spans with a label and of a share of the nulls [N], and how many spans each stands for [N]."""
    rows = (~null | (torch.rand(null.shape, device=null.device) < share)).nonzero().flatten()
    rows = rows if len(rows) else rows.new_zeros(1)  # never none
    return rows, torch.where(null[rows], 1 / share, 1.0)


def _row_blocks(vectors: Tensor, pool: Tensor) -> Iterator[slice]:
    """Rows of the scores to hold at once: what a CPU's caches like, or 256 MB on a GPU."""
    size = max(1, (2**26 if vectors.is_cuda else 2**19) // len(pool))
    return (slice(first, first + size) for first in range(0, len(vectors), size))


def _score_gradient(
    vectors: Tensor, pool: Tensor, counts: list[int], targets: Tensor, hidden: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """d loss / d score [S, N] and the loss [S], for a pool with so many spans of each label, label after label.

    `hidden` [S, N] are not compared with.
    """
    scores = linear(vectors, pool)
    if hidden is not None:
        scores.masked_fill_(hidden, -torch.inf)
    number = torch.finfo(scores.dtype)
    weights = scores.sub_(scores.amax(1, keepdim=True).clamp_(min=number.min)).exp_()
    by_label = weights.split(counts, dim=1)
    sums = torch.stack([part.sum(1) for part in by_label], dim=1)  # [S, 1 + Y]
    total, mass = sums.sum(1).clamp_(min=number.tiny), targets.sum(1)  # [S]; 0 where nothing is compared with
    sums.clamp_(min=number.tiny)
    slope = (mass / total)[:, None] - targets / sums  # [S, 1 + Y]: of a weight of each label
    losses = mass * total.log() - (targets * sums.log()).sum(1)
    for part, of_label in zip(by_label, slope.unbind(1), strict=True):
        part *= of_label[:, None]
    return weights, losses


register("head", NearestHead)
