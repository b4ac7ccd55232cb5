"""How a sentence is read: at once, or in overlapping windows when it is very long."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

from nearspan.segment.sentences import Sentence
from nearspan.segment.windows import owners, windows

LONGEST, OVERLAP = 1000, 100  # words, or pieces


@dataclass(frozen=True, slots=True)
class Window:
    """A sentence or a window of one, where the window begins, and the words whose spans it answers for."""

    sentence: Sentence
    start: int  # the window's first word in the whole sentence
    first: int  # in the window
    stop: int

    def owns(self, first: int) -> bool:
        """Whether a span that begins at word `first` of the window is this window's."""
        return self.first <= first < self.stop


def split_windows(sentence: Sentence, max_width: int) -> list[Window]:
    """The sentence itself up to 1,000 words; beyond, windows that share at least 100. Over pieces, so many pieces.

    A span belongs to the window that owns its first word, so each is read once, with context on both sides.
    Windows share twice the widest span, so that a span that begins in the owned part ends in the window.
    """
    count = len(sentence)
    if count <= LONGEST:
        return [Window(sentence, 0, 0, count)]
    overlap = max(OVERLAP, 2 * max_width)
    spans = list(dict.fromkeys(_whole(sentence, windows(count, max(LONGEST, 2 * overlap), overlap))))
    return [
        Window(sentence.part(start, stop), start, first - start, end - start)
        for (start, stop), (first, end) in zip(spans, owners(spans), strict=True)
    ]


def _whole(sentence: Sentence, spans: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Windows that begin and end inside a word, widened to hold all of it."""
    edges = [*(first for first, _ in sentence.runs), len(sentence)]
    for start, stop in spans:
        yield edges[bisect_right(edges, start) - 1], edges[bisect_left(edges, stop)]
