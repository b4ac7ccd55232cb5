"""Overlapping windows: a very long sentence or text is read whole, in parts, and never cut."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from nearspan.segment.sentences import Sentence

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
    count = len(sentence.words)
    if count <= LONGEST:
        return [Window(sentence, 0, 0, count)]
    overlap = max(OVERLAP, 2 * max_width)
    spans = list(dict.fromkeys(_whole_words(sentence, windows(count, max(LONGEST, 2 * overlap), overlap))))
    return [
        Window(sentence.part(start, stop), start, first - start, end - start)
        for (start, stop), (first, end) in zip(spans, owners(spans), strict=True)
    ]


def windows(count: int, size: int, overlap: int) -> list[tuple[int, int]]:
    """Half-open windows of at most `size` items that cover all of them, neighbours sharing `overlap`.

    >>> windows(10, size=6, overlap=2)
    [(0, 6), (4, 10)]
    """
    if count <= size:
        return [(0, count)]
    step = size - overlap
    starts = range(0, count - overlap, step)
    return [(start, min(start + size, count)) for start in starts]


def owners(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The part of each window that it answers for: neighbours meet in the middle of what they share.

    Every item has one owner, the window in which it is farther from an edge.

    >>> owners([(0, 6), (4, 10)])
    [(0, 5), (5, 10)]
    """
    cuts = [(after[0] + before[1]) // 2 for before, after in pairwise(spans)]
    return list(zip([spans[0][0], *cuts], [*cuts, spans[-1][1]], strict=True))


def balanced_runs(sizes: list[int], most: int) -> list[tuple[int, int]]:
    """Runs of neighbouring items that hold at most `most` together, as few as can be and then as even as can be.

    An item that is larger than `most` is a run of its own.

    >>> balanced_runs([4, 4, 4, 4], most=13)
    [(0, 2), (2, 4)]
    """
    fewest = len(_runs(sizes, most))
    enough = range(1, most)  # of these the least that makes no more runs
    return _runs(sizes, 1 + bisect_left(enough, True, key=lambda size: len(_runs(sizes, size)) <= fewest))


def _whole_words(sentence: Sentence, spans: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Windows that begin and end inside a word, widened to hold all of it."""
    edges = [*(first for first, _ in sentence.runs), len(sentence)]
    for start, stop in spans:
        yield edges[bisect_right(edges, start) - 1], edges[bisect_left(edges, stop)]


def _runs(sizes: list[int], most: int) -> list[tuple[int, int]]:
    starts: list[int] = []
    total = 0
    for item, size in enumerate(sizes):
        if not starts or total + size > most:
            starts.append(item)
            total = 0
        total += size
    return list(pairwise([*starts, len(sizes)]))
