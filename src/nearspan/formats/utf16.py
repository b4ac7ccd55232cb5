"""Offsets in UTF-16 units, in which browsers and Java count: a character beyond U+FFFF has two of them."""


def utf16_size(text: str) -> int:
    """How many UTF-16 units a text has."""
    return len(text) + sum(character > "\uffff" for character in text)


def utf16_offsets(text: str) -> dict[int, int]:
    """Offsets in characters by those in UTF-16 units, where they differ.

    >>> utf16_offsets("😀 a"), utf16_offsets("a")
    ({0: 0, 2: 1, 3: 2, 4: 3}, {})
    """
    if not text or max(text) <= "\uffff":
        return {}
    offsets, size = {0: 0}, 0
    for index, character in enumerate(text, 1):
        size += 1 + (character > "\uffff")
        offsets[size] = index
    return offsets
