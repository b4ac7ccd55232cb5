"""Which sentences an epoch reads, and which are compared with one another."""

import random

import torch

from nearspan.encoders import EncodedCorpus
from nearspan.training.episodes import Episodes


def read(episodes: Episodes, size: int, seed: int = 0) -> list[list[int]]:
    corpus = EncodedCorpus.of([3] * episodes.corpora[-1].stop, {})
    return [sorted(ids.tolist()) for ids in episodes.batches(corpus, size, torch.Generator().manual_seed(seed))]


def test_batches_and_neighbours_are_of_one_corpus():
    episodes = Episodes([range(6), range(6, 10)])
    batches = read(episodes, 4)
    assert sorted(number for batch in batches for number in batch) == list(range(10))
    assert all(max(batch) < 6 or min(batch) >= 6 for batch in batches)
    assert sorted(episodes.neighbours([7], 5, random.Random(0))) == [6, 8, 9]


def test_an_epoch_of_a_warm_start_reads_all_that_is_new_and_a_share_of_the_rest():
    episodes = Episodes([range(200)], frozenset(range(190)), rehearsal=5.0, skipped=frozenset({0, 199}), is_warm=True)
    epochs = [{number for batch in read(episodes, 16, seed) for number in batch} for seed in (0, 1)]
    for numbers in epochs:
        assert set(range(190, 199)) <= numbers
        assert len(numbers) == 9 + 45
        assert not {0, 199} & numbers
    assert epochs[0] != epochs[1]


def test_few_sentences_are_read_in_batches_that_leave_some_to_be_compared_with():
    episodes = Episodes([range(4)], is_warm=True)
    assert [len(batch) for batch in read(episodes, 16)] == [2, 2]


def test_half_of_the_neighbours_are_new_where_there_are_as_many():
    episodes = Episodes([range(100)], frozenset(range(90)), rehearsal=1.0, is_warm=True)
    drawn = episodes.neighbours([95], 10, random.Random(0))
    assert (len(drawn), len(set(drawn)), sum(number >= 90 for number in drawn), 95 in drawn) == (10, 10, 5, False)
