"""Neighbours without one's own sentence, against plain loops."""

from dataclasses import replace

import pytest
import torch

from nearspan.knn.leave_one_out import SHARPNESS, LeaveOneOut

KEPT = pytest.mark.parametrize("kept", ["spans", "words", "own"])


def others_of(memory) -> LeaveOneOut:
    """Sentences of equal length have equal texts in these memories."""
    return LeaveOneOut.of(memory)


def spoken(memory, text: str) -> list[int]:
    """Rows of sentences with another text."""
    return [row for row in range(len(memory)) if memory.sentences[int(memory.sentence[row])].text != text]


@KEPT
def test_shares_are_equation_2_over_all_other_sentences(make_memory, kept, monkeypatch):
    monkeypatch.setattr("nearspan.knn.leave_one_out.PART", 7)
    monkeypatch.setattr("nearspan.knn.leave_one_out.PIECE", 2)
    memory = make_memory([4, 2, 4, 5, 1], kept=kept)
    others = others_of(memory)
    vectors, groups = torch.randn(3, 5, generator=torch.Generator().manual_seed(1)), torch.tensor([0, 1, -1])
    shares, totals = others.probabilities(vectors, groups)
    for i, text in enumerate(("ab " * 4, "ab " * 2, "none")):
        rows = torch.tensor(spoken(memory, text))
        scores = memory.rows(rows).float() @ vectors[i]
        expected = [float(scores.softmax(0)[memory.labels[rows] == label].sum()) for label in range(3)]
        assert shares[i].tolist() == pytest.approx(expected, abs=1e-6)
        assert float(totals[i]) == pytest.approx(float(scores.logsumexp(0)), abs=1e-5)


@KEPT
def test_the_vote_is_that_of_the_nearest_others(make_memory, kept, monkeypatch):
    monkeypatch.setattr("nearspan.knn.leave_one_out.PART", 7)
    memory = make_memory([4, 2, 4, 5, 1], kept=kept)
    vectors, groups = torch.randn(2, 5, generator=torch.Generator().manual_seed(1)), torch.tensor([0, -1])
    probabilities = others_of(memory).knn_probabilities(vectors, groups, 4)
    for i, text in enumerate(("ab " * 4, "none")):
        rows = torch.tensor(spoken(memory, text))
        best = torch.cosine_similarity(memory.rows(rows).float(), vectors[i][None]).topk(4)
        weights = (SHARPNESS * best.values).softmax(0)
        expected = [float(weights[memory.labels[rows[best.indices]] == label].sum()) for label in range(3)]
        assert probabilities[i].tolist() == pytest.approx(expected, abs=1e-5)


def test_speakers_have_the_label_and_are_from_elsewhere(make_memory):
    memory = make_memory([4, 2, 4, 5])
    scores, rows = others_of(memory).nearest_spans(torch.ones(1, 5), torch.tensor([0]), 1, 5, cosine=False)
    real = rows[0, scores[0].isfinite()]
    assert memory.labels[real].tolist() == [1, 1]  # of the sentences with 2 and with 5 words
    assert sorted(memory.sentence[real].tolist()) == [1, 3]


def test_nearest_sentences_are_others(make_memory):
    memory = make_memory([4, 2, 4, 5])
    nearest = others_of(memory).nearest_sentences(memory.sentence_vectors[:2], torch.tensor([0, 1]), 3)
    assert [sorted(row) for row in nearest.tolist()] == [[1, 3], [2, 3]] or nearest.shape == (2, 2)
    assert not {0, 2} & set(nearest[0].tolist())
    assert 1 not in nearest[1].tolist()


def test_a_span_with_two_labels_speaks_for_both(make_memory):
    memory = make_memory([2, 3])
    further = torch.zeros(1, len(memory), dtype=torch.long)
    further[0, 0] = 2
    others = others_of(replace(memory, further=further))
    asked, group = memory.rows(torch.tensor([0])).float(), torch.tensor([1])
    _, rows = others.nearest_spans(asked, group, 2, 1, cosine=True)
    assert rows.tolist() == [[0]]
    assert others.knn_probabilities(asked, group, 1).tolist() == [[0.0, 1.0, 1.0]]


def test_what_was_removed_says_nothing(make_memory):
    memory = make_memory([2, 3])
    labels = memory.labels.clone()
    labels[0] = -1
    others = others_of(replace(memory, labels=labels))
    asked, group = memory.rows(torch.tensor([0])).float(), torch.tensor([-1])
    _, rows = others.nearest_spans(asked, group, 1, 1, cosine=True)
    assert rows.tolist() != [[0]]
    shares, _ = others.probabilities(asked, group)
    scores = memory.rows(torch.arange(1, len(memory))).float() @ asked[0]
    assert float(shares[0, 1]) == pytest.approx(float(scores.softmax(0)[memory.labels[1:] == 1].sum()), abs=1e-6)


@KEPT
def test_a_span_that_counts_three_times_is_three_spans(make_memory, kept):
    memory = make_memory([4, 2, 5], kept=kept)
    weights = torch.zeros(len(memory))
    weights[-1] = torch.tensor(3.0).log()
    others = others_of(replace(memory, log_weights=weights))
    vectors, groups = torch.randn(2, 5, generator=torch.Generator().manual_seed(1)), torch.tensor([-1, 0])
    shares, totals = others.probabilities(vectors, groups)
    knn = others.knn_probabilities(vectors, groups, len(memory))
    scores, rows = others.nearest_spans(vectors, groups, 2, len(memory), cosine=False)
    for i, text in enumerate(("none", "ab " * 4)):
        many = torch.tensor(spoken(memory, text) + [len(memory) - 1] * 2)
        own_vectors = memory.rows(many).float()
        near = (own_vectors @ vectors[i]).softmax(0)
        cosines = (SHARPNESS * torch.cosine_similarity(own_vectors, vectors[i][None])).softmax(0)
        for said, by in ((shares, near), (knn, cosines)):
            expected = [float(by[memory.labels[many] == label].sum()) for label in range(3)]
            assert said[i].tolist() == pytest.approx(expected, abs=1e-5)
        listed = (scores[i] - totals[i]).exp()  # the shares that an audit shows
        assert float(listed.sum()) == pytest.approx(float(shares[i, 2]), abs=1e-5)
        assert len(memory) - 1 in rows[i].tolist()


def test_where_nobody_else_is_there_to_speak_a_span_is_no_entity(make_memory):
    memory = make_memory([4, 2])
    memory = replace(memory, labels=torch.full_like(memory.labels, -1))
    shares, _ = others_of(memory).probabilities(torch.randn(2, 5), torch.tensor([0, 1]))
    assert shares.tolist() == [[1.0, 0.0, 0.0]] * 2


def test_removed_spans_have_no_share_whosever_they_are(make_memory):
    memory = make_memory([4, 2])
    vectors, group = torch.ones(1, 5), torch.tensor([0])
    expected, total = others_of(memory).probabilities(vectors, group)
    memory.labels[0] = -1  # of the sentence that is left out
    shares, again = others_of(memory).probabilities(vectors, group)
    torch.testing.assert_close((shares, again), (expected, total))
    memory.labels[memory.starts[1]] = -1  # of the other one
    shares, fewer = others_of(memory).probabilities(vectors, group)
    assert fewer.item() < total.item()
    assert shares.sum().item() == pytest.approx(1)


def test_sentences_that_are_aside_are_no_neighbours_of_held_out_ones(make_memory):
    memory = make_memory([4, 2, 4, 5, 1])
    ones = [replace(each, weight=0.0 if place == 3 else 1.0) for place, each in enumerate(memory.sentences)]
    others = others_of(replace(memory, sentences=ones))
    near = others.nearest_sentences(memory.sentence_vectors[:2], others.duplicate_group[:2], 5)
    assert sorted(near[0].tolist()) == [1, 4]
    assert set(near[1].tolist()) < {0, 2, 4}
