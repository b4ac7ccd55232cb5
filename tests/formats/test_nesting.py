from hypothesis import given
from hypothesis import strategies as st

from nearspan.document import Span
from nearspan.formats.statistics import relations


def test_many_entities_in_one_document_are_counted_quickly():
    spans = [Span.of(4 * i, 4 * i + 3) for i in range(40_000)] + [Span.of(4 * i, 4 * i + 1) for i in range(10_000)]
    assert relations(spans) == (10_000, 0)


spans = st.lists(
    st.lists(st.integers(0, 12), min_size=2, max_size=6, unique=True)
    .map(sorted)
    .map(lambda p: Span(tuple(zip(p[: len(p) // 2 * 2 : 2], p[1::2], strict=True)))),
    max_size=8,
)


@given(spans)
def test_relations_are_those_of_comparing_all_pairs(spans: list[Span]):
    pairs = [(a, [b for j, b in enumerate(spans) if i != j]) for i, a in enumerate(spans)]
    nested = sum(any(b.covers(a) for b in rest) for a, rest in pairs)
    crossing = sum(any(a.overlaps(b) and not a.covers(b) and not b.covers(a) for b in rest) for a, rest in pairs)
    assert relations(spans) == (nested, crossing)


def test_deep_nesting_is_counted_quickly():
    assert relations([Span.of(i, 60_001 - i) for i in range(30_000)]) == (29_999, 0)


def test_a_staircase_is_counted_quickly():
    assert relations([Span.of(i, i + 30_000) for i in range(30_000)]) == (0, 30_000)
