"""Text as a terminal may show it: what others wrote does not move the cursor, colour the screen or name a link."""

import re

_SHOWN = {code: "\ufffd" for code in (*range(0x20), *range(0x7F, 0xA0)) if chr(code) not in "\t\n"}
_SHOWN |= {ord(blank): " " for blank in "\v\f\r\x85"}  # ends of lines of their kind
_UNESCAPED = re.compile("[\x7f-\x9f]")


def printable(text: str) -> str:
    """A text as long, without control characters; lines and tabs stay.

    >>> printable("a\\x1b[31m b\\r\\n")
    'a\ufffd[31m b \\n'
    """
    return text if text.isprintable() else text.translate(_SHOWN)


def printable_json(text: str) -> str:
    """The same JSON, in which the control characters that JSON leaves as they are stand as escapes.

    >>> printable_json('"\\x9b31m"')
    '"\\\\u009b31m"'
    """
    return _UNESCAPED.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
