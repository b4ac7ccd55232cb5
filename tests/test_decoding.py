"""Decoding against brute force."""

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nearspan.decoding import Guess, decode, found_overlap


@st.composite
def guess_lists(draw):
    """Guesses on distinct spans of a short sentence; scores may be equal."""
    spans = [(first, stop) for first in range(6) for stop in range(first + 1, 7)]
    chosen = draw(st.lists(st.sampled_from(spans), unique=True, max_size=8))
    scores = st.sampled_from([0.4, 0.5, 0.6, 0.7, 0.9])
    return [Guess(first, stop, draw(st.integers(1, 3)), draw(scores)) for first, stop in chosen]


def words(guess: Guess) -> set[int]:
    return set(range(guess.first, guess.stop))


def may_stand_together(one: Guess, other: Guess, overlap: str) -> bool:
    a, b = words(one), words(other)
    return {"flat": not a & b, "nested": not a & b or a <= b or b <= a, "any": True}[overlap]


def naive(guesses: list[Guess], overlap: str) -> list[Guess]:
    """The best first; each stays if it may stand with all that stayed before."""
    kept: list[Guess] = []
    for guess in sorted(guesses, key=lambda g: (-g.score, g.first, g.stop)):
        if all(may_stand_together(guess, other, overlap) for other in kept):
            kept.append(guess)
    return kept


@pytest.mark.parametrize("overlap", ["flat", "nested", "any"])
@given(guesses=guess_lists())
def test_the_best_that_may_stand_together_are_kept(overlap: str, guesses: list[Guess]):
    kept = decode(guesses, overlap)
    assert kept == naive(guesses, overlap)
    assert all(may_stand_together(one, other, overlap) for one, other in combinations(kept, 2))
    for left in set(guesses) - set(kept):  # each loser loses to one at least as probable
        assert any(not may_stand_together(left, one, overlap) and one.score >= left.score for one in kept)


@pytest.mark.parametrize("overlap", ["flat", "nested", "any"])
@given(guesses=guess_lists(), seed=st.randoms(use_true_random=False))
def test_the_order_of_the_guesses_does_not_matter(overlap: str, guesses: list[Guess], seed):
    shuffled = list(guesses)
    seed.shuffle(shuffled)
    assert decode(shuffled, overlap) == decode(guesses, overlap)


@given(st.lists(guess_lists(), max_size=3))
def test_the_level_found_is_the_least_that_loses_nothing(sentences: list[list[Guess]]):
    level = found_overlap([[(guess.first, guess.stop) for guess in sentence] for sentence in sentences])
    levels = ["flat", "nested", "any"]
    enough = [
        all(may_stand_together(a, b, one) for sentence in sentences for a, b in combinations(sentence, 2))
        for one in levels
    ]
    assert level == levels[enough.index(True)]


@pytest.mark.parametrize("overlap", ["flat", "nested", "any"])
def test_several_labels_stand_on_one_span(overlap: str):
    both = [Guess(0, 2, 1, 0.9), Guess(0, 2, 2, 0.6)]
    assert decode(both, overlap) == both
    kept = decode([*both, Guess(1, 3, 3, 0.8)], overlap)
    assert [guess.label for guess in kept] == ([1, 3, 2] if overlap == "any" else [1, 2])
    assert found_overlap([[(0, 2), (0, 2)], [(1, 4)]]) == "flat"


def test_no_guesses():
    assert decode([], "flat") == []
    assert found_overlap([]) == "flat"
    assert found_overlap([[]]) == "flat"
