"""Boundary smoothing (Zhu & Li, 2022; Zhu & Li, 2023) against a loop over the grid of a sentence's spans."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from nearspan.losses import BoundarySmoothingSettings, smooth_targets
from nearspan.segment import LabelledSpan
from nearspan.spans import SpanLabels, enumerate_spans


def paper_grid(length, entities, max_width, labels, epsilon, distance):
    """Targets by (first, stop) for one sentence, one entity and one of its surroundings at a time."""
    grid = {
        (first, stop): [0.0] * labels
        for first in range(length)
        for stop in range(first + 1, length + 1)
        if stop - first <= max_width
    }
    for first, stop, label in entities:
        if (first, stop) not in grid:
            continue  # no candidate is this entity
        grid[first, stop][label] += 1 - epsilon
        for d in range(1, distance + 1):
            around = [(first + i, stop + j) for i in range(-d, d + 1) for j in range(-d, d + 1) if abs(i) + abs(j) == d]
            assert len(around) == 4 * d
            for place in around:
                taker = place if place in grid else (first, stop)
                grid[taker][label] += epsilon / (distance * 4 * d)
    for cell in grid.values():
        cell[:] = [min(mass, 1.0) for mass in cell]
        if sum(cell) > 1:
            total = sum(cell)
            cell[:] = [mass / total for mass in cell]
        cell[0] = 1 - sum(cell)
    return grid


def check(sentences, max_width, epsilon, distance, labels=4):
    lengths = torch.tensor([length for length, _ in sentences])
    gold = SpanLabels.of_all_spans(
        lengths, [[LabelledSpan.of(*entity) for entity in entities] for _, entities in sentences], max_width
    )
    candidates = enumerate_spans(lengths, max_width)
    one_hot = gold.one_hot_targets(torch.arange(len(lengths)), candidates, labels)
    targets = smooth_targets(one_hot, candidates, BoundarySmoothingSettings(epsilon=epsilon, distance=distance))
    expected = [
        cell
        for length, entities in sentences
        for _, cell in sorted(paper_grid(length, entities, max_width, labels, epsilon, distance).items())
    ]
    torch.testing.assert_close(targets, torch.tensor(expected).reshape(-1, labels), atol=1e-6, rtol=1e-5)
    return targets


CASES = {
    "one": [(9, [(3, 5, 1)])],
    "nested": [(9, [(2, 6, 1), (3, 4, 2), (3, 6, 3)])],
    "adjacent": [(9, [(2, 3, 1), (3, 4, 1), (4, 5, 2), (4, 6, 1)])],
    "at the ends": [(6, [(0, 1, 1), (5, 6, 2), (0, 3, 3), (4, 6, 1)])],
    "as wide as may be, and wider": [(9, [(0, 4, 1), (3, 7, 2), (5, 9, 3), (1, 8, 1)])],
    "one word": [(1, [(0, 1, 2)])],
    "a batch": [(4, [(0, 2, 1)]), (1, []), (7, [(6, 7, 2), (1, 3, 3)]), (2, [(0, 2, 1), (0, 1, 1), (1, 2, 1)])],
}


@pytest.mark.parametrize("distance", [1, 2, 3])
@pytest.mark.parametrize("epsilon", [0.0, 0.1, 0.99])
@pytest.mark.parametrize("case", CASES)
def test_smoothing_equals_the_papers_definition(case: str, epsilon: float, distance: int):
    check(CASES[case], 4, epsilon, distance)


@given(st.integers(1, 5), st.floats(0, 0.999), st.integers(1, 4), st.data())
def test_smoothing_of_any_sentences(max_width: int, epsilon: float, distance: int, data: st.DataObject):
    sentences = []
    for length in data.draw(st.lists(st.integers(1, 7), min_size=1, max_size=3)):
        spans = [(first, stop) for first in range(length) for stop in range(first + 1, length + 1)]
        chosen = data.draw(st.lists(st.sampled_from(spans), unique=True, max_size=9))
        sentences.append((length, [(*span, data.draw(st.integers(1, 3))) for span in chosen]))
    targets = check(sentences, max_width, epsilon, distance)
    assert float(targets.min()) >= 0
    torch.testing.assert_close(targets.sum(1), torch.ones(len(targets)))


def test_a_span_among_entities_gives_as_much_as_it_gets():
    """Where all surroundings are entities nothing is left for null, and nothing has to be cut off."""
    targets = check([(2, [(0, 1, 2), (0, 2, 1), (1, 2, 2)])], 2, 0.1, 1)
    torch.testing.assert_close(targets[1], torch.tensor([0.0, 0.95, 0.05, 0.0]))
    targets = check([(2, [(0, 1, 1), (0, 2, 1), (1, 2, 1)])], 2, 0.1, 1)
    torch.testing.assert_close(targets[1], torch.tensor([0.0, 1.0, 0.0, 0.0]))


def test_each_of_several_labels_is_smoothed_by_itself():
    candidates, settings = enumerate_spans(torch.tensor([4]), 3), BoundarySmoothingSettings(epsilon=0.3, distance=2)
    labels = [[0] * 9, [0] * 9]
    labels[0][1], labels[1][1], labels[1][5] = 1, 2, 2
    left, right = (smooth_targets(torch.eye(3)[row], candidates, settings) for row in labels)
    both = torch.eye(3)[labels[0]].maximum(torch.eye(3)[labels[1]])
    torch.testing.assert_close(smooth_targets(both, candidates, settings)[:, 1:], (left + right)[:, 1:])


def test_no_epsilon_gives_the_labels_themselves():
    lengths = torch.tensor([3, 2])
    candidates = enumerate_spans(lengths, 2)
    gold = torch.eye(3)[[0, 1, 2, 0, 0, 1, 0, 2]]
    assert smooth_targets(gold, candidates, BoundarySmoothingSettings(epsilon=0)).tolist() == gold.tolist()


def test_no_spans_have_no_targets():
    nothing = torch.tensor([], dtype=torch.long)
    assert smooth_targets(torch.empty(0, 4), enumerate_spans(nothing, 3), BoundarySmoothingSettings()).shape == (0, 4)
