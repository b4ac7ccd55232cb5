"""Prediction: documents to documents with entities, through a network and its datastore."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from nearspan.document import IDENTIFIER, IDENTIFIER_SHARE, Document, Entity, Span
from nearspan.encoders import Batch, EncodedCorpus
from nearspan.errors import NearspanError
from nearspan.heads import Query
from nearspan.model.decode import decode
from nearspan.model.network import Network
from nearspan.model.strangers import with_cosines
from nearspan.model.thresholds import Threshold, thresholds_by_label
from nearspan.progress import progress
from nearspan.segment import LabelledSpan, Sentence
from nearspan.segment.windows import LONGEST, Window, balanced_runs, split_windows
from nearspan.shares import share
from nearspan.spans import GivenEntities

if TYPE_CHECKING:
    from nearspan.model.model import Model

BLOCK = 50_000  # words that are read at once, before results are given
DOCUMENTS = 1_000  # the same where spans are given
END: Any = object()  # of the documents


@dataclass(frozen=True)
class SentenceWindows:
    """Sentences, the windows that they are read in, and these windows as tensors. Nearly all are their one window."""

    sentences: Sequence[Sentence]
    windows: Sequence[Window]
    positions: Sequence[int]  # of each window's sentence
    corpus: EncodedCorpus

    @classmethod
    def of(cls, network: Network, sentences: Sequence[Sentence]) -> SentenceWindows:
        """Sentences for a network, on its device."""
        windows: list[Window] = []
        positions: list[int] = []
        for position, sentence in enumerate(sentences):
            count = len(sentence.words)
            whole = [Window(sentence, 0, 0, count)]
            parts = whole if count <= LONGEST else split_windows(sentence, network.suggester.max_width)
            windows += parts
            positions += [position] * len(parts)
        views = [window.sentence for window in windows]
        return cls(sentences, windows, positions, network.encode_to_predict(views))


class Predictor:
    """A model at work, with the weights, the datastore and the thresholds that it has when this is made.

    An edit may number the labels of the next datastore otherwise.
    """

    def __init__(self, model: Model, threshold: Threshold | None = None) -> None:
        self.model = model
        self.network = model.network.eval()
        self.datastore = model.datastore
        self.labels = model.labels if self.datastore is None else self.datastore.names  # by their numbers
        self.thresholds = model.thresholds if threshold is None else thresholds_by_label(threshold, self.labels[1:])

    def annotate(self, documents: Iterable[Document | str]) -> Iterator[Document]:
        """The documents with their entities, in order; reads on only as results are taken."""
        if not self.network.suggester.has_null:
            yield from self._classify(documents)
            return
        block: list[tuple[Document, list[Sentence]]] = []
        words = 0  # of the block
        for text in chain(documents, [END]):
            if text is not END:
                document = text if isinstance(text, Document) else Document(text)
                block.append((document, self.model.split(document)))
                words += sum(len(sentence.words) for sentence in block[-1][1])
                if words < BLOCK:
                    continue
            sentences = [sentence for _, views in block for sentence in views]
            runs = [(0, len(sentences))]
            if words > BLOCK:  # a very long document
                runs = balanced_runs([len(sentence.words) for sentence in sentences], BLOCK)
            parts = (SentenceWindows.of(self.network, sentences[a:b]) for a, b in runs if a < b)
            entities = chain.from_iterable(self.decode_windows(part, self.predict_spans(part.corpus)) for part in parts)
            for document, views in block:
                yield replace(document, entities=tuple(sorted(entity for _ in views for entity in next(entities))))
            block, words = [], 0

    def _classify(self, documents: Iterable[Document | str]) -> Iterator[Document]:
        """Give the entities that documents have new labels; those out of reach go."""
        documents = iter(documents)
        while block := [_with_spans(document) for document in islice(documents, DOCUMENTS)]:
            given, corpus = self.encode_given(block)
            by_document: list[list[Entity]] = [[] for _ in block]
            for (position, _), entity in zip(given.entities, self.classify_given(given, corpus), strict=True):
                by_document[position].append(entity)
            kept = self.identify(self.above_thresholds(map(dict.fromkeys, by_document)))
            for document, entities in zip(block, kept, strict=True):
                yield document.with_entities(entities)

    @torch.inference_mode()
    def predict_spans(self, corpus: EncodedCorpus) -> list[list[LabelledSpan[int]]]:
        """For each sentence of a corpus the spans that may be entities, before decoding chooses among them."""
        part, spans = share(corpus.reading_batches()), dict[int, list[LabelledSpan[int]]]()
        with progress() as advance:
            for batch in part.items:
                by_sentence = self.predict_batch(batch)
                spans.update(zip(batch.ids.tolist(), by_sentence, strict=True))
                advance("predicting sentences", len(by_sentence), len(corpus.lengths))
        spans = part.gather(spans)
        return [spans[number] for number in range(len(corpus.lengths))]

    @torch.inference_mode()
    def predict_batch(self, batch: Batch) -> list[list[LabelledSpan[int]]]:
        """For each sentence of a batch the spans that may be entities, with the cosines that a calibration asks for."""
        datastore, calibration = self.datastore, self.model.calibration
        query = Query(self.network, batch, datastore)
        if datastore is None or calibration is None or not calibration.needs_cosines:
            return self.network.predict(query)
        _ = query.vectors  # which will be wanted: a head may do without
        spans = self.network.predict(query)
        return with_cosines(query, spans, datastore)

    def decode_windows(
        self, windows: SentenceWindows, by_window: Sequence[Sequence[LabelledSpan[int]]]
    ) -> list[list[Entity]]:
        """The entities of each sentence, given the spans of its windows that may be entities.

        A span is taken from the window that owns it. Over pieces, only spans of whole words are entities.
        """
        by_sentence: list[list[LabelledSpan[int]]] = [[] for _ in windows.sentences]
        for position, window, spans in zip(windows.positions, windows.windows, by_window, strict=True):
            is_whole = window.sentence is windows.sentences[position]
            owned = spans if is_whole else [span.shift(window.start) for span in spans if window.owns(span.first)]
            by_sentence[position] += owned
        for position, sentence in enumerate(windows.sentences):
            if sentence.wholes is not None:
                by_sentence[position] = of_whole_words(sentence, by_sentence[position])
        model = self.model
        entities: list[list[Entity]] = [[] for _ in windows.sentences]
        for sentence, spans, of_sentence in zip(windows.sentences, by_sentence, entities, strict=True):
            words = sentence.words
            for span in decode(spans, model.overlap, model.linked_overlap):
                characters = Span(tuple((words[first][0], words[stop - 1][1]) for first, stop in span.fragments))
                label, text = self.labels[span.label], characters.text(sentence.document.text)
                score = model.to_score(span.score, label, text, span.cosine)
                of_sentence.append(Entity(characters, label, score, text, model.is_stranger(span.cosine)))
        return self.identify(self.above_thresholds(entities))

    def identify(self, groups: Sequence[Sequence[Entity]]) -> list[list[Entity]]:
        """The entities of each group with their concepts, where the memory has identifiers."""
        concepts = self.datastore.concepts if self.datastore is not None else None
        if concepts is None:
            return [list(entities) for entities in groups]
        mentions = list(dict.fromkeys((entity.text, entity.label) for entities in groups for entity in entities))
        known = dict(zip(mentions, concepts.identify(mentions), strict=True))
        return [[with_identifier(entity, *known[entity.text, entity.label]) for entity in group] for group in groups]

    def above_thresholds(self, groups: Iterable[Iterable[Entity]]) -> list[list[Entity]]:
        """The entities of each group whose scores are not below the thresholds of their labels."""
        return [
            [entity for entity in entities if (entity.score or 0.0) >= self.thresholds.get(entity.label, 0.0)]
            for entities in groups
        ]

    def encode_given(self, documents: Sequence[Document]) -> tuple[GivenEntities, EncodedCorpus]:
        """The entities of documents as spans that are given, and the sentences that hold them."""
        given = GivenEntities.of(documents, self.model.split, self.network.max_width)
        return given, self.network.encode(given.sentences, given.labels_by_sentence)

    @torch.inference_mode()
    def classify_given(self, given: GivenEntities, corpus: EncodedCorpus) -> list[Entity]:
        """The given entities with the labels that the network gives their spans, and how likely these are."""
        if not given.entities:
            return []
        numbers, probabilities = given.classify(self._given_probabilities(corpus))
        labels = [self.labels[number] for number in numbers]
        return [
            Entity(entity.span, label, self.model.to_score(probability, label, entity.text), entity.text)
            for (_, entity), label, probability in zip(given.entities, labels, probabilities, strict=True)
        ]

    def _given_probabilities(self, corpus: EncodedCorpus) -> Tensor:
        """P(y|s) [N, 1 + Y] of the spans that a corpus is given with, in their order."""
        network = self.network
        counts = network.suggester.count(corpus)
        starts = (counts.cumsum(0) - counts).to(network.device)
        probabilities = torch.zeros(int(counts.sum()), network.labels, device=network.device)
        part = share(corpus.reading_batches())
        for batch in part.items:
            query = Query(network, batch, self.datastore)
            rows = starts[batch.ids.to(starts.device)][query.candidates.sentence] + query.candidates.number
            probabilities[rows] = network.predict_proba(query)
        return part.combine(probabilities)


def with_identifier(entity: Entity, identifier: str, share: float) -> Entity:
    """An entity with the identifier that the memory gives it, if there is one.

    >>> with_identifier(Entity.of(0, 7, "Chemical"), "D001241", 0.9)
    Entity(Chemical 0-7, identifier='D001241', identifier_share=0.9)
    """
    if not identifier:
        return entity
    return replace(entity, attributes={IDENTIFIER: identifier, IDENTIFIER_SHARE: share})


def of_whole_words(sentence: Sentence, spans: list[LabelledSpan[int]]) -> list[LabelledSpan[int]]:
    """Those of the spans of a sentence over pieces whose fragments begin and end where a word does."""
    firsts, stops = (set(edges) for edges in zip(*sentence.runs, strict=True))
    return [span for span in spans if all(first in firsts and stop in stops for first, stop in span.fragments)]


def _with_spans(document: Document | str) -> Document:
    """A document for a model that classifies given spans; a bare text has none."""
    if isinstance(document, str):
        raise NearspanError(
            "this model classifies spans that are given and finds none itself: give it documents with entities, which "
            "it labels anew, or train the recipe with suggester.kind=all"
        )
    return document if isinstance(document, Document) else Document(document)
