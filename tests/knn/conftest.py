"""Memories of random vectors, whose rows are easy to tell apart."""

import pytest
import torch

from nearspan.knn import Datastore, MemorySentence
from nearspan.segment import LabelledSpan
from nearspan.spans import AllSpans, WordSums, count_candidates


def made(lengths: list[int], max_width: int = 3, size: int = 5, seed: int = 0, kept: str = "spans") -> Datastore:
    """`kept` by "spans", by "words", or by words with begins of their "own"."""
    generator = torch.Generator().manual_seed(seed)
    sentences = []
    for number, length in enumerate(lengths):
        words = tuple((3 * word, 3 * word + 2) for word in range(length))
        entities = (LabelledSpan.of(0, 1, "A"), LabelledSpan.of(length - 1, length, "B")) if length > 1 else ()
        sentences.append(MemorySentence(f"d{number}", number, "ab " * length, words, entities))
    spans = int(count_candidates(torch.tensor(lengths), max_width).sum())
    means = torch.nn.functional.normalize(torch.randn(len(lengths), 4, generator=generator), dim=1)
    vectors = torch.randn(spans, size, generator=generator)
    if kept != "spans":
        words = sum(lengths)
        begins = torch.randn(words if kept == "own" else 1, size, generator=generator)
        return Datastore.of(sentences, ["A", "B"], AllSpans(max_width), WordSums(begins, vectors[:words]), means)
    return Datastore.of(sentences, ["A", "B"], AllSpans(max_width), vectors, means)


@pytest.fixture
def make_memory():
    return made
