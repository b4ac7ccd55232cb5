"""What torch's libraries are told by their environment: to leave cores to others, and to keep little."""

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


KEPT = ("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "LRU_CACHE_CAPACITY")


@pytest.mark.parametrize(("setting", "expected"), [(None, "16"), ("1024", "1024")])
def test_few_compiled_products_are_kept_unless_the_user_says_otherwise(setting: str | None, expected: str):
    environment = {name: value for name, value in os.environ.items() if name not in KEPT}
    environment |= dict.fromkeys(KEPT, setting) if setting else {}
    code = f"import os, nearspan; print(*(os.environ[name] for name in {KEPT}))"
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split() == [expected, expected]
