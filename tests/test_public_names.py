"""`import nearspan`: the public names are there when they are used."""

import subprocess
import sys
from types import FunctionType

import pytest

import nearspan


@pytest.mark.parametrize("name", nearspan.__all__)
def test_a_public_name_is_a_class_or_a_function_with_a_docstring(name: str):
    value = getattr(nearspan, name)
    assert isinstance(value, type | FunctionType)
    assert value.__doc__
    assert name in dir(nearspan)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'laod'"):
        _ = nearspan.laod


CASES = {
    "documents need no torch": "nearspan.markup('x'); nearspan.read; nearspan.check; assert 'torch' not in sys.modules",
    "report is the function": "nearspan.audit; import nearspan.report.report; assert callable(nearspan.report)",
    "a star imports all": "from nearspan import *; assert callable(train) and callable(report)",
}


@pytest.mark.parametrize("case", CASES)
def test_in_a_fresh_process(case: str):
    subprocess.run([sys.executable, "-c", f"import sys, nearspan; {CASES[case]}"], check=True, timeout=120)
