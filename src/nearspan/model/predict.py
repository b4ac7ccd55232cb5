"""Prediction: documents to documents with entities, through a network and its datastore."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice

import torch
from torch import Tensor

from nearspan.document import Document, Entity
from nearspan.encoders import EncodedCorpus
from nearspan.errors import NearspanError
from nearspan.knn import Datastore
from nearspan.model.decode import Overlap, decode
from nearspan.model.network import Network
from nearspan.model.sentence_windows import SentenceWindows, encode_corpus
from nearspan.segment import Sentence, document_blocks
from nearspan.segment.windows import balanced_runs
from nearspan.spans import GivenEntities, ScoredSpan

BLOCK = 50_000  # words that are read at once, before results are given
DOCUMENTS = 1_000  # the same where spans are given


@dataclass(frozen=True)
class Predictor:
    """A network at work: how documents are split, what labels are called, and which entities may overlap."""

    network: Network
    labels: Sequence[str]  # the null label first
    split: Callable[[Document], list[Sentence]]
    datastore: Datastore | None
    overlap: Overlap
    linked_overlap: Overlap

    def annotate(self, documents: Iterable[Document | str]) -> Iterator[Document]:
        """The documents with their entities, in order; reads on only as results are taken."""
        if self.network.suggester.has_null:
            return self._recognise(documents)
        return self._classify(documents)

    def _recognise(self, documents: Iterable[Document | str]) -> Iterator[Document]:
        """Find entities."""
        bare = (replace(as_document(document), entities=()) for document in documents)
        for block in document_blocks(bare, self.split, BLOCK):
            sentences = [sentence for _, own in block for sentence in own]
            runs = balanced_runs(list(map(len, sentences)), BLOCK)  # several where a document is very long
            entities = chain.from_iterable(self.predict_sentences(sentences[first:stop]) for first, stop in runs)
            for document, own in block:
                yield document.with_entities(entity for _ in own for entity in next(entities))

    def _classify(self, documents: Iterable[Document | str]) -> Iterator[Document]:
        """Give the entities that documents have new labels; those out of reach go."""
        documents = iter(documents)
        while block := [_with_spans(document) for document in islice(documents, DOCUMENTS)]:
            given, corpus = self.encode_given(block)
            by_document: list[list[Entity]] = [[] for _ in block]
            for (position, _), entity in zip(given.entities, self.classify_given(given, corpus), strict=True):
                by_document[position].append(entity)
            for document, entities in zip(block, by_document, strict=True):
                yield document.with_entities(dict.fromkeys(entities))

    def predict_sentences(self, sentences: Sequence[Sentence]) -> list[list[Entity]]:
        """The entities of each sentence, in the characters of its document."""
        windows = SentenceWindows.of(self.network, sentences)
        return self.decode_windows(windows, self.predict_spans(windows.corpus))

    @torch.inference_mode()
    def predict_spans(self, corpus: EncodedCorpus) -> list[list[ScoredSpan]]:
        """For each sentence of a corpus the spans that may be entities, before decoding chooses among them."""
        spans: list[list[ScoredSpan]] = [[] for _ in range(len(corpus))]
        self.network.eval()
        for ids in corpus.reading_batches(self.network.device):
            by_sentence = self.network.predict(self.network.query(corpus.batch(ids), self.datastore))
            for number, own in zip(ids.tolist(), by_sentence, strict=True):
                spans[number] = own
        return spans

    def decode_windows(self, windows: SentenceWindows, by_window: Sequence[Sequence[ScoredSpan]]) -> list[list[Entity]]:
        """The entities of each sentence, given the spans of its windows that may be entities."""
        return [
            [
                Entity(sentence.span_of(span.fragments), self.labels[span.label], span.score)
                for span in decode(spans, self.overlap, self.linked_overlap)
            ]
            for sentence, spans in zip(windows.sentences, windows.merge(by_window), strict=True)
        ]

    def encode_given(self, documents: Sequence[Document]) -> tuple[GivenEntities, EncodedCorpus]:
        """The entities of documents as spans that are given, and the sentences that hold them."""
        given = GivenEntities.of(documents, self.split, self.network.max_width)
        return given, encode_corpus(self.network, given.sentences, given.labels_by_sentence)

    @torch.inference_mode()
    def classify_given(self, given: GivenEntities, corpus: EncodedCorpus) -> list[Entity]:
        """The given entities with the labels that the network gives their spans, and how likely these are."""
        if not given.entities:
            return []
        labels, scores = given.classify(self._given_probabilities(corpus))
        return [
            Entity(entity.span, self.labels[label], score)
            for (_, entity), label, score in zip(given.entities, labels, scores, strict=True)
        ]

    def _given_probabilities(self, corpus: EncodedCorpus) -> Tensor:
        """P(y|s) [N, 1 + Y] of the spans that a corpus is given with, in their order."""
        counts = self.network.suggester.count(corpus)
        starts = (counts.cumsum(0) - counts).to(self.network.device)
        probabilities = torch.empty(int(counts.sum()), self.network.labels, device=self.network.device)
        self.network.eval()
        for ids in corpus.reading_batches(self.network.device):
            query = self.network.query(corpus.batch(ids), self.datastore)
            rows = starts[ids.to(starts.device)][query.candidates.sentence] + query.candidates.number
            probabilities[rows] = self.network.predict_proba(query)
        return probabilities


def as_document(text: Document | str) -> Document:
    """A text as a document."""
    if not isinstance(text, str | Document):
        raise TypeError(f"expected a text (str) or a Document, found {type(text).__name__}: {repr(text)[:80]}")
    return Document(text) if isinstance(text, str) else text


def _with_spans(document: Document | str) -> Document:
    """A document for a model that classifies given spans; a bare text has none."""
    if isinstance(document, str):
        raise NearspanError(
            "this model classifies spans that are given and finds none itself: give it documents with entities, which "
            "it labels anew, or train the recipe with suggester.kind=all"
        )
    return as_document(document)
