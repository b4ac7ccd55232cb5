"""What a head is: it owns its loss, its probabilities, how they become entities, and its evidence.

A `Query` is a batch as a head is asked about it. The network composes parts and asks these methods; it never asks which
kind a head is. A head from another package is a subclass of `Head` with `Settings`, registered by
`nearspan.register("head", MyHead)`.

Shapes: B sentences, T words, S candidate spans, H width of a span vector, Y labels; label 0 is null.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Protocol, Self

import torch
from torch import Tensor, nn

from nearspan.encoders import Batch, Encoded, Encoder
from nearspan.knn import Datastore, Pool
from nearspan.linear import linear
from nearspan.segment import LabelledSpan
from nearspan.settings import Settings
from nearspan.spans import AllSpans, Bottleneck, Candidates, Representation, SpanMeans, SpanMetric


class SpanEncoder(Protocol):
    """What makes span vectors of a batch: a network, as its head sees it."""

    encoder: Encoder
    suggester: AllSpans
    representation: Representation
    bottleneck: Bottleneck | None
    is_additive: bool  # whether span vectors, as the head reads them, are sums over the words of a span
    metric: SpanMetric | None  # after which spans are compared with the memory, where it has one


@dataclass(eq=False)
class Query:
    """The candidates of a batch, their vectors, and the datastore to compare them with, if there is one.

    What is costly is computed once, and only when it is needed.
    """

    network: SpanEncoder
    batch: Batch
    datastore: Datastore | None = None
    neighbour_sentences: Tensor | None = None  # [B, K] of the datastore, instead of those that are searched
    compared_by: SpanMetric | None = None  # the metric after which `vectors` were made

    @cached_property
    def candidates(self) -> Candidates:
        """The S spans that are considered."""
        batch, given = self.batch, self.batch.corpus.given_spans
        spans = None if given is None else given.select(batch.ids)
        return self.network.suggester.candidates(batch.lengths, spans, batch.rows.device)

    @cached_property
    def encoded(self) -> Encoded:
        """What the encoder made of the batch."""
        encoded: Encoded = self.network.encoder(self.batch)
        return encoded

    @cached_property
    def representations(self) -> Tensor:
        """What the representation makes of the candidates [S, H'], before any bottleneck."""
        representation = self.network.representation
        vectors: Tensor = representation(self.encoded, self.candidates)
        expected = [len(self.candidates.first), representation.size]
        if list(vectors.shape) != expected:
            raise ValueError(
                f"{type(representation).__name__} gave span vectors {list(vectors.shape)}, "
                f"expected {expected}: candidates, and its `size`"
            )
        return vectors

    @property
    def metric(self) -> SpanMetric | None:
        """After which the candidates are compared: that of the datastore or, where there is none, the network's."""
        return self.network.metric if self.datastore is None else self.datastore.metric

    @cached_property
    def vectors(self) -> Tensor:
        """The span vectors [S, H] that the head reads, in full precision; after the metric where there is one."""
        self.compared_by = metric = self.metric
        if metric is None:
            return self.span_vectors
        return metric.project(self.encoded, self.candidates, self.span_vectors)

    @cached_property
    def span_vectors(self) -> Tensor:
        """The span vectors [S, H] that the network makes, in full precision, before any metric."""
        bottleneck = self.network.bottleneck
        return self.representations.float() if bottleneck is None else bottleneck.compress(self._uncompressed)

    def linear(self, weight: Tensor, bias: Tensor | None = None) -> Tensor:
        """weight h + bias [S, Y] of the span vectors h; those of a bottleneck are not made for that alone."""
        bottleneck = self.network.bottleneck
        if bottleneck is None or "vectors" in self.__dict__ or torch.is_grad_enabled():
            return linear(self.vectors, weight, bias)
        return bottleneck.linear(self._uncompressed, weight, bias)

    @property
    def _uncompressed(self) -> Tensor | SpanMeans:
        """What a bottleneck compresses: the candidates' vectors or, where that is quicker, their words."""
        on_cpu = self.batch.rows.device.type == "cpu"
        if torch.is_grad_enabled() or not on_cpu or "representations" in self.__dict__:
            return self.representations
        means = self.network.representation.span_means(self.encoded, self.candidates)
        return self.representations if means is None else means

    @property
    def word_states(self) -> Tensor:
        """The words' states [B, T, H] in full precision."""
        return self.encoded.states.float()

    def with_datastore(self, datastore: Datastore, neighbour_sentences: Tensor | None = None) -> Query:
        """The same query of another datastore; what is computed of the batch serves both."""
        _ = self.vectors
        query = copy(self)
        query.datastore, query.neighbour_sentences = datastore, neighbour_sentences
        if query.metric is not query.compared_by:
            del query.__dict__["vectors"]
        return query

    def with_vectors(self, vectors: Tensor) -> Query:
        """The same query with other span vectors [S, H], such as draws from a bottleneck."""
        query = copy(self)
        query.vectors = vectors.float()
        return query

    def as_pool(self, labels: Tensor) -> Pool:
        """The candidates as labelled spans to compare with; labels [S]."""
        bottleneck, vectors = self.network.bottleneck, self.representations
        return Pool(vectors if bottleneck is None else bottleneck.compress(vectors), labels)


@dataclass(frozen=True)
class HeadInputs:
    """What a head is built for."""

    labels: int  # Y, without null
    span_size: int  # H, of the span vectors
    word_size: int  # of the word states
    end_size: int = 0  # of each of the two ends that a span vector begins with, where it does
    has_null: bool = True  # whether a candidate may be no entity
    is_compressed: bool = False  # whether a bottleneck made the span vectors


@dataclass(frozen=True)
class Targets:
    """What a head has to learn of a batch."""

    spans: Tensor | None = None  # [S, 1 + Y] how probable each label of each candidate should be
    words: Tensor | None = None  # [B, T] what `word_targets` made of the words


@dataclass(frozen=True)
class Contributions:
    """The datastore spans that a probability is the sum of: those of one label add up to P(y|s)."""

    rows: Tensor  # [N] of the datastore
    weights: Tensor  # [N]


class Head(nn.Module):
    """Turns span vectors, or word states, into label probabilities and entities.

    One over span vectors needs `Settings`, a constructor of `(settings, inputs)`, `loss` and `predict_proba`; all else
    has a default that is right for it. Weights are saved and loaded with the model's. `ScoreHead` (heads/softmax.py)
    has the last two for scores.
    """

    Settings: ClassVar[type[Settings]]
    reads_words: ClassVar[bool] = False  # word states instead of span vectors: flat entities of any width
    fits_metric: bool = False  # whether a memory with new labels alone is compared after a metric fitted on it
    capturable: ClassVar[bool] = False  # whether its loss never waits for the device: steps may be CUDA graphs
    multilabel: ClassVar[bool] = False  # whether a span may have several labels
    uses_datastore: ClassVar[bool] = False  # whether it compares with the training spans of a datastore
    sums_inner_products: ClassVar[bool] = False  # whether P(y|s) is a sum of exp(s . s_j) over datastore spans
    open_labels: ClassVar[bool] = False  # whether it has no weight for a label: any label of the datastore is its own
    search_modes: ClassVar[tuple[str, ...]] = ()  # ways to search its datastore, for `search`

    settings: Any  # for a head's own use
    has_null: bool = True  # that of `HeadInputs`: False where spans are given, and null is no answer
    search: str = ""  # one of `search_modes`
    rows_before_labels: int = 0  # of its weights, that are no label's
    rows_of_label: ClassVar[int] = 1  # of its weights
    training_neighbours: int = 0  # training sentences whose labelled spans each step of training compares with
    trains_neighbours: bool = False  # whether the gradient flows into the vectors of these spans too

    @classmethod
    def build(cls, settings: Any, inputs: HeadInputs) -> Self:
        """The head of some settings; a ConfigError where it cannot read what it is given."""
        return cls(settings, inputs)

    def loss(self, query: Query, targets: Targets, pool: Pool | None = None) -> Tensor:
        """The loss of a batch, summed over its spans or words; `pool` holds the spans of `training_neighbours`."""
        raise NotImplementedError(f"{type(self).__name__} has no `loss`")

    def predict_proba(self, query: Query, *, entities_only: bool = False) -> Tensor:
        """P(y|s) [S, 1 + Y] of the candidates, null in the first column; 0 there where the head has no null.

        Y are the labels that it was built for or, with `open_labels`, those of the query's datastore. Where only
        entities matter, a span whose likeliest label is null may simply have a 1 there: that is quicker.
        """
        raise NotImplementedError(f"{type(self).__name__} has no `predict_proba`")

    def choose(self, probabilities: Tensor) -> tuple[Tensor, Tensor]:
        """Rows and labels of the spans that are entities, given P(y|s) [S, 1 + Y]: the likeliest label, unless null."""
        if not self.has_null:
            rows = torch.arange(len(probabilities), device=probabilities.device)
            return rows, probabilities[:, 1:].argmax(1) + 1
        labels = probabilities.argmax(1)
        rows = labels.nonzero().flatten()
        return rows, labels[rows]

    def predict(self, query: Query, probabilities: Tensor | None = None) -> list[list[LabelledSpan[int]]]:
        """The entities of each sentence of a batch: by this head alone, or given P(y|s) [S, 1 + Y]."""
        if probabilities is None:
            probabilities = self.predict_proba(query, entities_only=self.has_null)
        candidates, (rows, labels) = query.candidates, self.choose(probabilities)
        places = torch.stack([candidates.sentence[rows], candidates.first[rows], candidates.stop[rows], labels], 1)
        return spans_by_sentence(places, probabilities[rows, labels], len(query.batch.ids))

    def predict_beyond_candidates(self, query: Query) -> list[list[LabelledSpan[int]]]:
        """Entities that no candidate can equal, as only a head that reads words has them."""
        return [[] for _ in query.batch.ids]

    def predict_proba_of(self, query: Query, sentence: Tensor, first: Tensor, stop: Tensor) -> Tensor:
        """P(y|s) [N, 1 + Y] of any spans of a batch, for a head that reads words."""
        raise NotImplementedError(f"{type(self).__name__} gives probabilities to candidates alone")

    def contributions(self, query: Query, row: int) -> Contributions | None:
        """What the probabilities of the candidate at a row are the sum of, in double precision; None: of nothing."""
        del query, row
        return None

    def log_label_sums(self, query: Query, rows: Tensor) -> Tensor:
        """log of what the datastore's spans of each label weigh together [n, 1 + Y], for candidates at rows that rise.

        For a head whose probabilities are such sums.
        """
        raise NotImplementedError(f"{type(self).__name__} sums up no spans")

    def word_targets(self, lengths: Sequence[int], entities: Sequence[Sequence[LabelledSpan[int]]]) -> Tensor | None:
        """What a head that reads words has to learn of each word of a corpus [R]."""
        del lengths, entities
        return None

    @property
    def tunes_times(self) -> bool:
        """Whether training fits on development data, at its end, how often the spans of entities count beside null."""
        return False

    @property
    def tunable_thresholds(self) -> Tensor | None:
        """The thresholds [Y] that training fits on development data at its end, if there are any."""
        return None


def spans_by_sentence(places: Tensor, scores: Tensor, sentences: int) -> list[list[LabelledSpan[int]]]:
    """Scored spans of each of some sentences, from sentence, first word, stop and label [N, 4] and scores [N]."""
    spans: list[list[LabelledSpan[int]]] = [[] for _ in range(sentences)]
    for (sentence, first, stop, label), score in zip(places.tolist(), scores.tolist(), strict=True):
        spans[sentence].append(LabelledSpan(((first, stop),), label, score))
    return spans
