"""Search in a memory against loops."""

import math
from dataclasses import replace

import pytest
import torch

from nearspan.knn import nearest_sentences, search, sentence_rows, similarities
from nearspan.knn.datastore import TIE
from nearspan.knn.search import sentence_pools

LENGTHS = [4, 1, 7, 2, 2, 5]


def test_the_nearest_sentences_are_those_of_the_highest_cosine(make_memory):
    memory = make_memory(LENGTHS)
    vectors = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))
    for count in (1, 3, 6):
        ids = nearest_sentences(memory, vectors, count)
        for row, vector in enumerate(vectors):
            cosines = [float(vector @ other / vector.norm() / other.norm()) for other in memory.sentence_vectors]
            best = sorted(range(len(LENGTHS)), key=lambda m: -cosines[m])[:count]
            assert ids[row].tolist() == best


@pytest.mark.parametrize("sentences", [16 * 7, 16 * 7 + 5, 1000])
def test_many_sentences_are_searched_in_groups_with_the_same_result(make_memory, sentences: int):
    memory = make_memory([1] * sentences)
    vectors = torch.randn(5, 4, generator=torch.Generator().manual_seed(1))
    cosines = torch.nn.functional.normalize(vectors, dim=1) @ memory.sentence_vectors.T
    assert torch.equal(nearest_sentences(memory, vectors, 3), cosines.topk(3, dim=1).indices)


def test_of_equal_sentences_the_earlier_ones_are_nearest_whatever_is_asked_beside(make_memory):
    memory = make_memory([1] * 600)
    few = torch.nn.functional.normalize(torch.randn(4, 4, generator=torch.Generator().manual_seed(2)), dim=1)
    noise = 1e-8 * torch.randn(600, 4, generator=torch.Generator().manual_seed(3))  # what rounding leaves
    memory = replace(memory, sentence_vectors=few[torch.arange(600) % 4] + noise)
    vectors = torch.randn(40, 4, generator=torch.Generator().manual_seed(1))
    ids = nearest_sentences(memory, vectors, 9)
    for vector, row in zip(vectors, ids, strict=True):
        nearest = int((few @ vector).argmax())
        assert row.tolist() == [nearest + 4 * i for i in range(9)]
        assert nearest_sentences(memory, vector[None], 9)[0].tolist() == row.tolist()


def test_of_equal_sentences_those_that_count_more_come_first(make_memory):
    memory = make_memory([2] * 4)
    log_weights = torch.zeros(len(memory))
    log_weights[memory.starts[2]] = math.log(1.5)  # one span of the third sentence
    memory = replace(memory, sentence_vectors=torch.eye(4)[[0, 0, 0, 0]], log_weights=log_weights)
    assert nearest_sentences(memory, torch.eye(4)[:1], 4).tolist() == [[2, 0, 1, 3]]


def test_sentences_that_are_aside_take_no_place_among_the_nearest(make_memory):
    memory = make_memory([2] * 5)
    vectors = torch.randn(3, 4, generator=torch.Generator().manual_seed(1))
    order = nearest_sentences(memory, vectors, 5)
    ones = [replace(each, weight=0.0 if place in (1, 3) else 1.0) for place, each in enumerate(memory.sentences)]
    aside = nearest_sentences(replace(memory, sentences=ones), vectors, 5)
    assert aside.tolist() == [[place for place in row if place not in (1, 3)] for row in order.tolist()]
    nothing_else = [replace(each, weight=0.0) for each in memory.sentences]
    assert torch.equal(nearest_sentences(replace(memory, sentences=nothing_else), vectors, 5), order)


def test_sentences_that_are_nearly_alike_are_not_equal(make_memory):
    near = torch.nn.functional.normalize(torch.tensor([[1.0, 0.02, 0, 0], [1.0, 0.01, 0, 0]]), dim=1)
    memory = replace(make_memory([1, 1]), sentence_vectors=near)
    least = torch.tensor([[0.0], [2**-12], [2**-14]])  # the last is what rounding leaves
    offsets = replace(make_memory([1, 1, 1]), sentence_vectors=least).sentence_offsets
    torch.testing.assert_close(offsets, torch.tensor([0.0, 0.0, -TIE]))
    assert nearest_sentences(memory, torch.eye(4)[:1], 2).tolist() == [[1, 0]]


@pytest.mark.parametrize("axis", range(4))
def test_no_sentence_comes_after_one_that_it_is_the_opposite_of(make_memory, axis: int):
    vector = torch.eye(4)[axis]
    offsets = replace(make_memory([1, 1]), sentence_vectors=torch.stack([vector, -vector])).sentence_offsets
    assert offsets.tolist() == [0, 0]


def test_no_more_sentences_than_there_are(make_memory):
    assert nearest_sentences(make_memory(LENGTHS), torch.randn(2, 4), 50).shape == (2, 6)


def test_a_zero_vector_still_has_neighbours(make_memory):
    ids = nearest_sentences(make_memory(LENGTHS), torch.zeros(1, 4), 3)
    assert len(set(ids[0].tolist())) == 3


@pytest.mark.parametrize("kept", ["spans", "words", "own"])
@pytest.mark.parametrize("seed", range(5))
def test_pools_hold_all_spans_of_their_sentences_and_padding(make_memory, seed: int, kept: str):
    generator = torch.Generator().manual_seed(seed)
    lengths = torch.randint(1, 9, (10,), generator=generator).tolist()
    memory = make_memory(lengths, max_width=1 + seed, kept=kept)
    chosen = torch.stack([torch.randperm(10, generator=generator)[:4] for _ in range(3)])
    rows, real = sentence_rows(memory, chosen)
    pool = sentence_pools(memory, chosen)
    starts, counts = memory.starts.tolist(), memory.counts.tolist()
    for b, sentences in enumerate(chosen.tolist()):
        expected = [row for m in sentences for row in range(starts[m], starts[m] + counts[m])]
        assert rows[b][real[b]].tolist() == expected
        assert real[b].tolist() == [True] * len(expected) + [False] * (rows.shape[1] - len(expected))
        assert torch.equal(pool.vectors[b, : len(expected)], memory.rows(torch.tensor(expected)))
        assert pool.labels[b].tolist() == memory.labels[expected].tolist() + [-1] * (rows.shape[1] - len(expected))


@pytest.mark.parametrize("kept", ["spans", "words", "own"])
@pytest.mark.parametrize("cosine", [True, False])
def test_likenesses_are_those_of_the_spans_own_vectors(make_memory, cosine: bool, kept: str):
    memory = make_memory(LENGTHS, kept=kept)
    vector = torch.randn(5, generator=torch.Generator().manual_seed(2))
    scores = similarities(memory, vector[None], cosine=cosine)[0]
    naive = [
        float(vectors @ vector / (vectors.norm() * vector.norm() if cosine else 1))
        for vectors in memory.rows(slice(None))
    ]
    assert scores.tolist() == pytest.approx(naive, abs=1e-5)


@pytest.mark.parametrize("kept", ["spans", "words", "own"])
@pytest.mark.parametrize("cosine", [True, False])
@pytest.mark.parametrize("width", [1, 3, 9])
def test_scores_with_all_spans_are_those_with_each(make_memory, cosine: bool, kept: str, width: int):
    memory = make_memory(LENGTHS, max_width=width, kept=kept)
    memory.labels[5] = -1  # removed
    asked = torch.randn(3, memory.rows(slice(0, 1)).shape[1], generator=torch.Generator().manual_seed(1))
    rows = torch.arange(len(memory))
    each = similarities(memory, asked, rows, cosine=cosine)
    assert each[:, 5].tolist() == [-torch.inf] * 3
    torch.testing.assert_close(similarities(memory, asked, cosine=cosine), each, rtol=1e-5, atol=1e-5)


def test_many_rows_are_taken_from_the_scores_with_all(make_memory, monkeypatch: pytest.MonkeyPatch):
    memory = make_memory(LENGTHS, kept="own")
    asked, rows = torch.randn(2, memory.rows(slice(0, 1)).shape[1]), torch.tensor([7, 2, 11])
    each = similarities(memory, asked, rows)
    monkeypatch.setattr(search, "PART", 2)
    torch.testing.assert_close(similarities(memory, asked, rows), each, rtol=1e-5, atol=1e-5)
