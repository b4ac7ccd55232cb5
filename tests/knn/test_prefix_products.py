"""Sums over spans from scores of words: what single precision would lose is summed again in double precision."""

import math

import pytest
import torch

from nearspan.knn.prefix_products import WordScores, row_sums, window_sums

STEPS = [100.0, 100.0, -152.0, 100.0, 100.0]  # 2^-152 is nothing in single precision, but all five together are 2^248
GAPS = [0.0, 0.0, 0.0, 0.0, 0.0, -math.inf]


def log_sum(steps: list[float], max_width: int) -> float:
    """log2 of the weights of all spans of some words, span by span."""
    widths = range(1, max_width + 1)
    spans = [sum(steps[first : first + width]) for width in widths for first in range(len(steps) - width + 1)]
    return math.log2(sum(2.0**score for score in spans))


def scores(*words: list[float]) -> WordScores:
    """One score a word of the memory, whose last is a gap."""
    return WordScores(torch.tensor([[*factors, 0.0] for factors in words]), None)


@pytest.mark.parametrize("max_width", [1, 3, 5])
def test_a_large_sum_does_not_lose_the_spans_over_a_word_that_vanishes(max_width: int):
    sums = row_sums(scores(STEPS), torch.tensor([GAPS]), max_width)
    assert sums.tolist() == pytest.approx([log_sum(STEPS, max_width)], abs=1e-9)


def test_a_window_holds_unless_its_sum_is_large_and_a_word_vanishes():
    small = [5.0, 5.0, -152.0, 5.0, 5.0]
    halves = WordScores(torch.stack([scores(STEPS).steps, scores(small).steps]) / 2, None)  # of the left and right end
    sums, held = window_sums(halves, halves, torch.tensor([GAPS, GAPS]), 1, 5)
    assert held.flatten().tolist() == [False, True]
    assert sums[1].item() == pytest.approx(log_sum(small, 5), abs=1e-6)
