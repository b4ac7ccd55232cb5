"""Pieces of text that say where they stand, put into one text: passages of BioC, sentences of WebAnno.

Their offsets count characters that are in none of them, and may be wrong. So each piece is put after the one before it,
at its distance if that is likely, and what points into a piece is moved with it.
"""

from bisect import bisect_right
from dataclasses import dataclass, field

_WIDEST = 1000  # characters between two pieces that are believed


@dataclass
class Layout:
    """A text in the making.

    >>> layout = Layout()
    >>> layout.place(0, "Aspirin works"), layout.place(14, "We gave it.")
    (0, 14)
    >>> layout.text, layout.resolve(22)
    ('Aspirin works\\nWe gave it.', 22)
    """

    pieces: list[str] = field(default_factory=list)
    size: int = 0
    _places: list[tuple[int, int, int]] = field(default_factory=list)  # offset in the file, size, offset in the text

    def place(self, offset: int, text: str, length: int | None = None) -> int:
        """Put a piece behind the others; gives where it begins in the text.

        `length` is what the file counts for the piece, where that is not its characters.
        """
        if self._places:
            before, size, _ = self._places[-1]
            gap = offset - before - size
            self._append("\n" * (gap if 0 <= gap <= _WIDEST else 1))
        start = self.size
        self._places.append((offset, len(text) if length is None else length, start))
        self._append(text)
        return start

    @property
    def fits(self) -> bool:
        """Whether no piece begins before the end of the one before it, or far from it."""
        return all(offset - start == self._places[0][0] for offset, _, start in self._places)

    @property
    def text(self) -> str:
        """All pieces, with newlines where something is between them."""
        return "".join(self.pieces)

    def resolve(self, offset: int) -> int:
        """Where an offset of the file is in the text, by the piece that begins last before it."""
        places = sorted(self._places)
        at = max(bisect_right(places, (offset, float("inf"), 0)) - 1, 0)
        if not places:
            return offset
        begin, _, start = places[at]
        return start + offset - begin

    def _append(self, text: str) -> None:
        self.pieces.append(text)
        self.size += len(text)
