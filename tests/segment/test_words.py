import sys

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from nearspan.segment.words import words

ODD = st.sampled_from(
    "aé\u0301n't.·-_1,2中あก\u0e31한\u1100\u1161👨\u200d👩🏽🇫🇷\ufe0f\u20e3\u200f\ufeff\x00\ud800 \n\u3000'’\u05d0\""
)
TEXTS = st.one_of(st.text(), st.text(ODD), st.text(st.characters(categories=["Cs", "Cf", "Mn", "Cc", "Lo"])))


def show(text: str, characters: bool = False) -> list[str]:
    return [text[start:end] for start, end in words(text, characters)]


@given(TEXTS, st.booleans())
@example("\u0301 \u200d\ud800\x00", False)
def test_every_character_but_whitespace_is_in_exactly_one_word(text: str, characters: bool) -> None:
    spans = words(text, characters)
    covered = [position for start, end in spans for position in range(start, end)]
    assert covered == [position for position, character in enumerate(text) if not character.isspace()]
    assert all(start < end for start, end in spans)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Oslo, HIV-positive!", ["Oslo", ",", "HIV", "-", "positive", "!"]),
        ("Ann's dogs' don't WE'LL", ["Ann", "'s", "dogs", "'", "do", "n't", "WE", "'LL"]),
        ("l’Italie O'Neill", ["l", "’", "Italie", "O", "'", "Neill"]),
        ("п'ять צה״ל col·lecció", ["п'ять", "צה״ל", "col·lecció"]),
        ("3.5mg 1,000 21.07.2010.", ["3.5mg", "1,000", "21.07.2010", "."]),
        ("U.S. e.g. A.B.Smith end.Next", ["U.S.", "e.g.", "A.B.", "Smith", "end", ".", "Next"]),
        ("what...?! ((a))", ["what", "...", "?", "!", "(", "(", "a", ")", ")"]),
        ("हिन्दी سلام\u200cها e\u0301te\u0301", ["हिन्दी", "سلام\u200cها", "e\u0301te\u0301"]),
        ("東京Tower 2019年", ["東", "京", "Tower", "2019", "年"]),
        ("ที่นี่", ["ที่", "นี่"]),
        ("👨‍👩‍👧👍🏽🇫🇷🇩🇪1️⃣❤️", ["👨‍👩‍👧", "👍🏽", "🇫🇷", "🇩🇪", "1️⃣", "❤️"]),
        ("\u200fa\u200f", ["\u200f", "a", "\u200f"]),
        ("Ma\u200brie\ufeff Cu\ufeff\u200brie\u200b.", ["Ma\u200brie", "\ufeff", "Cu\ufeff\u200brie", "\u200b", "."]),
        ("Ma\u00adrie می\u200cخواهم क्\u200dष", ["Ma\u00adrie", "می\u200cخواهم", "क्\u200dष"]),
        ("\U00010400\U00010401 \U00020000\U00020001", ["\U00010400\U00010401", "\U00020000", "\U00020001"]),
        (" \t\n", []),
    ],
)
def test_words(text: str, expected: list[str]) -> None:
    assert show(text) == expected


@pytest.mark.parametrize("unseen", "\u200b\u200c\u200d\u00ad\ufeff\u2060\u200e\u200f\u061c\u180e\u2066")
@pytest.mark.parametrize("name", ["Marie Curie", "Мария Кюри", "ماری کوری", "मैरी क्यूरी", "12 IL2"])
def test_a_name_is_as_many_words_with_an_unseen_character_in_each(name: str, unseen: str) -> None:
    parts = [unseen.join((word[:1], word[1:])) for word in name.split()]
    assert show(" ".join(parts)) == parts


def test_with_characters_every_grapheme_is_a_word() -> None:
    assert show("서울 e\u0301t 👍🏽", characters=True) == ["서", "울", "e\u0301", "t", "👍🏽"]
    assert show("\u1112\u1161\u11ab", characters=True) == ["\u1112\u1161\u11ab"]


@pytest.mark.parametrize("unit", ["a", "n", ".", "1.", "a.", "n'", "\u0301", "👨\u200d", 'א"', " ", "中", "(", "!?"])
def test_a_long_text_without_blanks_is_read_whole(unit: str) -> None:
    text = unit * (20_000 // len(unit))
    covered = sum(end - start for start, end in words(text))
    assert covered == sum(not character.isspace() for character in text)


def test_no_letter_of_any_plane_is_taken_for_whitespace_or_left_out() -> None:
    text = "".join(map(chr, range(0, sys.maxunicode + 1, 7)))
    covered = sum(end - start for start, end in words(text))
    assert covered == sum(not character.isspace() for character in text)
