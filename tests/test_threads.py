"""Threads that wait for each other leave the cores to others."""

import os
import subprocess
import sys

import pytest

LOADED = """
import os, sys

class Watch:
    def find_spec(name, *_):
        if name == "torch":
            print(os.environ["GOMP_SPINCOUNT"])

sys.meta_path.insert(0, Watch)
import nearspan
print("torch" in sys.modules)
nearspan.Model
"""


@pytest.mark.parametrize(("setting", "expected"), [(None, "1000"), ("7", "7")])
def test_waiting_is_short_unless_the_user_says_otherwise(setting: str | None, expected: str):
    environment = {name: value for name, value in os.environ.items() if name != "GOMP_SPINCOUNT"}
    environment |= {"GOMP_SPINCOUNT": setting} if setting else {}
    done = subprocess.run([sys.executable, "-c", LOADED], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", expected]  # set before torch is loaded, which is not done by the import
