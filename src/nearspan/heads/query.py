"""A query: a batch as a head is asked about it. What is costly is computed once, and only when it is needed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import Tensor

from nearspan.encoders import Batch, Encoded, Encoder
from nearspan.knn import Datastore, Pool
from nearspan.spans import AllSpans, Candidates, EndSums, Representation


class Query:
    """The candidates of a batch, their vectors, and the datastore to compare them with, if there is one."""

    def __init__(
        self,
        batch: Batch,
        encoder: Encoder,
        suggester: AllSpans,
        representation: Representation,
        compress: Callable[[Tensor], Tensor] | None = None,
        datastore: Datastore | None = None,
        neighbour_sentences: Tensor | None = None,
    ) -> None:
        self.batch = batch
        self.suggester = suggester
        self.datastore = datastore
        self.neighbour_sentences = neighbour_sentences  # [B, K] of the datastore, instead of those that are searched
        self._parts = (encoder, representation, compress)
        self._computed: dict[str, Any] = {}

    @property
    def candidates(self) -> Candidates:
        """The S spans that are considered."""
        candidates: Candidates = self._once("candidates", lambda: self.suggester.candidates(self.batch))
        return candidates

    @property
    def encoded(self) -> Encoded:
        """What the encoder made of the batch."""
        encoded: Encoded = self._once("encoded", lambda: self._parts[0](self.batch))
        return encoded

    @property
    def representations(self) -> Tensor:
        """What the representation makes of the candidates [S, H'], before any bottleneck."""
        vectors: Tensor = self._once("representations", lambda: self._parts[1](self.encoded, self.candidates))
        return vectors

    @property
    def vectors(self) -> Tensor:
        """The span vectors [S, H] that the head reads, in full precision."""
        vectors: Tensor = self._once("vectors", lambda: self._compressed().float())
        return vectors

    @property
    def word_states(self) -> Tensor:
        """The words' states [B, T, H] in full precision."""
        return self.encoded.states.float()

    @property
    def sentence_vectors(self) -> Tensor:
        """The vectors [B, E] by which similar sentences are found."""
        vectors: Tensor = self._once("sentences", lambda: self._parts[0].sentence_vectors(self.encoded))
        return vectors

    @property
    def end_sums(self) -> EndSums | None:
        """The span vectors as sums of two ends, where they are additive as the head reads them."""
        _, representation, compress = self._parts
        if not is_additive(representation, compress is not None, self.suggester):
            return None
        sums: EndSums = self._once("ends", lambda: representation.end_sums(self.encoded.states))
        return sums

    def with_datastore(self, datastore: Datastore, neighbour_sentences: Tensor | None = None) -> Query:
        """The same query of another datastore; what is computed of the batch serves both."""
        query = Query(self.batch, self._parts[0], self.suggester, *self._parts[1:], datastore, neighbour_sentences)
        query._computed = self._computed
        return query

    def with_vectors(self, vectors: Tensor) -> Query:
        """The same query with other span vectors [S, H], such as draws from a bottleneck."""
        parts = (self._parts[0], self.suggester, *self._parts[1:])
        query = Query(self.batch, *parts, self.datastore, self.neighbour_sentences)
        query._computed = self._computed | {"vectors": vectors.float()}
        return query

    def as_pool(self, labels: Tensor) -> Pool:
        """The candidates as labelled spans to compare with; labels [S]."""
        return Pool(self._compressed(), labels)

    def _compressed(self) -> Tensor:
        compress = self._parts[2]
        return self.representations if compress is None else compress(self.representations)

    def _once(self, name: str, compute: Callable[[], Any]) -> Any:
        if name not in self._computed:
            self._computed[name] = compute()
        return self._computed[name]


def is_additive(representation: Representation, compressed: bool, suggester: AllSpans) -> bool:
    """Whether span vectors are sums over words, and all spans of a sentence are candidates."""
    return representation.is_additive and not compressed and suggester.has_null
