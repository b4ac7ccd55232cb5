"""The fragment linker's loss against a loop over candidates and pairs."""

import math
from itertools import combinations

import pytest
import torch
from torch import Tensor

from nearspan.heads import FragmentLinker, FragmentLinkerSettings
from nearspan.heads.fragment_linker import GAPS
from nearspan.segment import LabelledSpan
from nearspan.spans import GoldFragments, enumerate_spans

MAX_WIDTH = 3
LENGTHS = torch.tensor([9, 1, 7, 12])
GOLD = [
    [
        LabelledSpan(((0, 2), (3, 4)), "A"),
        LabelledSpan(((0, 2), (5, 6), (8, 9)), "A"),
        LabelledSpan(((1, 2), (5, 6)), "B"),
    ],
    [],
    [],
    [LabelledSpan(((0, 1), (11, 12)), "B"), LabelledSpan(((2, 3), (4, 5)), "B")],
]


def entropy(probability: float, target: bool) -> float:
    return -math.log(probability if target else 1 - probability)


def sigmoid(value: float) -> float:
    return 1 / (1 + math.exp(-value))


def fragment_score(linker: FragmentLinker, vector: Tensor, position: int) -> float:
    hidden = (linker.single.weight @ vector + linker.single.bias).clamp(min=0)
    return float(linker.fragment.weight[position] @ hidden + linker.fragment.bias[position])


def pair_score(linker: FragmentLinker, left: Tensor, right: Tensor, gap: int, position: int) -> float:
    product = (linker.factor.weight @ left) * (linker.factor.weight @ right)
    hidden = linker.left.weight @ left + linker.left.bias + linker.right.weight @ right
    hidden = hidden + linker.both.weight @ product
    hidden = hidden + linker.gap.weight[sum(gap >= edge for edge in GAPS)]
    return float(linker.pair.weight[position] @ hidden.clamp(min=0) + linker.pair.bias[position])


def naive(linker: FragmentLinker, vectors: dict, gold: list[list[LabelledSpan[str]]], names: tuple[str, ...]) -> float:
    """`vectors` by sentence, first word and stop."""
    total = 0.0
    for sentence, golds in enumerate(gold):
        mine = {place[1:]: vector for place, vector in vectors.items() if place[0] == sentence}
        for position, name in enumerate(names):
            entities = [gold_entity.fragments for gold_entity in golds if gold_entity.label == name]
            fragments = {fragment for entity in entities for fragment in entity}
            probability = {place: sigmoid(fragment_score(linker, vector, position)) for place, vector in mine.items()}
            total += sum(entropy(value, place in fragments) for place, value in probability.items())
            most = max(linker.settings.contrasts, max(map(distinct, gold)))
            nodes = sorted(mine, key=lambda place: (place not in fragments, -probability[place]))[:most]
            for a, b in combinations(sorted(nodes), 2):
                if a[1] < b[0]:
                    score = pair_score(linker, mine[a], mine[b], b[0] - a[1], position)
                    total += entropy(sigmoid(score), any(a in entity and b in entity for entity in entities))
    return linker.settings.weight * total


def distinct(golds: list[LabelledSpan[str]]) -> int:
    return len({(fragment, gold_entity.label) for gold_entity in golds for fragment in gold_entity.fragments})


@torch.no_grad()
@pytest.mark.parametrize("ids", [[0, 1, 2, 3], [3, 0], [2, 1], [0]])
@pytest.mark.parametrize("contrasts", [2, 5, 100])
def test_loss(ids: list[int], contrasts: int):
    torch.manual_seed(1)
    table = GoldFragments.of(LENGTHS, GOLD, MAX_WIDTH)
    assert table.names == ("A", "B")
    linker = FragmentLinker(FragmentLinkerSettings(size=6, contrasts=contrasts, weight=0.7), 5, [1, 2]).double().eval()
    candidates = enumerate_spans(LENGTHS[ids], MAX_WIDTH)
    vectors = torch.randn(len(candidates), 5, dtype=torch.double)
    places = torch.stack([candidates.sentence, candidates.first, candidates.stop], 1).tolist()
    loss = linker.loss(vectors, candidates, table.batch(torch.tensor(ids), candidates))
    by_place = {tuple(place): vector for place, vector in zip(places, vectors, strict=True)}
    assert float(loss) == pytest.approx(naive(linker, by_place, [GOLD[i] for i in ids], table.names))


def test_every_weight_learns_even_from_sentences_without_pairs():
    linker = FragmentLinker(FragmentLinkerSettings(size=4), 3, [1])
    candidates = enumerate_spans(torch.tensor([1, 1]), 2)
    table = GoldFragments.of(torch.tensor([1, 1]), [[], []], 2)
    loss = linker.loss(torch.randn(2, 3), candidates, table.batch(torch.tensor([0, 1]), candidates))
    loss.backward()
    assert all(parameter.grad is not None for parameter in linker.parameters())
    assert torch.isfinite(loss)
