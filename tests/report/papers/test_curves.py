import json
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from rich.console import Console

from nearspan.config import Recipe
from nearspan.document import Document, Entity
from nearspan.errors import NearspanError
from nearspan.report.papers import curves
from nearspan.report.papers.curves import CurvePoint, Trainings, size_curve, split_sentences, subsets
from nearspan.training import TrainingCallback

HALVES = (Fraction(1), Fraction(1, 2))


def test_few_documents_are_cut_into_sentences():
    text = "Ann left. Bo came. Cy slept. Di ate."
    document = Document(text, (Entity.of(0, 3, "PER"), Entity.of(5, 12, "X")), id="d")
    whole, half = subsets([document], HALVES)
    assert whole == [document]
    assert len(half) == 2
    assert split_sentences(document)[0].entities == (Entity.of(0, 3, "PER"),)


def test_the_curve_has_a_point_for_each_recipe_size_and_seed(
    tmp_path: Path, tiny: Callable[..., Recipe], documents: list[Document]
):
    recipes = {name: tiny(name, "training.epochs=1") for name in ("instance", "classifier")}
    points = size_curve(recipes, documents, Trainings(documents, tmp_path, "cpu", seeds=2), HALVES)
    expected = [(name, share, seed) for name in recipes for share in (1.0, 0.5) for seed in (0, 1)]
    assert [(point.name, point.at, point.seed) for point in points] == expected
    assert [point.outcome.sentences for point in points] == [12, 12, 6, 6] * 2
    assert all(path.suffix == ".json" for path in (tmp_path / "curve").iterdir())


def test_a_stopped_curve_goes_on(
    tmp_path: Path, tiny: Callable[..., Recipe], documents: list[Document], monkeypatch: pytest.MonkeyPatch
):
    recipes = {"classifier": tiny("classifier", "training.epochs=2")}
    quiet = Console(quiet=True)
    whole, stopped = (Trainings(documents, tmp_path / name, "cpu", quiet) for name in ("whole", "stopped"))
    expected = size_curve(recipes, documents, whole, sizes=HALVES)

    class Stopping(TrainingCallback):
        epochs_seen = 0

        def __init__(self, console):
            super().__init__()

        def on_step(self, progress, steps):
            if progress.step == steps:
                Stopping.epochs_seen += 1
            if Stopping.epochs_seen == 4:  # in the second point, after its first checkpoint
                raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(curves, "ProgressBar", Stopping)
        with pytest.raises(KeyboardInterrupt):
            size_curve(recipes, documents, stopped, sizes=HALVES)
    resumed = []
    train = curves.train
    monkeypatch.setattr(
        curves, "train", lambda *given, **named: resumed.append(named["resume"]) or train(*given, **named)
    )
    points = size_curve(recipes, documents, stopped, sizes=HALVES)
    assert [timeless(point) for point in points] == [timeless(point) for point in expected]
    assert resumed == [True]


def timeless(point: CurvePoint) -> CurvePoint:
    return replace(point, outcome=replace(point.outcome, seconds=0.0))


def test_a_damaged_point_says_what_to_do(tmp_path: Path, tiny: Callable[..., Recipe], documents: list[Document]):
    recipes = {"classifier": tiny("classifier", "training.epochs=1")}
    once = Trainings(documents, tmp_path, "cpu")
    size_curve(recipes, documents, once, sizes=[Fraction(1, 2)])
    (kept,) = (tmp_path / "curve").iterdir()
    kept.write_text(json.dumps({"f1": 1.0}))
    with pytest.raises(NearspanError, match="delete it"):
        size_curve(recipes, documents, once, sizes=[Fraction(1, 2)])
