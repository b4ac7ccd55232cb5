"""Overlapping windows: long input is read whole, never cut."""

from __future__ import annotations

from itertools import pairwise


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


def balanced(sizes: list[int], most: int) -> list[tuple[int, int]]:
    """Runs of neighbouring items that hold at most `most` together, as few as can be and then as even as can be.

    An item that is larger than `most` is a run of its own.

    >>> balanced([4, 4, 4, 4], most=13)
    [(0, 2), (2, 4)]
    """
    low, high = 1, most
    fewest = len(_runs(sizes, most))
    while low < high:
        middle = (low + high) // 2
        if len(_runs(sizes, middle)) <= fewest:
            high = middle
        else:
            low = middle + 1
    return _runs(sizes, high)


def _runs(sizes: list[int], most: int) -> list[tuple[int, int]]:
    starts: list[int] = []
    held = 0
    for item, size in enumerate(sizes):
        if not starts or held + size > most:
            starts.append(item)
            held = 0
        held += size
    return list(pairwise([*starts, len(sizes)]))
