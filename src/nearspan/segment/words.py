"""Words: exact character offsets in any language, by one regular expression in linear time.

No quantifier in it is possessive, since Python 3.11.2 matches those wrongly. Repeated groups are bounded instead, so
that a very long run of them is several words and not a deep stack.
"""

import re
import sys
import unicodedata
from collections.abc import Callable
from functools import cache

from nearspan.document import Fragment

# Scripts written without blanks between words: Thai and Lao, Burmese, Khmer, Tai, Han, kana, bopomofo.
_UNSPACED = (
    (0x0E00, 0x0EFF), (0x1000, 0x109F), (0x1780, 0x17FF), (0x1950, 0x19DF), (0x1A20, 0x1AAF),
    (0x2E80, 0x2FDF), (0x3005, 0x3007), (0x3021, 0x303B), (0x3040, 0x312F), (0x31A0, 0x31BF),
    (0x31F0, 0x31FF), (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xA9E0, 0xA9FF), (0xAA60, 0xAA7F),
    (0xF900, 0xFAFF), (0xFF66, 0xFF9F), (0x1AFF0, 0x1B16F), (0x20000, 0x3FFFF),
)  # fmt: skip
_JOINERS = "\u00ad\u200c\u200d\u2060"  # soft hyphen, zero-width (non-)joiner, word joiner
# Parts of a word only between its letters: zero-width space, byte order mark, marks and controls of direction, ...
_UNSEEN = "\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2061-\u2064\u2066-\u206f\ufeff"
_PICTURE = (
    "[\u00a9\u00ae\u203c\u2049\u2122\u2190-\u21ff\u2300-\u23ff\u25a0-\u27bf\u2900-\u297f\u2b00-\u2bff"
    "\u3030\u303d\u3297\u3299\U0001f000-\U0001f1e5\U0001f200-\U0001faff]"
)
_TONES_AND_TAGS = "\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f"


def words(text: str, characters: bool = False) -> list[Fragment]:
    """The words of a text, in order: every character that is not whitespace is in exactly one of them.

    - Letters, marks and digits in a row are a word; so are decimals and dates (`3.5`, `1,000`,
      `21.07.2010`) and dotted abbreviations (`U.S.`, `e.g.`).
    - English clitics are words (`Ann 's`, `do n't`), as in the Penn Treebank and the usual word vectors.
      Any other apostrophe stands alone, so that the name in `l'Italie` is a word; inside a Cyrillic or
      Hebrew word it belongs to the word.
    - Every other mark is a word of its own, the hyphen too (`HIV - positive`), so that entities can begin
      and end there. A repeated `.`, `-`, `_`, `=`, `*`, `~`, `!` or `?` is one word.
    - A character that is not seen and has no width, such as U+200B or a soft hyphen, parts no word.
    - Where a script writes no blanks (Han, kana, Thai, Lao, Khmer, Burmese) each character is a word.
    - An emoji is one word, however many characters it is made of.

    With `characters` each character with its combining marks is a word, in every script: usual for
    Chinese, and right for languages that glue particles to names, such as Korean.

    >>> def show(text: str, characters: bool = False) -> str:
    ...     return " | ".join(text[start:end] for start, end in words(text, characters))
    >>> show("Ann's IL-2 rose to 3.5 in the U.S. (don't ask)...")
    "Ann | 's | IL | - | 2 | rose | to | 3.5 | in | the | U.S. | ( | do | n't | ask | ) | ..."
    >>> show("東京 Tokyo")
    '東 | 京 | Tokyo'
    >>> show("서울에서", characters=True)
    '서 | 울 | 에 | 서'
    """
    pattern = _graphemes() if characters else _words()
    return [match.span() for match in pattern.finditer(text)]


def _is_unspaced(character: str) -> bool:
    code = ord(character)
    return character.isalpha() and any(first <= code <= last for first, last in _UNSPACED)


def _is_spaced_letter(character: str) -> bool:
    return character.isalpha() and not _is_unspaced(character)


def _is_spaced(character: str) -> bool:
    return (character.isalnum() and not _is_unspaced(character)) or _is_mark(character) or character in _JOINERS


def _is_mark(character: str) -> bool:
    return unicodedata.category(character).startswith("M")


def _ranges(belongs: Callable[[str], bool]) -> str:
    """The characters that `belongs` accepts, as the inside of a character class."""
    ranges: list[str] = []
    start = None
    # Beyond these planes there are only Han letters, two ranges of selectors (marks) and private use.
    for code in (*range(0x20000), *range(0xE0000, 0xE0200), sys.maxunicode):
        if belongs(chr(code)):
            start = code if start is None else start
            last = code
        elif start is not None:
            ranges.append(f"\\U{start:08x}-\\U{last:08x}")
            start = None
    return "".join(ranges)


@cache
def _sequences() -> str:
    """Flags, keycaps and emoji joined by zero-width joiners."""
    more = f"[{_ranges(_is_mark)}{_TONES_AND_TAGS}]*"
    picture = _PICTURE + more
    return f"[\U0001f1e6-\U0001f1ff]{{2}}|[0-9#*]\ufe0f?\u20e3|{picture}(?:\u200d{picture}){{0,99}}"


@cache
def _words() -> re.Pattern[str]:
    marks, letter, inner = _ranges(_is_mark), f"[{_ranges(_is_spaced_letter)}]", f"[{_ranges(_is_spaced)}]"
    unspaced = f"[{_ranges(_is_unspaced)}\U00020000-\U0003ffff]"
    # Marks that join what stands on both sides: 3.5, п'ять, צה״ל, col·lecció.
    joins = f"[{_UNSEEN}]+|" + "|".join(
        f"(?<=[{side}])[{mark}](?=[{side}])"
        for side, mark in (
            (r"\d", ".,"),
            ("\u0400-\u052f", "'’"),
            ("\u05d0-\u05ea", "'\"\u05f3\u05f4"),
            ("a-zA-Z", "\u00b7"),
        )
    )
    return re.compile(
        rf"""(?!\s)(?:
         [A-Za-z]{{2,}}(?=[\s,;:)/-]|\.\s)        # the two commonest cases, first only for speed
        |[][,;:()"/%&+<>@$](?=[\sA-Za-z])
        |{_sequences()}
        |(?:\.+|-+|_+|=+|\*+|~+|!+|\?+)[{marks}]*
        |{unspaced}[{marks}]*
        |{letter}(?:\.{letter}(?!{inner})){{1,99}}\.?       # U.S., e.g.
        |(?<={letter})[nN]['’][tT](?!{inner})         # the n't of don't
        |{letter}+?(?=[nN]['’][tT](?!{inner}))        # the do of don't
        |{inner}+(?:(?:{joins}){inner}+){{0,99}}
        |(?<={inner})['’](?:[sSmMdD]|re|ve|ll|RE|VE|LL)(?!{inner})
        |\S[{marks}]*
        )""",
        re.VERBOSE,
    )


@cache
def _graphemes() -> re.Pattern[str]:
    syllable = "[\u1100-\u115f]+[\u1160-\u11ff]*|[\uac00-\ud7a3][\u1160-\u11ff]+"
    return re.compile(f"{_sequences()}|{syllable}|\\S[{_ranges(_is_mark)}{_JOINERS}]*")
