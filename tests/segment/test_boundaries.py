from itertools import pairwise

import pytest

from nearspan.segment.sentences import boundaries


def show(text: str) -> list[str]:
    edges = [0, *boundaries(text), len(text)]
    return [text[start:end].strip() for start, end in pairwise(edges)]


@pytest.mark.parametrize(
    "text",
    [
        "Dr. Smith met J. S. Bach in the U.S. Army.",
        "It rose to 3.5 mg vs. 2 mg, e.g. Fig. 3, No. 7.",
        "am 3. Oktober",
        '"Really?" he said.',
        "Да! — сказал он.",
        "approx. five units",
        "wait... no",
        "He (Ann et al., 1999) left etc., as ever",
        "А. С. Пушкин жил на ул. Мойка",
        "a line that a machine\nhas wrapped",
        "a line that Professor\nSmith wrapped",
        "",
        ".",
    ],
)
def test_no_boundary(text: str) -> None:
    assert boundaries(text) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("He left. She stayed.", ["He left.", "She stayed."]),
        ('"Stop." (Then Ann left.) Yes', ['"Stop."', "(Then Ann left.)", "Yes"]),
        ("no pain. i slept! it was ok", ["no pain.", "i slept!", "it was ok"]),
        ("No. It was in 1990. Yes", ["No.", "It was in 1990.", "Yes"]),
        ("Well… So", ["Well…", "So"]),
        ("他说：“好。”走了！？是", ["他说：“好。”", "走了！？", "是"]),
        ("मैं हूँ। तुम हो।", ["मैं हूँ।", "तुम हो।"]),
        ("كيف؟ نعم", ["كيف؟", "نعم"]),
        ("Tokens . Split already .", ["Tokens .", "Split already ."]),
        ("Heading\n\nsmall letters", ["Heading", "small letters"]),
        ("Heading\r\n \r\nBody", ["Heading", "Body"]),
        ("Heading\nThe body of the text is longer", ["Heading", "The body of the text is longer"]),
        ("to buy\n- milk and\n- bread", ["to buy", "- milk and", "- bread"]),
        ("one\u2029two\fthree", ["one", "two", "three"]),
    ],
)
def test_boundaries(text: str, expected: list[str]) -> None:
    assert show(text) == expected
