"""Decoding against brute force."""

from dataclasses import replace
from itertools import combinations, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nearspan.model.decode import decode, least_linked_overlap, least_overlap
from nearspan.segment import LabelledSpan


def runs(held: tuple[bool, ...]) -> tuple[tuple[int, int], ...]:
    """The words that are held as fragments that do not touch."""
    edges = [i for i in range(len(held) + 1) if (i > 0 and held[i - 1]) != (i < len(held) and held[i])]
    return tuple(zip(edges[::2], edges[1::2], strict=True))


SPANS = sorted(runs(held) for held in product([False, True], repeat=6) if any(held))


@st.composite
def span_lists(draw):
    """Guesses on distinct spans of a short sentence, some discontinuous; scores may be equal."""
    chosen = draw(st.lists(st.sampled_from(SPANS), unique=True, max_size=8))
    scores = st.sampled_from([0.4, 0.5, 0.6, 0.7, 0.9])
    return [LabelledSpan(fragments, draw(st.integers(1, 3)), draw(scores)) for fragments in chosen]


def words(span: LabelledSpan[int]) -> set[int]:
    return {word for first, stop in span.fragments for word in range(first, stop)}


def may_stand_together(left: LabelledSpan[int], right: LabelledSpan[int], overlap: str) -> bool:
    a, b = words(left), words(right)
    return {"flat": not a & b, "nested": not a & b or a <= b or b <= a, "any": True}[overlap]


def naive(spans: list[LabelledSpan[int]], overlap: str) -> list[LabelledSpan[int]]:
    """The best first; each stays if it may stand with all that stayed before."""
    kept: list[LabelledSpan[int]] = []
    for span in sorted(spans, key=lambda span: (-span.score, span.fragments, span.label)):
        if all(may_stand_together(span, other, overlap) for other in kept):
            kept.append(span)
    return kept


@pytest.mark.parametrize("overlap", ["flat", "nested", "any"])
@given(spans=span_lists())
def test_the_best_that_may_stand_together_are_kept(overlap: str, spans: list[LabelledSpan[int]]):
    kept = decode(spans, overlap, overlap)
    assert kept == naive(spans, overlap)
    assert all(may_stand_together(first, other, overlap) for first, other in combinations(kept, 2))
    for left in set(spans) - set(kept):  # each loser loses to one at least as probable
        assert any(not may_stand_together(left, span, overlap) and span.score >= left.score for span in kept)


@pytest.mark.parametrize("overlap", ["flat", "nested", "any"])
@given(spans=span_lists(), seed=st.randoms(use_true_random=False))
def test_the_order_of_the_guesses_does_not_matter(overlap: str, spans: list[LabelledSpan[int]], seed):
    shuffled = list(spans)
    seed.shuffle(shuffled)
    assert decode(shuffled, overlap, overlap) == decode(spans, overlap, overlap)


@given(st.lists(span_lists(), max_size=3))
def test_the_level_found_is_the_least_that_loses_nothing(sentences: list[list[LabelledSpan[int]]]):
    spans = [[span.fragments for span in sentence] for sentence in sentences]
    assert least(sentences, contiguous=True) == least_overlap(spans)
    assert least(sentences, contiguous=False) == least_linked_overlap(spans)
    for sentence in sentences:
        assert len(decode(sentence, least_overlap(spans), least_linked_overlap(spans))) == len(sentence)


def least(sentences: list[list[LabelledSpan[int]]], *, contiguous: bool) -> str:
    """The least level at which all pairs of contiguous spans, or all other pairs, may stand together."""
    pairs = [
        (left, right)
        for sentence in sentences
        for left, right in combinations(sentence, 2)
        if (len(left.fragments) == len(right.fragments) == 1) == contiguous
    ]
    return next(level for level in ("flat", "nested", "any") if all(may_stand_together(*pair, level) for pair in pairs))


@pytest.mark.parametrize("overlap", ["flat", "nested"])
@pytest.mark.parametrize("joined", ["flat", "nested", "any"])
@given(spans=span_lists())
def test_discontinuous_guesses_have_a_level_of_their_own(overlap: str, joined: str, spans: list[LabelledSpan[int]]):
    kept: list[LabelledSpan[int]] = []
    for span in sorted(spans, key=lambda span: (-span.score, span.fragments, span.label)):
        levels = [overlap if len(span.fragments) == len(other.fragments) == 1 else joined for other in kept]
        if all(may_stand_together(span, other, level) for other, level in zip(kept, levels, strict=True)):
            kept.append(span)
    assert decode(spans, overlap, joined) == kept


@pytest.mark.parametrize("overlap", ["flat", "nested", "any"])
def test_several_labels_stand_on_one_span(overlap: str):
    both = [LabelledSpan.of(0, 2, 1, 0.9), LabelledSpan.of(0, 2, 2, 0.6)]
    assert decode(both, overlap) == both
    kept = decode([*both, LabelledSpan.of(1, 3, 3, 0.8)], overlap)
    assert [span.label for span in kept] == ([1, 3, 2] if overlap == "any" else [1, 2])
    assert least_overlap([[((0, 2),), ((0, 2),)], [((1, 4),)]]) == "flat"


def test_a_span_that_leans_on_a_correction_stands_where_it_would_without_it():
    longer, inner = LabelledSpan.of(0, 3, 1, 0.8), LabelledSpan.of(1, 3, 1, 0.99)
    assert decode([longer, inner], "flat") == [inner]
    assert decode([longer, replace(inner, unaided=0.3)], "flat") == [longer]
    assert decode([replace(inner, unaided=0.3)], "flat") == [inner]


def test_no_guesses():
    assert decode([], "flat") == []
    assert least_overlap([]) == "flat"
    assert least_overlap([[]]) == "flat"


def test_nothing_is_kept_that_clashes_with_what_stands_already():
    spans = [LabelledSpan.of(0, 1, 1, 0.9), LabelledSpan.of(2, 3, 1, 0.8), LabelledSpan.of(5, 6, 1, 0.7)]
    standing = [((0, 2),), ((1, 3),), ((4, 5), (6, 7))]  # which may clash themselves
    assert decode(spans, "flat", taken=standing) == [spans[2]]
    assert decode(spans, "nested", taken=standing) == spans
    assert decode([LabelledSpan.of(4, 6, 1, 0.9)], "flat", "flat", standing) == []


@pytest.mark.parametrize(
    ("other", "level"),
    [
        (((3, 4),), "flat"),  # in the gap
        (((6, 7),), "flat"),  # after it
        (((4, 5),), "nested"),  # in one of its fragments
        (((0, 6),), "nested"),  # around it
        (((1, 5),), "any"),
        (((0, 1), (2, 3)), "any"),
    ],
)
def test_the_least_level_beside_a_discontinuous_entity(other, level):
    broken = ((0, 2), (4, 6))
    assert least_linked_overlap([[broken, other]]) == least_linked_overlap([[other, broken]]) == level


def test_contiguous_entities_say_nothing_of_discontinuous_ones():
    assert least_linked_overlap([[((0, 2),), ((1, 3),)]]) == "flat"
    assert least_overlap([[((0, 2), (4, 6)), ((1, 5),)]]) == "flat"
