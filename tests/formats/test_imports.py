"""Reading, checking and converting corpora loads no library that takes long to load."""

import subprocess
import sys
from pathlib import Path

import pytest

import nearspan

HEAVY = ("torch", "transformers", "numpy", "pandas", "pydantic", "safetensors", "rich", "typer")
PROGRAM = """
import importlib, sys, types
package = types.ModuleType("nearspan")  # without what nearspan itself imports
package.__path__ = [sys.argv[1]]
sys.modules["nearspan"] = package
importlib.import_module(sys.argv[2])
print(*{name.partition(".")[0] for name in sys.modules} & set(sys.argv[3:]))
"""


@pytest.mark.parametrize(
    "module", ["formats", "formats.synonyms", "formats.sample", "segment", "segment.windows", "io.atomic", "document"]
)
def test_a_module_loads_nothing_heavy(module: str):
    command = [sys.executable, "-c", PROGRAM, str(Path(nearspan.__file__).parent), f"nearspan.{module}", *HEAVY]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    assert ran.stdout.split() == []
