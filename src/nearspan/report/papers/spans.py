"""The spans that the papers' measures are over, a corpus's gold entities and spans that are none; and what a model
makes of them, vectors and probabilities, each sentence read once."""

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from nearspan.document import Document, Entity, Span
from nearspan.encoders import Batch
from nearspan.heads import Query
from nearspan.model import Model
from nearspan.segment import LabelledSpan, Sentence, align, contiguous
from nearspan.segment.windows import Window, split_windows
from nearspan.spans import enumerate_spans

EntityKey = tuple[int, Entity]  # the document's position in the corpus, and the entity in it


@dataclass(frozen=True, slots=True)
class WordSpan:
    """A span that a model considers: words (or pieces) `first` to `stop` of a sentence, or of a window of one."""

    sentence: Sentence
    first: int
    stop: int


@dataclass(frozen=True, slots=True)
class GoldSpan(WordSpan):
    """A gold entity that a model considers."""

    document: int
    entity: Entity

    @property
    def key(self) -> EntityKey:
        """The same for every model."""
        return self.document, self.entity

    @property
    def span(self) -> Span:
        """Its characters in the text of its sentence."""
        return self.entity.span.shift(-self.sentence.start)

    @property
    def text(self) -> str:
        """Its characters."""
        return self.span.text(self.sentence.text)


@dataclass(frozen=True)
class SpanBatch:
    """A batch of sentences, and which of the spans in question are in it."""

    batch: Batch
    numbers: Tensor  # [N] the spans, by their place in the sequence that was given
    places: Tensor  # [N, 3] sentence in the batch, first and stop, on the CPU


def gold_spans(model: Model, documents: Sequence[Document]) -> dict[EntityKey, GoldSpan]:
    """The gold entities whose spans are among a model's candidates, in order; of two labels on a span the first."""
    spans: dict[EntityKey, GoldSpan] = {}
    widest = model.network.max_width
    for number, document in enumerate(documents):
        sentences = model.split(document)
        aligned = align(sentences, document.entities)
        for sentence, golds, sources in zip(sentences, aligned.golds, aligned.sources, strict=True):
            windows = split_windows(sentence, widest) if golds else []
            seen = set()
            for gold, entity in zip(golds, sources, strict=True):
                if gold.discontinuous or gold.width > widest or gold.fragments in seen:
                    continue
                seen.add(gold.fragments)
                place = _in_window(windows, gold.first, gold.stop)
                if place.stop <= len(place.sentence):
                    spans[number, entity] = GoldSpan(place.sentence, place.first, place.stop, number, entity)
    return spans


def negative_spans(
    model: Model, documents: Sequence[Document], widest: int, most: int, seed: int = 0
) -> list[WordSpan]:
    """At most `most` spans of up to `widest` words, or pieces, that are no gold entity, drawn evenly from all of them.

    Models with the same words and `widest` get the same spans.
    """
    sentences: list[Sentence] = []
    entities: list[set[tuple[int, int]]] = []  # the gold spans of each sentence
    for document in documents:
        parts = model.split(document)
        sentences += parts
        aligned = align(parts, document.entities).golds
        entities += [{gold.fragments[0] for gold in contiguous(golds)} for golds in aligned]
    candidates = enumerate_spans(torch.tensor([len(sentence) for sentence in sentences], dtype=torch.long), widest)
    total = len(candidates.sentence)
    enough = min(total, most + sum(map(len, entities)))  # `most` are left without the gold ones
    drawn = random.Random(seed).sample(range(total), enough)
    places = torch.stack([candidates.sentence, candidates.first, candidates.stop], dim=1)[drawn].tolist()
    negatives = [place for place in places if tuple(place[1:]) not in entities[place[0]]]
    return [
        _in_window(split_windows(sentences[position], model.network.max_width), first, stop)
        for position, first, stop in negatives[:most]
    ]


def span_batches(model: Model, spans: Sequence[WordSpan]) -> Iterator[SpanBatch]:
    """The sentences of some spans, each once; a model that classifies given spans is given these."""
    if not spans:
        return
    model.network.eval()
    sentences = {_sentence_key(span.sentence): span.sentence for span in spans}
    number = {key: i for i, key in enumerate(sentences)}
    places = torch.tensor([(number[_sentence_key(span.sentence)], span.first, span.stop) for span in spans])  # [N, 3]
    entities: list[list[LabelledSpan[str]]] = [[] for _ in sentences]
    for sentence, first, stop in places.tolist():
        entities[sentence].append(LabelledSpan.of(first, stop, ""))
    corpus = model.encode(list(sentences.values()), entities)
    for batch in corpus.reading_batches():
        position = torch.full((len(sentences),), -1)
        position[batch.ids] = torch.arange(len(batch.ids))
        inside = (position[places[:, 0]] >= 0).nonzero().flatten()
        moved = torch.stack([position[places[inside, 0]], places[inside, 1], places[inside, 2]], dim=1)
        yield SpanBatch(batch, inside.to(model.device), moved)


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
    model: Model, spans: Sequence[WordSpan], size: int, read: Callable[[Query], Tensor], *, with_datastore: bool = False
) -> Tensor:
    """Rows [N, size] of what is read of all candidates [S, size]."""
    rows = torch.empty(len(spans), size, device=model.device)
    for batch in span_batches(model, spans):
        query = Query(model.network, batch.batch, model.datastore if with_datastore else None)
        rows[batch.numbers] = read(query)[query.candidates.find(batch.places)[0]].float()
    return rows


def _sentence_key(sentence: Sentence) -> tuple[int, int, int]:
    """What tells sentences and windows apart, without a look at all the words of their documents."""
    return id(sentence.document), sentence.start, sentence.end


def _in_window(windows: Sequence[Window], first: int, stop: int) -> WordSpan:
    window = next(window for window in windows if window.owns(first - window.start))
    return WordSpan(window.sentence, first - window.start, stop - window.start)
