import math
from itertools import product

import pytest
import torch

import nearspan
from nearspan.document import Document
from nearspan.model import Model
from nearspan.report.papers.geometry import LEVELS, coupling, neighbour_mask, overlap_levels
from nearspan.report.papers.spans import WordSpan, gold_spans, span_vectors


def cosine(left: list[float], right: list[float]) -> float:
    return sum(a * b for a, b in zip(left, right, strict=True)) / math.hypot(*left) / math.hypot(*right)


@pytest.fixture(params=["instance", "classifier"])
def model(request: pytest.FixtureRequest) -> Model:
    return request.getfixturevalue(request.param)


@pytest.mark.parametrize("widest", [6, 2])
def test_coupling_is_the_mean_over_all_pairs(model: Model, corpus: list[Document], widest: int):
    spans = list(gold_spans(model, corpus[:6]).values())
    expected: dict[str, list[float]] = {level: [] for level in LEVELS}
    for entity in spans:
        entity_words = set(range(entity.first, entity.stop))
        count = len(entity.sentence)
        for first, stop in product(range(count), range(count + 1)):
            words = set(range(first, stop))
            if (
                not 0 < len(words) <= widest
                or words == entity_words
                or first < entity.first - 5
                or stop > entity.stop + 5
            ):
                continue
            left, right = span_vectors(model, [entity, WordSpan(entity.sentence, first, stop)]).tolist()
            alpha = len(entity_words & words) / len(entity_words | words)
            level = LEVELS[0] if alpha == 0 else LEVELS[1] if alpha <= 0.5 else LEVELS[2]
            expected[level].append(cosine(left, right))
    cosines = coupling(model, spans, widest)
    assert {level: cosine_of_level.pairs for level, cosine_of_level in cosines.items()} == {
        level: len(all_) for level, all_ in expected.items()
    }
    for level, values in expected.items():
        assert cosines[level].mean == pytest.approx(sum(values) / len(values), abs=1e-5)


def test_the_levels_meet_at_a_half():
    first, stop = torch.tensor([[2, 4], [2, 3], [3, 4], [2, 5], [1, 5], [3, 5], [0, 2], [4, 6]]).T
    # shared / union with words 2 and 3: itself, 1/2, 1/2, 2/3, 2/4, 1/3, 0, 0
    assert overlap_levels(first, stop, entity=0).tolist() == [2, 1, 1, 2, 1, 1, 0, 0]


def test_neighbours_reach_some_words_beyond_the_entity():
    first, stop = torch.tensor([[4, 6], [2, 3], [1, 3], [6, 8], [6, 9], [2, 8], [5, 6]]).T
    close = neighbour_mask(first, stop, entity=0, widest=6, near=2)
    assert close.tolist() == [False, True, False, True, False, True, True]
    assert neighbour_mask(first, stop, entity=0, widest=5, near=2)[5].item() is False


def test_without_pairs_there_is_no_mean(model: Model):
    alone = list(gold_spans(model, [nearspan.markup("[Ada](PERSON)")]).values())
    for spans in (alone, []):
        assert [
            (cosine_of_level.mean, cosine_of_level.pairs) for cosine_of_level in coupling(model, spans, 6).values()
        ] == [(None, 0)] * 3
