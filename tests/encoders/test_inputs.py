"""Batches: every sentence once, padding pointed at nothing."""

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from nearspan.encoders import EncodedCorpus
from nearspan.encoders.batches import CPU_WORDS, PIECES
from nearspan.encoders.transformer import Passage, Pieces

sizes = st.lists(st.integers(1, 30), min_size=1, max_size=40)


@given(sizes, st.integers(1, 9), st.integers(0, 5))
def test_buckets_hold_every_sentence_once(lengths: list[int], size: int, seed: int):
    batches = EncodedCorpus.of(lengths, {}).training_batches(size, torch.Generator().manual_seed(seed))
    assert sorted(i for batch in batches for i in batch.tolist()) == list(range(len(lengths)))
    assert all(len(batch) <= size for batch in batches)
    assert len(batches) == -(-len(lengths) // size)


groups = st.lists(st.lists(st.integers(1, 30), min_size=1, max_size=5), min_size=1, max_size=12)  # lengths, by passage


def number_passages(passages: list[list[int]]) -> tuple[torch.Tensor, list[list[int]]]:
    together, count = [], 0
    for group in passages:
        together.append(list(range(count, count + len(group))))
        count += len(group)
    return torch.tensor([length for group in passages for length in group]), together


def with_passages(lengths: list[int], passages: list[list[int]]) -> EncodedCorpus:
    """A corpus whose encoder has read these sentences together."""
    passage_of = {sentence: number for number, group in enumerate(passages) for sentence in group}
    pieces = [Pieces(passage_of[sentence], np.arange(1), np.ones(1)) for sentence in range(len(lengths))]
    return EncodedCorpus.of(lengths, {"transformer": {"pieces": pieces, "states": torch.empty(0)}})


@given(groups, st.integers(1, 9), st.integers(0, 5))
def test_sentences_that_are_read_together_are_in_one_batch(passages: list[list[int]], size: int, seed: int):
    lengths, together = number_passages(passages)
    prepared = with_passages(lengths.tolist(), together)
    batches = [batch.tolist() for batch in prepared.training_batches(size, torch.Generator().manual_seed(seed))]
    assert sorted(i for batch in batches for i in batch) == list(range(len(lengths)))
    for group in together:
        assert sum(set(group) <= set(batch) for batch in batches) == 1
    assert all(len(batch) <= max(size, max(map(len, together))) for batch in batches)


@given(groups)
def test_the_reading_order_keeps_them_together_too(passages: list[list[int]]):
    lengths, together = number_passages(passages)
    prepared = with_passages(lengths.tolist(), together)
    batches = [batch.ids.tolist() for batch in prepared.reading_batches()]
    assert sorted(i for batch in batches for i in batch) == list(range(len(lengths)))
    assert all(sum(set(group) <= set(batch) for batch in batches) == 1 for group in together)


@given(sizes)
def test_the_reading_order_holds_every_sentence_once(lengths: list[int]):
    prepared = EncodedCorpus.of(lengths, {})
    ids = [i for batch in prepared.reading_batches() for i in batch.ids.tolist()]
    assert sorted(ids) == list(range(len(lengths)))


def test_words_of_many_pieces_are_read_in_smaller_batches():
    """60 sentences of 10 words fit into one batch, but not their 20 windows each."""
    passage = Passage([np.zeros(32, dtype=np.int64)] * 20, np.zeros((600, 2), dtype=np.int64))
    pieces = [Pieces(number, np.arange(600), np.full(10, 60)) for number in range(60)]
    prepared = EncodedCorpus.of([10] * 60, {"transformer": {"passages": [passage] * 60, "pieces": pieces}})
    batches = [batch.ids.tolist() for batch in prepared.reading_batches()]
    assert sorted(i for batch in batches for i in batch) == list(range(60))
    assert [len(batch) for batch in batches] == [PIECES * CPU_WORDS // (20 * 32)] * 5


@given(sizes, st.data())
def test_a_batch_points_at_its_own_words(lengths: list[int], data: st.DataObject):
    prepared = EncodedCorpus.of(lengths, {})
    ids = data.draw(st.lists(st.integers(0, len(lengths) - 1), min_size=1, max_size=6))
    batch = prepared.batch(torch.tensor(ids))
    for row, i in enumerate(ids):
        first = sum(lengths[:i])
        assert batch.rows[row][batch.mask[row]].tolist() == list(range(first, first + lengths[i]))
    assert batch.mask.sum(1).tolist() == [lengths[i] for i in ids]


def test_every_sentence_is_read_once():
    prepared = with_passages([3, 1, 2, 1], [[0, 2], [1], [3]])
    assert sorted(i for batch in prepared.reading_batches() for i in batch.ids.tolist()) == [0, 1, 2, 3]
