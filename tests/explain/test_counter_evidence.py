"""The smallest set whose removal changes a label, against all subsets."""

import shutil
from itertools import combinations
from pathlib import Path

import pytest
import torch

from nearspan.document import Span
from nearspan.explain.counter_evidence import fewest_to_remove
from nearspan.memory.editor import Editor


def winner(weights: list[float], labels: list[int], count: int) -> int:
    """The label with the largest sum, the lower one of equals; null where no neighbour is left."""
    sums = [
        sum(weight for weight, label in zip(weights, labels, strict=True) if label == chosen) for chosen in range(count)
    ]
    return max(range(count), key=lambda label: (sums[label], -label)) if weights else 0


def brute_force(weights: list[float], labels: list[int], count: int) -> int | None:
    """The size of the smallest subset whose removal changes the winner."""
    before = winner(weights, labels, count)
    for size in range(1, len(weights) + 1):
        for gone in combinations(range(len(weights)), size):
            rest = [place for place in range(len(weights)) if place not in gone]
            if winner([weights[i] for i in rest], [labels[i] for i in rest], count) != before:
                return size
    return None


@pytest.mark.parametrize("seed", range(60))
def test_no_smaller_set_of_voters_changes_the_label(seed: int):
    generator = torch.Generator().manual_seed(seed)
    size, count = int(torch.randint(1, 9, (), generator=generator)), 1 + seed % 3
    labels = torch.randint(0, count, (size,), generator=generator)
    weights = torch.randint(1, 6, (size,), generator=generator) / 8  # exact in binary, often equal
    before = winner(weights.tolist(), labels.tolist(), count)
    removal = fewest_to_remove(weights, labels, before, count)
    expected = brute_force(weights.tolist(), labels.tolist(), count)
    assert (None if removal is None else len(removal[0])) == expected
    if removal is not None:
        rest = torch.ones(size, dtype=torch.bool)
        rest[removal[0]] = False
        assert winner(weights[rest].tolist(), labels[rest].tolist(), count) == removal[1] != before


def test_null_that_nothing_contradicts_cannot_be_changed():
    assert fewest_to_remove(torch.tensor([0.5, 0.5]), torch.tensor([0, 0]), 0, 3) is None


def test_an_entity_that_nothing_contradicts_becomes_null_when_all_are_gone():
    gone, label = fewest_to_remove(torch.tensor([0.25, 0.75]), torch.tensor([2, 2]), 2, 3)
    assert (gone.tolist(), label) == ([1, 0], 0)


@pytest.mark.parametrize("search", ["nearest", "whole"])
@pytest.mark.parametrize(("text", "start", "end"), [("Ada lives in Oslo", 0, 3), ("Ada lives in Oslo", 4, 9)])
def test_removing_them_changes_the_prediction_and_removing_one_less_does_not(
    folders, tmp_path: Path, monkeypatch, search: str, text: str, start: int, end: int
):
    monkeypatch.setattr("nearspan.explain.counter_evidence.LISTED", 1000)
    shutil.copytree(folders["instance"], tmp_path / "model")
    editor = Editor.open(tmp_path / "model", device="cpu")
    editor.model.set_search(search)
    span = Span.of(start, end)
    before = editor.model.explain_span(text, span)
    assert before.counter_evidence is not None
    assert before.counter_evidence.size == len(before.counter_evidence.neighbours)
    for near in before.counter_evidence.neighbours:
        assert near.label == before.label
        assert editor.model.explain_span(text, span).label == before.label
        editor.remove(near.sentence_id, near.span)
    assert editor.model.explain_span(text, span).label == before.counter_evidence.label != before.label
