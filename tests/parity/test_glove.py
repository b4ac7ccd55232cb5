"""GloVe (Pennington et al., 2014, equation 8) against a loop over positions and pairs."""

import math
from collections import defaultdict

import numpy as np
import pytest
import torch

from nearspan.encoders import glove
from nearspan.encoders.glove import GloveSettings, count_pairs, fit_glove, pair_loss
from nearspan.errors import NearspanError

TEXTS = ["the cat sat on the mat", "the dog sat on the log", "a cat and a dog", "mat"]


def naive_counts(texts, window):
    counts = defaultdict(float)
    for text in texts:
        for t, word in enumerate(text):
            for c, near in enumerate(text):
                if c != t and abs(c - t) <= window and word >= 0 and near >= 0:
                    counts[word, near] += 1 / abs(c - t)
    return dict(counts)


@pytest.mark.parametrize("window", [1, 2, 10])
@pytest.mark.parametrize("block", [1, 1000])
def test_pairs_are_those_of_a_loop_over_positions(window: int, block: int, monkeypatch):
    monkeypatch.setattr(glove, "BLOCK", block)
    random = np.random.default_rng(0)
    texts = [random.integers(-1, 5, size).tolist() for size in (7, 1, 0, 12, 3)]
    pairs = count_pairs(texts, 5, window)
    ours = dict(zip(zip(pairs.word.tolist(), pairs.near.tolist(), strict=True), pairs.weight.tolist(), strict=True))
    assert ours == pytest.approx(naive_counts(texts, window))


def test_the_loss_and_its_slope_are_those_of_the_equation():
    torch.manual_seed(0)
    left, right = torch.randn(4, 3).double(), torch.randn(4, 3).double()
    weight = torch.tensor([0.5, 3.0, 10.0, 40.0]).double()
    loss, pull = pair_loss(left.requires_grad_(), right, weight, x_max=10)
    values = left.tolist()
    for row in range(4):
        apart = sum(values[row][k] * float(right[row, k]) for k in range(2))
        apart += values[row][2] + float(right[row, 2]) - math.log(weight[row])
        share = min(1.0, (float(weight[row]) / 10) ** 0.75)
        assert loss[row].item() == pytest.approx(share * apart**2)
    loss.sum().backward()
    slope = 2 * pull[:, None] * torch.cat([right[:, :2], torch.ones(4, 1)], dim=1)
    torch.testing.assert_close(left.grad, slope)


def test_a_step_of_adagrad_is_a_loop_over_pairs():
    generator = torch.Generator().manual_seed(0)
    table = glove.Table(4, 2, generator)
    before, index, gradient = table.rows.clone(), torch.tensor([1, 3, 1]), torch.randn(3, 3, generator=generator)
    table.step(index, gradient)
    for row, total in ((0, 0.0), (1, gradient[0] + gradient[2]), (3, gradient[1])):
        expected = before[row] - 0.05 * total / (1 + torch.as_tensor(total) ** 2).sqrt()
        torch.testing.assert_close(table.rows[row], expected)


def test_the_loss_falls_and_a_seed_repeats_itself():
    settings = GloveSettings(size=4, epochs=8, least=1, batch=16)
    texts = [text.split() for text in TEXTS]
    left, right = fit_glove(texts, settings, seed=3), fit_glove(texts, settings, seed=3)
    assert left.losses[-1] < left.losses[0]
    assert torch.equal(left.vectors, right.vectors)
    assert not torch.equal(left.vectors, fit_glove(texts, settings, seed=4).vectors)


def test_words_are_sorted_rare_ones_left_out_and_numbers_have_no_vector():
    glove = fit_glove([["b", "12", "a", "a", "7", "rare", "b", "b"]], GloveSettings(size=2, epochs=1))
    assert glove.words == ["b", "a"]
    assert glove.vectors.shape == (2, 2)


def test_texts_without_enough_words_are_refused():
    with pytest.raises(NearspanError, match="no word occurs 2 times"):
        fit_glove([["one", "two"]], GloveSettings())
    with pytest.raises(NearspanError, match="no two words stand near"):
        fit_glove([["one"], ["one"]], GloveSettings())
