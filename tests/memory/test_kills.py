"""An editor that is killed at any point loses nothing it has said to be done. 500 times: benchmarks/kills.py."""

import shutil
import sys
from pathlib import Path

import nearspan

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

from kills import kill_edits


def test_a_killed_editor_loses_no_edit(folders, tmp_path: Path):
    folder = shutil.copytree(folders["instance"], tmp_path / "model")
    model = nearspan.load(folder, device="cpu")
    rounds = [kill_edits(folder, model, seed, itself=seed % 2 == 0) for seed in range(8)]
    assert sum(each["edits"] for each in rounds) > 0
