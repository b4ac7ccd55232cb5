"""Threads that wait for each other leave the cores to others."""

import os
import subprocess
import sys

import pytest

LOADED = "import sys, nearspan, os; print(os.environ['GOMP_SPINCOUNT'], 'torch' in sys.modules)"


@pytest.mark.parametrize(("given", "found"), [(None, "1000"), ("7", "7")])
def test_waiting_is_short_unless_the_user_says_otherwise(given: str | None, found: str):
    environment = {name: value for name, value in os.environ.items() if name != "GOMP_SPINCOUNT"}
    environment |= {"GOMP_SPINCOUNT": given} if given else {}
    done = subprocess.run([sys.executable, "-c", LOADED], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split() == [found, "True"]
