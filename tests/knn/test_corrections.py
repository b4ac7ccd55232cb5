"""Corrections among the nearest sentences: beside the others, never in their places."""

from dataclasses import replace

import torch

import nearspan
from nearspan.knn import LeaveOneOut, nearest_sentences
from nearspan.knn.search import top_sentences


def corrected(datastore, *places):
    sentences = [
        replace(sentence, carried=((0, 1, 2.0, 0.0),) if place in places else ())
        for place, sentence in enumerate(datastore.sentences)
    ]
    return replace(datastore, sentences=sentences)


def test_the_nearest_corrections_come_beside_the_nearest_others():
    values = torch.tensor([[0.9, 0.8, 0.7, 0.6, 0.5]])
    assert top_sentences(values, torch.tensor([], dtype=torch.long), 2, 0).tolist() == [[0, 1]]
    assert top_sentences(values, torch.tensor([0, 4]), 2, 1).tolist() == [[1, 2, 0]]
    assert top_sentences(values, torch.arange(5), 0, 2).tolist() == [[0, 1]]


def test_a_correction_takes_no_other_sentence_out_of_the_search(folders):
    datastore = nearspan.load(folders["instance"], device="cpu").datastore
    vectors = datastore.sentence_vectors[:3]
    before = nearest_sentences(datastore, vectors, 4)
    after = nearest_sentences(corrected(datastore, 5), vectors, 4)
    others = [[place for place in row if place != 5] for row in before.tolist()]
    assert all(set(kept) <= set(row) for kept, row in zip(others, after.tolist(), strict=True))
    assert after.shape == (3, 5)
    assert set(after[:, -1].tolist()) == {5}


def test_held_out_sentences_are_compared_with_the_other_corrections_too(folders):
    datastore = corrected(nearspan.load(folders["instance"], device="cpu").datastore, 0, 5)
    others = LeaveOneOut.of(datastore)
    near = others.nearest_sentences(datastore.sentence_vectors[:2], others.duplicate_group[:2], 4)
    assert near[0, -1] == 5
    assert 0 not in near[0].tolist()
