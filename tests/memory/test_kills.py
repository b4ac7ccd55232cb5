"""An editor that is killed at any point loses nothing it has said to be done. 200 times: benchmarks/kill_edits.py."""

import json
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "benchmarks/kill_edits.py"


def test_a_killed_editor_loses_no_edit(folders):
    command = [sys.executable, SCRIPT, folders["instance"], "--kills", "10", "--seed", "7"]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout)["kills"] == 10
