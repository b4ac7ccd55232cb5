"""Remembering: labelled sentences, and what a network makes of all their spans, as a memory keeps them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from torch.nn import functional

from nearspan.document import Document
from nearspan.encoders import Encoded, EncodedCorpus
from nearspan.knn import Datastore, MemorySentence
from nearspan.memory import Revision
from nearspan.model.network import Network
from nearspan.model.sentence_windows import prepare
from nearspan.segment import Gold, Sentence
from nearspan.spans import LabelledSentences, LstmMinus, WordEntity, WordSums, count_candidates


def kept(
    sentences: Sequence[Sentence],
    entities: Sequence[Sequence[WordEntity]],
    discontinuous: Sequence[Sequence[Gold]] = (),
) -> list[MemorySentence]:
    """Labelled sentences as a memory keeps them, with offsets into their own texts."""
    broken = discontinuous or [()] * len(sentences)
    return [_remembered(*one) for one in zip(sentences, entities, broken, strict=True)]


def _remembered(sentence: Sentence, entities: Sequence[WordEntity], discontinuous: Sequence[Gold]) -> MemorySentence:
    words = tuple((start - sentence.start, end - sentence.start) for start, end in sentence.words)
    whole, broken = tuple(entities), tuple(discontinuous)
    return MemorySentence(sentence.document.id, sentence.index, sentence.text, words, whole, broken)


def sources(
    network: Network,
    labels: Sequence[str],
    memory: Datastore,
    revision: Revision,
    labelled: Callable[[Sequence[Document]], LabelledSentences],
) -> list[Datastore]:
    """Memories that hold what a revision does: `memory`, and one for each added document that it lacks.

    They are computed again where something else is forgotten, so that they are the same whenever that was. `labelled`
    says how documents are read.
    """
    known, found_in = set(memory.ids) if memory.forgotten == revision.forgotten else set(), [memory]
    for first, document in revision.added.items():
        found = labelled([document])
        ids = range(first, first + len(found.sentences))
        if any(number in revision.sentences and number not in known for number in ids):
            vectors = corpus_vectors(network, prepare(network, found.sentences))
            own = kept(found.sentences, found.entities, found.discontinuous)
            found_in.append(Datastore.of(own, labels, network.max_width, *vectors, ids))
    return found_in


@torch.inference_mode()
def corpus_vectors(network: Network, prepared: EncodedCorpus) -> tuple[Tensor | WordSums, Tensor]:
    """Vectors of all candidate spans [N, H] or of their words, and unit vectors [M, E] of all sentences."""
    network.eval()
    device, spans = prepared.first.device, network.adds_up
    kept = _Words(prepared, spans) if spans is not None else _Spans(prepared, network)
    means = torch.empty(len(prepared), 0, device=device)
    for ids in prepared.order(device):
        encoded = network.encoder(prepared.batch(ids))
        found = network.encoder.sentence_vectors(encoded).float()
        means = means if means.shape[1] else means.new_empty(len(prepared), found.shape[1])
        means[ids.to(device)] = found
        kept.put(encoded)
    return kept.vectors, functional.normalize(means, dim=1)


class _Words:
    """The words' vectors of a corpus, whose sums are its spans' vectors."""

    def __init__(self, prepared: EncodedCorpus, spans: LstmMinus) -> None:
        steps = torch.empty(int(prepared.lengths.sum()), spans.size, device=prepared.first.device)
        self.spans = spans
        self.vectors = WordSums(steps.new_empty(1 if spans.begins_alike else len(steps), spans.size), steps)

    def put(self, encoded: Encoded) -> None:
        """Add a batch's words."""
        sums, mask = self.spans.sums(encoded.states), encoded.batch.mask
        rows = encoded.batch.rows[mask]
        self.vectors.steps[rows] = sums.steps[mask].float()
        if self.spans.begins_alike:
            self.vectors.begins.copy_(sums.begins)
        else:
            self.vectors.begins[rows] = sums.begins[mask].float()


class _Spans:
    """The vectors [N, H] of all candidates of a corpus, in half precision: there are many."""

    def __init__(self, prepared: EncodedCorpus, network: Network) -> None:
        self.network = network
        device, given = prepared.first.device, prepared.given
        counts = given.counts if given is not None else count_candidates(prepared.lengths, network.max_width)
        self.starts = (counts.cumsum(0) - counts).to(device)
        self.vectors = torch.empty(int(counts.sum()), network.size, dtype=torch.float16, device=device)

    def put(self, encoded: Encoded) -> None:
        """Add a batch's spans."""
        candidates = self.network.candidates(encoded.batch)
        found = self.network.vectors(encoded, candidates)
        starts = self.starts[encoded.batch.ids.to(self.starts.device)]
        self.vectors[starts[candidates.sentence] + candidates.number] = found.half()
