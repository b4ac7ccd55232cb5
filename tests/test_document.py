"""Spans, entities and documents: what always holds of offsets."""

from itertools import pairwise

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from nearspan.document import Document, Entity, Span

fragment = st.tuples(st.integers(0, 30), st.integers(1, 8)).map(lambda pair: (pair[0], pair[0] + pair[1]))
fragments = st.lists(fragment, min_size=1, max_size=4)
spans = fragments.map(Span.joining)


def characters(span: Span) -> set[int]:
    return {at for start, end in span.fragments for at in range(start, end)}


@given(fragments)
def test_joining_keeps_exactly_the_characters(given_fragments):
    span = Span.joining(given_fragments)
    assert characters(span) == {at for start, end in given_fragments for at in range(start, end)}
    assert all(end < start for (_, end), (start, _) in pairwise(span.fragments))
    assert Span.joining(reversed(given_fragments)) == span
    assert span.discontinuous == (len(span.fragments) > 1)


@given(spans, spans)
def test_covering_and_overlapping_are_of_characters(one: Span, other: Span):
    assert one.overlaps(other) == other.overlaps(one) == bool(characters(one) & characters(other))
    assert one.covers(other) == (characters(other) <= characters(one))
    assert one.covers(one)


@given(spans, st.integers(0, 9))
def test_shifting_there_and_back(span: Span, by: int):
    moved = span.shifted(by)
    assert moved.shifted(-by) == span
    assert (moved.start, moved.end) == (span.start + by, span.end + by)
    text = "".join(map(chr, range(200, 260)))
    assert moved.text("x" * by + text) == span.text(text)


@given(st.lists(st.tuples(st.integers(-2, 9), st.integers(-2, 9)), max_size=3))
def test_a_span_is_in_order_or_refused(given_fragments):
    ok = bool(given_fragments) and all(0 <= start < end for start, end in given_fragments)
    ok = ok and all(a[1] <= b[0] for a, b in pairwise(given_fragments))
    if ok:
        assert Span(tuple(given_fragments)).fragments == tuple(given_fragments)
    else:
        with pytest.raises(ValueError, match="fragment"):
            Span(tuple(given_fragments))


@given(st.text(max_size=20), spans, st.text(min_size=1, max_size=3))
def test_an_entity_lies_inside_its_text(text: str, span: Span, label: str):
    if span.end > len(text):
        with pytest.raises(ValueError, match="ends after the text"):
            Document(text, (Entity(span, label),))
    else:
        assert Document(text, (Entity(span, label),)).entities[0].span == span


@given(st.text(min_size=1, max_size=30), st.data())
def test_the_text_of_a_span_is_the_slice_for_any_unicode(text: str, data: st.DataObject):
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    assert Span.of(start, end).text(text) == text[start:end]


@given(st.lists(st.tuples(spans, st.sampled_from("AB")), max_size=5))
def test_with_entities_puts_them_in_order(pairs):
    entities = [Entity(span, label) for span, label in pairs]
    text = "x" * 50
    found = Document(text, id="a", words=((0, 50),), sentences=((0, 50),)).with_entities(entities)
    assert list(found.entities) == sorted(entities)
    assert (found.text, found.id, found.words, found.sentences) == (text, "a", ((0, 50),), ((0, 50),))
    assert found == Document(text, id="a", words=((0, 50),), sentences=((0, 50),)).with_entities(reversed(entities))


@given(spans, st.floats(0, 1), st.floats(0, 1))
def test_scores_do_not_count_for_equality(span: Span, one: float, other: float):
    assume(one != other)
    assert Entity(span, "A", one) == Entity(span, "A", other)
    assert len({Entity(span, "A", one), Entity(span, "A", other)}) == 1
    assert Entity(span, "A") != Entity(span, "B")


def test_documents_cannot_be_changed():
    with pytest.raises(AttributeError):
        Document("a").text = "b"
