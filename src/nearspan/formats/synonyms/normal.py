"""When two names count as the same: the text without case, punctuation and spelling variants of characters."""

from __future__ import annotations

import unicodedata

_MINUS = "\u2212"  # a symbol to Unicode, but written for a hyphen


class _Table(dict[int, int | None]):
    """What becomes of a character, found when it is first met: punctuation and controls become a blank,
    invisible format characters such as the soft hyphen nothing."""

    def __missing__(self, code: int) -> int | None:
        kind = unicodedata.category(chr(code))
        blank = kind[0] in "PZ" or kind == "Cc" or chr(code) == _MINUS
        self[code] = None if kind == "Cf" else 32 if blank else code
        return self[code]


_TABLE = _Table()


def normal_form(text: str) -> str:
    """The form of a name that is compared.

    Unicode NFKC and case folding; every run of blanks, hyphens and other punctuation is one blank, and none at
    the ends; invisible format characters are left out. Symbols such as + and all accents stay. A text of
    nothing but punctuation is compared by that punctuation.

    >>> normal_form("Non-Hodgkin  Lymphoma") == normal_form("non hodgkin lymphoma")
    True
    >>> normal_form("Na+"), normal_form("ﬁbre"), normal_form("--")
    ('na+', 'fibre', '--')
    """
    folded = _fold_case(text)
    return _join_words(folded.translate(_TABLE)) or _join_words(folded)


def _fold_case(text: str) -> str:
    if text.isascii():
        return text.lower()
    text = "".join(char for char in text if unicodedata.category(char) != "Cf")
    for _ in range(2):  # folding can undo what NFKC has joined
        text = unicodedata.normalize("NFKC", text).casefold()
    return unicodedata.normalize("NFKC", text)


def _join_words(text: str) -> str:
    return " ".join(text.split())
