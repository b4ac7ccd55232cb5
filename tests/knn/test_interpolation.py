"""The datastore's probabilities against a loop."""

import pytest
import torch
from pydantic import ValidationError

from nearspan.knn import Datastore, InterpolationSettings, MemorySentence, knn_probabilities
from nearspan.segment import LabelledSpan
from nearspan.spans import AllSpans


def naive(memory, vector, settings, labels):
    """P_memory(y) span by span: the nearest ones' weights, each for all of its labels."""
    scored = []
    for row, vectors in enumerate(memory.rows(slice(None))):
        if memory.labels[row] < 0:
            continue
        if settings.similarity == "cosine":
            near = float(vectors @ vector / vectors.norm() / vector.norm())
        else:
            near = -float((vectors - vector).square().sum())
        scored.append((near, row))
    best = sorted(scored, reverse=True)[: settings.neighbours]
    weights = torch.tensor([near / settings.temperature for near, _ in best]).softmax(0).tolist()
    probabilities = [0.0] * labels
    for weight, (_, row) in zip(weights, best, strict=True):
        for number in [["", "A", "B"].index(label) for label in memory.labels_of(row)] or [0]:
            probabilities[number] += weight
    return probabilities


@pytest.mark.parametrize("similarity", ["cosine", "distance"])
@pytest.mark.parametrize("kept", ["spans", "words", "own"])
@pytest.mark.parametrize("neighbours", [1, 5, 1000])
def test_the_nearest_spans_vote_with_their_weights(make_memory, monkeypatch, similarity, kept, neighbours):
    monkeypatch.setattr("nearspan.knn.interpolation.PART", 7)
    memory = make_memory([4, 1, 7, 2], kept=kept)
    memory.labels[3] = -1
    settings = InterpolationSettings(neighbours=neighbours, similarity=similarity, temperature=0.5)
    vectors = torch.randn(6, 5, generator=torch.Generator().manual_seed(3))
    probabilities = knn_probabilities(memory, vectors, settings)
    for row, vector in enumerate(vectors):
        assert probabilities[row].tolist() == pytest.approx(naive(memory, vector, settings, 3), abs=1e-5)
    assert probabilities.sum(1).tolist() == pytest.approx([1] * 6, abs=1e-5)


@pytest.mark.parametrize(
    "settings",
    [
        {"neighbours": 0},
        {"neighbours": 1_000_001},
        {"weight": -0.1},
        {"weight": 1.1},
        {"temperature": 0},
        {"similarity": "dot"},
    ],
)
def test_what_is_no_vote_is_refused(settings):
    with pytest.raises(ValidationError, match=next(iter(settings))):
        InterpolationSettings(**settings)


def test_a_span_with_two_labels_says_yes_to_both():
    sentence = MemorySentence("d", 0, "ab", ((0, 2),), (LabelledSpan.of(0, 1, "A"), LabelledSpan.of(0, 1, "B")))
    memory = Datastore.of([sentence], ["A", "B"], AllSpans(2), torch.ones(1, 3), torch.ones(1, 2))
    assert knn_probabilities(memory, torch.ones(1, 3), InterpolationSettings()).tolist() == [[0.0, 1.0, 1.0]]


def test_where_nothing_is_left_the_vote_is_null(make_memory):
    memory = make_memory([2])
    memory.labels.fill_(-1)
    assert knn_probabilities(memory, torch.randn(2, 5), InterpolationSettings()).tolist() == [[1.0, 0.0, 0.0]] * 2


@pytest.mark.parametrize("similarity", ["cosine", "distance"])
def test_a_neighbour_that_counts_three_times_votes_three_times(make_memory, similarity):
    memory = make_memory([4, 1, 7, 2])
    memory.log_weights[5] = torch.tensor(3.0).log()
    settings = InterpolationSettings(neighbours=1000, similarity=similarity, temperature=0.5)
    vectors = torch.randn(3, 5, generator=torch.Generator().manual_seed(3))
    for row, vector in enumerate(vectors):
        once, thrice = (
            knn_probabilities(store, vectors, settings)[row] for store in (make_memory([4, 1, 7, 2]), memory)
        )
        keys = memory.rows(slice(None))
        near = (
            torch.cosine_similarity(keys, vector[None]) if similarity == "cosine" else -(keys - vector).square().sum(1)
        )
        share = (near / 0.5).softmax(0)[5]
        expected = once.clone()
        expected[int(memory.labels[5])] += 2 * share
        torch.testing.assert_close(thrice, expected / (1 + 2 * share), atol=1e-5, rtol=0)


def test_of_equal_spans_the_one_made_to_count_more_is_asked():
    sentences = [
        MemorySentence(f"d{number}", 0, "ab", ((0, 2),), (LabelledSpan.of(0, 1, label),))
        for number, label in enumerate("AAB")
    ]
    memory = Datastore.of(sentences, ["A", "B"], AllSpans(2), torch.ones(3, 3), torch.ones(3, 2))
    memory.log_weights[2] = 1.0
    probabilities = knn_probabilities(memory, torch.ones(1, 3), InterpolationSettings(neighbours=1))
    assert probabilities.tolist() == [[0.0, 0.0, 1.0]]
