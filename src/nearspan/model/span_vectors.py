"""What a network makes of all spans of a corpus, as a datastore keeps them."""

from collections.abc import Iterable

import torch
from torch import Tensor
from torch.nn import functional

from nearspan.encoders import EncodedCorpus
from nearspan.heads import Query
from nearspan.knn import MemorySentence
from nearspan.model.network import Network
from nearspan.shares import Part, share
from nearspan.spans import LabelledSentences, WordSums


def memory_sentences(labelled: LabelledSentences) -> list[MemorySentence]:
    """Labelled sentences as a datastore keeps them, with offsets into their own texts."""
    sentences = []
    for sentence, entities in zip(labelled.sentences, labelled.entities, strict=True):
        begin, end = sentence.words[0][0], sentence.words[-1][1]
        text, words = sentence.document.text[begin:end], tuple((a - begin, b - begin) for a, b in sentence.words)
        place = (sentence.document.id, sentence.index, text)
        sentences.append(MemorySentence(*place, words, tuple(entities)))
    return sentences


@torch.inference_mode()
def corpus_vectors(
    network: Network, corpus: EncodedCorpus, queries: Iterable[Query] | None = None
) -> tuple[Tensor | WordSums, Tensor]:
    """Vectors of all candidate spans [N, H] or of their words, and unit vectors [M, E] of all sentences.

    Those of spans are in half precision, as there are many, unless a metric makes them small. Where `queries` of the
    corpus are given, what the encoder made of them stays with them.
    """
    network.eval()
    metric, device = network.metric, corpus.first.device
    is_additive = network.is_additive and metric is None
    counts = corpus.lengths if is_additive else network.suggester.count(corpus)
    starts = (counts.cumsum(0) - counts).to(device)
    size = network.span_size if metric is None else metric.size
    dtype = torch.float32 if is_additive or metric is not None else torch.float16
    vectors = torch.zeros(int(counts.sum()), size, dtype=dtype, device=device)
    begins = vectors.new_empty(1, size)
    sentence_vectors = torch.empty(len(corpus.lengths), 0, device=device)
    part = Part(list(queries)) if queries else share(corpus.reading_batches())
    for each in part.items:
        query = each if isinstance(each, Query) else Query(network, each)
        batch = query.batch
        means = network.encoder.sentence_vectors(query.encoded).float()
        if not sentence_vectors.shape[1]:
            sentence_vectors = means.new_zeros(len(corpus.lengths), means.shape[1])
        sentence_vectors[batch.ids.to(device)] = means
        if not is_additive:
            candidates = query.candidates
            rows = starts[batch.ids.to(device)][candidates.sentence] + candidates.number
            vectors[rows] = query.vectors.to(dtype)
            continue
        ends, rows = network.representation.end_sums(query.encoded.states), batch.rows[batch.mask]
        if ends.shared is not None:  # all spans begin with c: step(t) = left(t) + right(t) - c
            begins, steps = ends.shared[None].float(), ends.left + ends.right - ends.shared
        else:  # begin(a) = left(a) + right(a - 1), step(t) = right(t) - right(t - 1)
            before = functional.pad(ends.right, (0, 0, 1, 0))[:, :-1]
            begins = begins if len(begins) == len(vectors) else torch.zeros_like(vectors)
            begins[rows], steps = (ends.left + before)[batch.mask].float(), ends.right - before
        vectors[rows] = steps[batch.mask].float()
    vectors, sentence_vectors = part.combine(vectors), part.combine(sentence_vectors)
    if len(begins) == len(vectors):
        begins = part.combine(begins)
    return WordSums(begins, vectors) if is_additive else vectors, functional.normalize(sentence_vectors, dim=1)
