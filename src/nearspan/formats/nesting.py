"""How spans lie to each other: inside, or across."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections import Counter
from collections.abc import Iterable

from nearspan.document import Span


def relations(spans: Iterable[Span]) -> tuple[int, int]:
    """How many spans lie in another one (or equal it), and how many cross another one.

    Contiguous spans take n log n steps; a discontinuous one meets all that are open where it begins.

    >>> relations([Span.of(0, 9), Span.of(0, 4), Span.of(5, 12)])
    (1, 2)
    """
    counts = Counter(spans)
    ordered = sorted(counts, key=lambda span: (span.start, -span.end))
    nested = {span for span, count in counts.items() if count > 1}
    crossing: set[Span] = set()
    _compare_contiguous([span for span in ordered if not span.discontinuous], nested, crossing)
    if any(span.discontinuous for span in ordered):
        _compare_discontinuous(ordered, nested, crossing)
    return sum(counts[span] for span in nested), sum(counts[span] for span in crossing)


def _compare_contiguous(ordered: list[Span], nested: set[Span], crossing: set[Span]) -> None:
    """Sweep over spans by start, the longer first: an open end before a span's own end is a crossing."""
    ends: list[int] = []
    calm: list[tuple[int, Span]] = []  # open spans that cross none so far, by their ends
    for span in ordered:
        del ends[: bisect_right(ends, span.start)]
        del calm[: bisect_right(calm, span.start, key=_end)]
        if ends and ends[-1] >= span.end:
            nested.add(span)
        if ends and ends[0] < span.end:
            met = bisect_left(calm, span.end, key=_end)
            crossing.add(span)
            crossing.update(other for _, other in calm[:met])
            del calm[:met]
        else:
            insort(calm, (span.end, span))
        insort(ends, span.end)


def _end(pair: tuple[int, Span]) -> int:
    return pair[0]


def _compare_discontinuous(ordered: list[Span], nested: set[Span], crossing: set[Span]) -> None:
    """Compare the pairs of which one is discontinuous."""
    open_spans: list[Span] = []
    discontinuous: list[Span] = []
    for span in ordered:
        open_spans = [other for other in open_spans if other.end > span.start]
        discontinuous = [other for other in discontinuous if other.end > span.start]
        for other in open_spans if span.discontinuous else discontinuous:
            if other.covers(span):
                nested.add(span)
            elif span.covers(other):
                nested.add(other)
            elif span.overlaps(other):
                crossing.update((span, other))
        open_spans.append(span)
        if span.discontinuous:
            discontinuous.append(span)
