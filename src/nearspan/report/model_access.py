"""What the report asks of a model's network. No other file of the report looks inside a model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from nearspan.document import Document, Entity, Span
from nearspan.encoders import Batch
from nearspan.errors import ModelError, NearspanError
from nearspan.explain import Evidence
from nearspan.heads import Query
from nearspan.knn import Datastore
from nearspan.knn.leave_one_out import LeaveOneOut
from nearspan.knn.storage import NO_MEMORY
from nearspan.model import Model
from nearspan.segment import Sentence, WordEntity
from nearspan.spans import Candidates, Reachability, SpanLabels, align_to_candidates

NEIGHBOURS = 32  # other spans that have a say beside a head that does not sum over the datastore


def datastore(model: Model) -> Datastore:
    """The training spans that evidence comes from, or an error where a model has none."""
    if not has_datastore(model):
        raise ModelError(f"this model has no memory to take evidence from: {NO_MEMORY}")
    return model.datastore  # type: ignore[return-value]


def has_datastore(model: Model) -> bool:
    """Whether a model has training spans."""
    return model.datastore is not None and len(model.datastore) > 0


def decides_by_neighbours(model: Model) -> bool:
    """Whether the probability of a label is a sum over training spans, so that evidence is exact."""
    return model.network.head.sums_inner_products


def max_width(model: Model) -> int:
    """The most words, or pieces, of a candidate."""
    return model.network.max_width


def vector_vocabulary(model: Model) -> tuple[set[str], set[str]] | None:
    """Words of the training data and words with a pretrained vector; None for a model without such vectors."""
    vectors = model.network.encoder.vectors
    if vectors is None or not vectors.pretrained_words:
        return None
    return set(vectors.vocabulary["seen"]), set(vectors.pretrained_words)


def evidence_of(model: Model, document: Document, span: Span, count: int) -> Evidence | None:
    """The training spans behind a span of a document; None where the span is no candidate of the model."""
    try:
        return model.explain_span(document, span, count)
    except NearspanError:  # a gold span that is too wide, or discontinuous for a model that links no fragments
        return None


def reachability(model: Model, sentences: Sequence[Sentence], entities: Sequence[Entity]) -> Reachability:
    """Which entities of a document a model can find."""
    return align_to_candidates(sentences, entities, model.network.rules)


def linked_labels(model: Model) -> set[str]:
    """The labels whose discontinuous entities a model can find."""
    linker = model.network.fragment_linker
    return {model.labels[number] for number in linker.labels} if linker is not None else set()


def multilabel(model: Model) -> bool:
    """Whether a span may have several labels."""
    return model.network.head.multilabel


def choose_labels(model: Model, probabilities: Tensor) -> tuple[Tensor, Tensor]:
    """Rows and labels of the spans that are entities, given P(y|s) [S, 1 + Y]."""
    return model.network.head.choose(probabilities)


# The leave-one-out predictions of an audit


@dataclass(frozen=True)
class AuditBatch:
    """A batch of sentences as the audit sees it: the predictions that a sentence itself has no part in."""

    ids: Tensor  # [B] the sentences
    candidates: Candidates
    vectors: Tensor  # [S, H]
    annotated: Tensor  # [S, 1 + Y] ones for the labels in the corpus, null first
    probabilities: Tensor  # [S, 1 + Y] by the nearest other sentences, or by a head with weights


@torch.inference_mode()
def audit_batches(
    model: Model,
    sentences: Sequence[Sentence],
    entities: Sequence[Sequence[WordEntity]],
    store: LeaveOneOut,
    groups: Tensor,
) -> Iterator[AuditBatch]:
    """Read sentences with their annotations; `groups` [M] are their duplicate groups in `store`."""
    network = model.network.eval()
    corpus = model.encode(sentences)
    number = {label: i for i, label in enumerate(model.labels)}
    known = [[(a, b, number[label]) for a, b, label in golds if label in number] for golds in entities]
    labels = SpanLabels.of_all_spans(corpus.lengths, known, network.max_width).to(model.device)
    for batch in corpus.reading_batches():
        ids, query = batch.ids, Query(network, batch)
        left_out = groups[ids.to(model.device)]  # [B]
        if network.head.sums_inner_products:
            vectors = network.encoder.sentence_vectors(query.encoded)
            near = store.nearest_sentences(vectors, left_out, network.head.training_neighbours)
            query = query.with_datastore(store.datastore, near)
            probabilities = network.head.predict_proba(query)
        elif network.head.uses_datastore:  # the head itself cannot leave a sentence out
            probabilities = store.knn_probabilities(query.vectors, left_out[query.candidates.sentence], NEIGHBOURS)
        else:
            probabilities = network.head.predict_proba(query)
        annotated = labels.one_hot_targets(ids, query.candidates, network.labels)
        yield AuditBatch(ids, query.candidates, query.vectors, annotated, probabilities)


# The vectors and probabilities of some spans, for the papers' tables and figures


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
    for batch in corpus.reading_batches():
        position = torch.full((len(sentences),), -1)
        position[batch.ids] = torch.arange(len(batch.ids))
        inside = (position[places[:, 0]] >= 0).nonzero().flatten()
        moved = torch.stack([position[places[inside, 0]], places[inside, 1], places[inside, 2]], dim=1)
        yield SpanBatch(batch, inside.to(model.device), moved)


def _sentence_key(sentence: Sentence) -> tuple[int, int, int]:
    """What tells sentences and windows apart, without a look at all the words of their documents."""
    return id(sentence.document), sentence.start, sentence.end


def candidate_vectors(model: Model, batch: SpanBatch) -> tuple[Tensor, Candidates]:
    """The vectors [S, H] of all candidates of a batch, as the head reads them."""
    query = Query(model.network, batch.batch)
    return query.vectors, query.candidates


@torch.inference_mode()
def span_vectors(model: Model, spans: Sequence[WordSpan]) -> Tensor:
    """The vectors [N, H] of some spans, as the head reads them; each sentence is read once."""
    vectors = torch.empty(len(spans), model.network.span_size, device=model.device)
    for batch in span_batches(model, spans):
        of_candidates, candidates = candidate_vectors(model, batch)
        vectors[batch.numbers] = of_candidates[batch.rows(candidates)].float()
    return vectors


@torch.inference_mode()
def input_vectors(model: Model, spans: Sequence[WordSpan]) -> Tensor:
    """The representation's vectors [N, H'] of some spans: what a bottleneck and generators are given."""
    vectors = torch.empty(len(spans), model.network.representation.size, device=model.device)
    for batch in span_batches(model, spans):
        query = Query(model.network, batch.batch)
        vectors[batch.numbers] = query.representations[batch.rows(query.candidates)].float()
    return vectors


@torch.inference_mode()
def label_probabilities(model: Model, spans: Sequence[WordSpan]) -> Tensor:
    """P(y|s) [N, 1 + Y] of some spans, null first; each sentence is read once."""
    rows = torch.empty(len(spans), len(model.labels), device=model.device)
    for batch in span_batches(model, spans):
        query = Query(model.network, batch.batch, model.datastore)
        rows[batch.numbers] = model.network.predict_proba(query)[batch.rows(query.candidates)].float()
    return rows


def generators_of(model: Model) -> Any:
    """The generators that a model was trained with, or None."""
    return model.network.generators


def has_bottleneck(model: Model) -> bool:
    """Whether span vectors are compressed before the head reads them."""
    return model.network.bottleneck is not None


def head_weight(model: Model) -> Tensor | None:
    """The head's weight matrix, if it has one."""
    weight = getattr(model.network.head, "weight", None)
    return weight if isinstance(weight, Tensor) and weight.ndim == 2 else None
