import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nearspan.formats.synonyms import normal_form


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("Non-Hodgkin lymphoma", "non hodgkin lymphoma"),
        ("breast  cancer,\tfamilial", "Breast cancer (familial)"),
        ("ﬁbre ①", "fibre 1"),
        ("beta\u2212blocker", "beta–blocker"),
        ("micro\u00adphone", "microphone"),
        ("Straße", "STRASSE"),
        ("Café", "Cafe\u0301"),
        ("heart_attack", " heart attack. "),
    ],
)
def test_alike(left: str, right: str):
    assert normal_form(left) == normal_form(right)


@pytest.mark.parametrize(
    ("left", "right"), [("Na+", "Na"), ("cafe", "café"), ("-", "?"), ("C++", "C"), ("cats", "cat")]
)
def test_different(left: str, right: str):
    assert normal_form(left) != normal_form(right)


@pytest.mark.parametrize("text", ["", " ", "\n\t", "\u00ad"])
def test_a_text_without_a_character_is_empty(text: str):
    assert normal_form(text) == ""


@given(st.text())
def test_it_changes_nothing_twice(text: str):
    assert normal_form(normal_form(text)) == normal_form(text)


@given(st.text())
def test_case_and_surrounding_blanks_do_not_matter(text: str):
    assert normal_form(f" {text.casefold()}\n") == normal_form(text)


def test_no_character_changes_twice():
    forms = (normal_form(chr(code)) for code in range(sys.maxunicode + 1) if code > 127)
    assert [text for text in forms if normal_form(text) != text] == []
