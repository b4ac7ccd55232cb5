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
        self[code] = found = None if kind == "Cf" else 32 if blank else code
        return found


_TABLE = _Table()


def normalised(text: str) -> str:
    """The form of a name that is compared.

    Unicode NFKC and case folding; every run of blanks, hyphens and other punctuation is one blank, and none at
    the ends; invisible format characters are left out. Symbols such as + and all accents stay. A text of
    nothing but punctuation is compared by that punctuation.

    >>> normalised("Non-Hodgkin  Lymphoma") == normalised("non hodgkin lymphoma")
    True
    >>> normalised("Na+"), normalised("ﬁbre"), normalised("--")
    ('na+', 'fibre', '--')
    """
    folded = _folded(text)
    return _joined(folded.translate(_TABLE)) or _joined(folded)


def _folded(text: str) -> str:
    if text.isascii():
        return text.lower()
    text = "".join(char for char in text if unicodedata.category(char) != "Cf")
    for _ in range(2):  # folding can undo what NFKC has joined
        text = unicodedata.normalize("NFKC", text).casefold()
    return unicodedata.normalize("NFKC", text)


def _joined(text: str) -> str:
    return " ".join(text.split())
