"""Batches: every sentence once, padding pointed at nothing."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from nearspan.encoders import Prepared, buckets

sizes = st.lists(st.integers(1, 30), min_size=1, max_size=40)


@given(sizes, st.integers(1, 9), st.integers(0, 5))
def test_buckets_hold_every_sentence_once(lengths: list[int], size: int, seed: int):
    batches = buckets(
        torch.tensor(lengths), [[i] for i in range(len(lengths))], size, torch.Generator().manual_seed(seed)
    )
    assert sorted(i for batch in batches for i in batch.tolist()) == list(range(len(lengths)))
    assert all(len(batch) <= size for batch in batches)
    assert len(batches) == -(-len(lengths) // size)


@given(sizes)
def test_the_reading_order_holds_every_sentence_once(lengths: list[int]):
    prepared = Prepared.of(lengths, {})
    ids = [i for batch in prepared.order(torch.device("cpu")) for i in batch.tolist()]
    assert sorted(ids) == list(range(len(lengths)))


@given(sizes, st.data())
def test_a_batch_points_at_its_own_words(lengths: list[int], data: st.DataObject):
    prepared = Prepared.of(lengths, {})
    ids = data.draw(st.lists(st.integers(0, len(lengths) - 1), min_size=1, max_size=6))
    batch = prepared.batch(torch.tensor(ids))
    for row, i in enumerate(ids):
        first = sum(lengths[:i])
        assert batch.rows[row][batch.mask[row]].tolist() == list(range(first, first + lengths[i]))
    assert batch.mask.sum(1).tolist() == [lengths[i] for i in ids]
