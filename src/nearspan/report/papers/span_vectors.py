"""What a model makes of some spans: their vectors and probabilities, each sentence read once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from nearspan.encoders import Batch
from nearspan.heads.query import Query
from nearspan.model import Model
from nearspan.segment import Sentence
from nearspan.spans import Candidates, WordEntity


@dataclass(frozen=True, slots=True)
class WordSpan:
    """A span that a model considers: words (or pieces) `first` to `stop` of a sentence, or of a window of one."""

    sentence: Sentence
    first: int
    stop: int


@dataclass(frozen=True)
class SpanBatch:
    """A batch of sentences, and which of the spans in question are in it."""

    batch: Batch
    numbers: Tensor  # [N] the spans, by their place in the sequence that was given
    places: Tensor  # [N, 3] sentence in the batch, first and stop, on the CPU

    def rows(self, candidates: Candidates) -> Tensor:
        """Where the spans are among the batch's candidates [N]."""
        longest = int(self.batch.lengths.max()) + 1
        # candidates are sorted by sentence, first and stop, and so are these keys
        keys = (candidates.sentence * longest + candidates.first) * longest + candidates.stop
        sentence, first, stop = self.places.unbind(1)
        return torch.searchsorted(keys, ((sentence * longest + first) * longest + stop).to(keys.device))


def span_batches(model: Model, spans: Sequence[WordSpan]) -> Iterator[SpanBatch]:
    """The sentences of some spans, each once; a model that classifies given spans is given these."""
    if not spans:
        return
    model.network.eval()
    sentences = {_sentence_key(span.sentence): span.sentence for span in spans}
    number = {key: i for i, key in enumerate(sentences)}
    places = torch.tensor([(number[_sentence_key(span.sentence)], span.first, span.stop) for span in spans])  # [N, 3]
    entities: list[list[WordEntity]] = [[] for _ in sentences]
    for sentence, first, stop in places.tolist():
        entities[sentence].append((first, stop, ""))
    corpus = model.encode(list(sentences.values()), entities)
    for ids in corpus.reading_batches(model.device):
        position = torch.full((len(sentences),), -1)
        position[ids] = torch.arange(len(ids))
        inside = (position[places[:, 0]] >= 0).nonzero().flatten()
        moved = torch.stack([position[places[inside, 0]], places[inside, 1], places[inside, 2]], dim=1)
        yield SpanBatch(corpus.batch(ids), inside.to(model.device), moved)


def _sentence_key(sentence: Sentence) -> tuple[int, int, int]:
    """What tells sentences and windows apart, without a look at all the words of their documents."""
    return id(sentence.document), sentence.start, sentence.end


def span_vectors(model: Model, spans: Sequence[WordSpan]) -> Tensor:
    """The vectors [N, H] of some spans, as the head reads them."""
    return _gather_rows(model, spans, model.network.span_size, lambda query: query.vectors)


def input_vectors(model: Model, spans: Sequence[WordSpan]) -> Tensor:
    """The representation's vectors [N, H'] of some spans: what a bottleneck and generators are given."""
    return _gather_rows(model, spans, model.network.representation.size, lambda query: query.representations)


def label_probabilities(model: Model, spans: Sequence[WordSpan]) -> Tensor:
    """P(y|s) [N, 1 + Y] of some spans, null first."""
    return _gather_rows(model, spans, len(model.labels), model.network.predict_proba, with_datastore=True)


@torch.inference_mode()
def _gather_rows(
    model: Model,
    spans: Sequence[WordSpan],
    size: int,
    read: Callable[[Query], Tensor],
    *,
    with_datastore: bool = False,
) -> Tensor:
    """Rows [N, size] of what is read of all candidates [S, size]."""
    rows = torch.empty(len(spans), size, device=model.device)
    for batch in span_batches(model, spans):
        query = model.network.query(batch.batch, model.datastore if with_datastore else None)
        rows[batch.numbers] = read(query)[batch.rows(query.candidates)].float()
    return rows
