"""What a network makes of all spans of a corpus, as a datastore keeps them."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional

from nearspan.encoders import EncodedCorpus
from nearspan.heads import Query
from nearspan.knn import MemorySentence
from nearspan.model.network import Network
from nearspan.segment import LabelledSpan, Sentence, WordEntity
from nearspan.spans import LabelledSentences, WordSums


def memory_sentences(labelled: LabelledSentences) -> list[MemorySentence]:
    """Labelled sentences as a datastore keeps them, with offsets into their own texts."""
    columns = zip(labelled.sentences, labelled.entities, labelled.discontinuous, strict=True)
    return [_memory_sentence(*row) for row in columns]


def _memory_sentence(
    sentence: Sentence, entities: Sequence[WordEntity], discontinuous: Sequence[LabelledSpan[str]]
) -> MemorySentence:
    words = tuple((start - sentence.start, end - sentence.start) for start, end in sentence.words)
    place = (sentence.document.id, sentence.index, sentence.text)
    return MemorySentence(*place, words, tuple(entities), tuple(discontinuous))


@torch.inference_mode()
def corpus_vectors(network: Network, corpus: EncodedCorpus) -> tuple[Tensor | WordSums, Tensor]:
    """Vectors of all candidate spans [N, H] or of their words, and unit vectors [M, E] of all sentences."""
    network.eval()
    device = corpus.first.device
    spans = _WordVectors(corpus, network) if network.is_additive else _SpanVectors(corpus, network)
    sentence_vectors = torch.empty(len(corpus.lengths), 0, device=device)
    for batch in corpus.reading_batches():
        query = Query(network, batch)
        vectors = network.encoder.sentence_vectors(query.encoded).float()
        if not sentence_vectors.shape[1]:
            sentence_vectors = sentence_vectors.new_empty(len(corpus.lengths), vectors.shape[1])
        sentence_vectors[batch.ids.to(device)] = vectors
        spans.put(query)
    return spans.vectors, functional.normalize(sentence_vectors, dim=1)


class _WordVectors:
    """The words' vectors of a corpus, whose sums are its spans' vectors."""

    def __init__(self, corpus: EncodedCorpus, network: Network) -> None:
        self.representation = network.representation
        steps = torch.empty(int(corpus.lengths.sum()), self.representation.size, device=corpus.first.device)
        begins = 1 if self.representation.begins_alike else len(steps)
        self.vectors = WordSums(steps.new_empty(begins, self.representation.size), steps)

    def put(self, query: Query) -> None:
        """Add a batch's words."""
        encoded, mask = query.encoded, query.batch.mask
        sums = self.representation.word_sums(encoded.states)
        rows = query.batch.rows[mask]
        self.vectors.steps[rows] = sums.steps[mask].float()
        if self.representation.begins_alike:
            self.vectors.begins.copy_(sums.begins)
        else:
            self.vectors.begins[rows] = sums.begins[mask].float()


class _SpanVectors:
    """The vectors [N, H] of all candidates of a corpus, in half precision: there are many."""

    def __init__(self, corpus: EncodedCorpus, network: Network) -> None:
        counts, device = network.suggester.count(corpus), corpus.first.device
        self.starts = (counts.cumsum(0) - counts).to(device)
        self.vectors = torch.empty(int(counts.sum()), network.span_size, dtype=torch.float16, device=device)

    def put(self, query: Query) -> None:
        """Add a batch's spans."""
        candidates = query.candidates
        starts = self.starts[query.batch.ids.to(self.starts.device)]
        self.vectors[starts[candidates.sentence] + candidates.number] = query.vectors.half()
