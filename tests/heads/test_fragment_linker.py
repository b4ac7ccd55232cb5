"""Linking fragments: decoding against brute force over all consistent groupings."""

from itertools import combinations, pairwise

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from torch import Tensor

from nearspan.heads import FragmentLinker, FragmentLinkerSettings
from nearspan.heads.fragment_linker import Pairs
from nearspan.segment import LabelledSpan
from nearspan.spans import Candidates, enumerate_spans


class Scored(FragmentLinker):
    """A linker with given scores: span s has the vector [s]."""

    def __init__(self, settings: FragmentLinkerSettings, fragments: Tensor, pairs: Tensor) -> None:
        super().__init__(settings, 1, [5, 3][: fragments.shape[1]])
        self.fragments, self.pairs = fragments, pairs  # [S, D], [S, S, D]

    def fragment_scores(self, vectors: Tensor) -> Tensor:
        return self.fragments[vectors[:, 0].long()]

    def pair_scores(self, vectors: Tensor, pairs: Pairs) -> Tensor:
        rows = vectors[:, 0].long()
        return self.pairs[rows[pairs.left], rows[pairs.right], pairs.label]

    def link_rows(self, candidates: Candidates) -> list[list[LabelledSpan[int]]]:
        return self.link(torch.arange(len(candidates), dtype=torch.float)[:, None], candidates)


def brute(linker: Scored, candidates: Candidates) -> list[list[LabelledSpan[int]]]:
    """A consistent group: fragments of one sentence with words between them, each two of which are joined.

    Entities are the consistent groups that no larger one holds.
    """
    settings, entities = linker.settings, [[] for _ in candidates.counts]
    fragments, pairs = linker.fragments.sigmoid(), linker.pairs.sigmoid()
    places = list(zip(candidates.first.tolist(), candidates.stop.tolist(), strict=True))
    for sentence in range(len(candidates.counts)):
        for position, label in enumerate(linker.labels):
            rows = (candidates.sentence == sentence).nonzero().flatten().tolist()
            rows = [row for row in rows if fragments[row, position] > settings.fragment_threshold]
            rows = sorted(sorted(rows, key=lambda row: -fragments[row, position])[: settings.most])
            groups = [
                group
                for size in range(2, 5)  # seven words have no more fragments that do not touch
                for group in combinations(rows, size)
                if all(
                    places[a][1] < places[b][0] and pairs[a, b, position] > settings.pair_threshold
                    for a, b in combinations(group, 2)
                )
            ]
            for group in groups:
                if not any(set(group) < set(other) for other in groups):
                    parts = [fragments[row, position] for row in group]
                    parts += [pairs[a, b, position] for a, b in combinations(group, 2)]
                    score = float(min(parts))
                    entities[sentence].append(LabelledSpan(tuple(places[row] for row in group), label, score))
    return entities


def scores(entities: list[list[LabelledSpan[int]]]) -> dict[tuple, float]:
    """By sentence, label and fragments."""
    return {(number, span.label, span.fragments): span.score for number, spans in enumerate(entities) for span in spans}


@given(
    lengths=st.lists(st.integers(1, 7), min_size=1, max_size=3),
    width=st.integers(1, 3),
    labels=st.integers(1, 2),
    most=st.sampled_from([2, 5, 24]),
    seed=st.integers(0, 10**6),
)
def test_equal_to_brute_force_over_all_consistent_groupings(lengths, width, labels, most, seed):
    generator = torch.Generator().manual_seed(seed)
    candidates = enumerate_spans(torch.tensor(lengths), width)
    spans = len(candidates)
    linker = Scored(
        FragmentLinkerSettings(most=most, fragment_threshold=0.4, pair_threshold=0.45),
        2 * torch.randn(spans, labels, generator=generator),
        2 * torch.randn(spans, spans, labels, generator=generator) + 0.5,
    )
    linked = linker.link_rows(candidates)
    assert scores(linked) == pytest.approx(scores(brute(linker, candidates)))
    assert len(scores(linked)) == sum(map(len, linked))  # none of them twice


def certain(words: int, fragments: set, pairs: set) -> list:
    """The fragment sets found in one sentence when these fragments and pairs are sure."""
    candidates = enumerate_spans(torch.tensor([words]), 3)
    places = list(zip(candidates.first.tolist(), candidates.stop.tolist(), strict=True))
    single = torch.tensor([[9.0 if place in fragments else -9.0] for place in places])
    double = torch.tensor([[[9.0 if (a, b) in pairs else -9.0] for b in places] for a in places])
    [entities] = Scored(FragmentLinkerSettings(), single, double).link_rows(candidates)
    return sorted(span.fragments for span in entities)


A, B, C, D = (0, 2), (3, 4), (5, 6), (7, 8)


def test_entities_share_a_fragment():
    assert certain(8, {A, B, C}, {(A, B), (A, C)}) == [(A, B), (A, C)]


def test_three_fragments_and_more():
    every = set(combinations((A, B, C, D), 2))
    assert certain(8, {A, B, C, D}, every) == [(A, B, C, D)]
    assert certain(8, {A, B, C, D}, every - {(A, D)}) == [(A, B, C), (B, C, D)]


def test_a_pair_needs_both_its_fragments_and_words_between_them():
    assert certain(8, {A}, {(A, B)}) == []
    assert certain(8, {A, (2, 3)}, {(A, (2, 3))}) == []
    assert certain(8, {A, (1, 3)}, {(A, (1, 3))}) == []


def test_a_sentence_of_one_word():
    assert certain(1, {(0, 1)}, set()) == []


def test_many_sure_fragments_are_cut_to_the_likeliest():
    candidates = enumerate_spans(torch.tensor([400]), 1)
    linker = Scored(FragmentLinkerSettings(most=6), torch.linspace(1, 9, 400)[:, None], torch.full((400, 400, 1), 9.0))
    [entities] = linker.link_rows(candidates)
    assert {span.fragments for span in entities} <= {
        group for size in (2, 3) for group in combinations([(i, i + 1) for i in range(394, 400)], size)
    }
    assert entities


@torch.no_grad()
def test_probabilities_of_fragments_agree_with_what_is_linked():
    torch.manual_seed(0)
    settings = FragmentLinkerSettings(fragment_threshold=0.3, pair_threshold=0.3, size=6)
    linker = FragmentLinker(settings, 4, [2, 7]).eval()
    candidates = enumerate_spans(torch.tensor([7]), 2)
    vectors = torch.randn(len(candidates), 4)
    places = list(zip(candidates.first.tolist(), candidates.stop.tolist(), strict=True))
    [entities] = linker.link(vectors, candidates)
    assert entities
    for span in entities:
        rows = [places.index(place) for place in span.fragments]
        scores, holds = linker.predict_proba(vectors[rows], span.fragments)
        position = linker.labels.index(span.label)
        assert holds[position]
        assert float(scores[position]) == pytest.approx(span.score, abs=1e-5)


def test_settings_have_ranges():
    for wrong in ({"most": 31}, {"contrasts": 1}, {"pair_threshold": 1.0}, {"weight": 0}):
        with pytest.raises(ValidationError):
            FragmentLinkerSettings(**wrong)


def test_the_vectors_of_gaps_begin_with_a_length_of_about_one():
    torch.manual_seed(0)
    gaps = FragmentLinker(FragmentLinkerSettings(size=300), 1, [1]).gap.weight
    assert gaps.norm(dim=1).tolist() == pytest.approx([1.0] * 9, abs=0.1)
    assert gaps.mean().item() == pytest.approx(0, abs=0.005)


def test_pairs_are_told_apart_by_the_words_between_them_the_coarser_the_more_there_are():
    torch.manual_seed(0)
    linker = FragmentLinker(FragmentLinkerSettings(size=40), 2, [1]).eval()
    gaps = torch.tensor([1, 2, 3, 4, 5, 6, 7, 9, 10, 14, 15, 24, 25, 99])
    every = torch.zeros_like(gaps)
    scores = linker.pair_scores(torch.ones(1, 2), Pairs(every, every, every, gaps)).tolist()
    alike = [first == second for first, second in pairwise(scores)]
    pairs = [pair for pair, same in zip(pairwise(gaps.tolist()), alike, strict=True) if same]
    assert pairs == [(5, 6), (7, 9), (10, 14), (15, 24), (25, 99)]
