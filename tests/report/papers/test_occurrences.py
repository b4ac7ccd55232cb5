import json
from collections.abc import Callable
from pathlib import Path

import pytest

import nearspan
from nearspan.config import Recipe
from nearspan.document import Document
from nearspan.errors import ConfigError
from nearspan.report import report
from nearspan.report.papers.curves import (
    CurvePoint,
    Outcome,
    Trainings,
    epoch_times,
    occurrence_curve,
    with_word_memory,
)

OTHER = Outcome(1, 0.5, 0.5, 0.5, 1, 1000.0)
RECALL = ("encoder.word_memory.weight=0.3", "training.epochs=1")


def test_each_number_and_no_memory_are_trained_for_each_seed(
    tmp_path: Path, tiny: Callable[..., Recipe], documents: list[Document], monkeypatch: pytest.MonkeyPatch
):
    asked: list[tuple[int | None, int]] = []

    def outcome(self: Trainings, recipe: Recipe, documents: list[Document], seed: int) -> Outcome:
        asked.append((recipe.encoder.word_memory.most if recipe.encoder.word_memory else None, seed))
        return Outcome(1, 0.5, 0.5, 0.5, 1, 1.0)

    monkeypatch.setattr(Trainings, "outcome", outcome)
    trainings = Trainings(documents, tmp_path, seeds=2)
    points = occurrence_curve({"m": tiny("classifier", *RECALL)}, documents, trainings, most=(2, 5))
    assert asked == [(None, 0), (2, 0), (5, 0), (None, 1), (2, 1), (5, 1)]
    assert [(point.at, point.seed) for point in points] == [(0, 0), (2, 0), (5, 0), (0, 1), (2, 1), (5, 1)]


def test_time_is_by_the_epoch_and_in_parts_of_that_without_memory():
    def point(at: int, seed: int, epochs: int, seconds: float) -> CurvePoint:
        return CurvePoint("m", at, seed, Outcome(1, 0.5, 0.5, 0.5, epochs, seconds))

    points = [point(0, 0, 2, 20.0), point(0, 1, 1, 30.0), point(7, 0, 4, 100.0), CurvePoint("n", 7, 0, OTHER)]
    assert epoch_times(points, "m") == {0: [0.5, 1.5], 7: [1.25]}


def test_a_model_without_recall_is_told_so(tiny: Callable[..., Recipe]):
    recipes = {"plain": tiny("classifier"), "recalls": tiny("classifier", *RECALL)}
    assert list(with_word_memory(recipes)) == ["recalls"]
    with pytest.raises(ConfigError, match="leave the occurrences out"):
        with_word_memory({"plain": tiny("classifier")})


def test_the_page_has_both_curves_of_the_model_that_recalls(
    tmp_path: Path, tiny: Callable[..., Recipe], documents: list[Document], folders: dict[str, Path]
):
    nearspan.train(tiny("classifier", *RECALL), documents, documents, out=tmp_path / "m", device="cpu")
    report(
        tmp_path / "m",
        documents,
        out=tmp_path / "report",
        compare=folders["instance"],
        papers=True,
        train=documents,
        dev=documents,
        sizes=(),
        occurrences=(1, 3),
        device="cpu",
    )
    text = (tmp_path / "report/papers.html").read_text(encoding="utf-8")
    assert '<section id="occurrences">' in text
    assert '<section id="curve">' not in text
    assert ">development F1</text>" in text
    assert ">time of an epoch</text>" in text
    numbers = json.loads((tmp_path / "report/papers.json").read_text())
    assert [(point["name"], point["most"]) for point in numbers["occurrences"]] == [("m", n) for n in (0, 1, 3)]
    assert all(point["seconds"] > 0 and point["epochs"] == 1 for point in numbers["occurrences"])
    assert numbers["curve"] == []


def test_trainings_need_training_documents(tmp_path: Path, folders: dict[str, Path], documents: list[Document]):
    with pytest.raises(ConfigError, match="needs `train` and `dev`"):
        report(folders["instance"], documents, out=tmp_path, papers=True, occurrences=(1,), device="cpu")
    with pytest.raises(ConfigError, match="above 0, found -1"):
        report(folders["instance"], documents, out=tmp_path, papers=True, occurrences=(5, -1), device="cpu")
