from hypothesis import given
from hypothesis import strategies as st

from nearspan.document import Entity, Span
from nearspan.evaluation.matching import Overlaps

SPANS = st.builds(
    lambda fragments: Span.union((a, a + w) for a, w in fragments),
    st.lists(st.tuples(st.integers(0, 300), st.integers(1, 100)), min_size=1, max_size=3),
)


@given(st.lists(SPANS, max_size=8), SPANS)
def test_finds_what_comparing_all_with_all_finds(spans: list[Span], span: Span) -> None:
    entities = {Entity(indexed, "A") for indexed in spans}
    assert Overlaps(entities).of(span) == sorted(e for e in entities if e.span.overlaps(span))
