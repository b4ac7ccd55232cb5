from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from nearspan.config import Recipe
from nearspan.document import Document
from nearspan.report.papers import curves
from nearspan.report.papers.curves import Trainings
from nearspan.training import loop


def test_an_outcome_counts_all_sentences_that_were_learned_from(
    tmp_path: Path, tiny: Callable[..., Recipe], documents: list[Document], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(loop, "EVIDENCE", 40_000)  # so that the model's memory holds some of them
    recipe = tiny("classifier", "training.epochs=1", "representation.kind=endpoint_mlp")
    assert Trainings(documents, tmp_path, "cpu").outcome(recipe, documents, 0).sentences == 12


def test_times_of_another_device_are_not_taken(
    tmp_path: Path, tiny: Callable[..., Recipe], documents: list[Document], monkeypatch: pytest.MonkeyPatch
):
    recipe = tiny("classifier", "training.epochs=1")
    asked = Trainings(documents, tmp_path, "cpu")
    asked.outcome(recipe, documents, 0)
    monkeypatch.setattr(Trainings, "_train", lambda *given: pytest.fail("trained again"))
    asked.outcome(recipe, documents, 0)
    monkeypatch.setattr(curves, "usable_device", lambda name: torch.device("cuda"))
    with pytest.raises(pytest.fail.Exception, match="trained again"):
        asked.outcome(recipe, documents, 0)
