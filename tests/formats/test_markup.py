from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nearspan.document import Document, Entity, Span
from nearspan.errors import CorpusError
from nearspan.formats.markup import parse, render


def test_nested_entities():
    document = parse("[University of [Oslo](PLACE)](ORG) opened")
    assert document.text == "University of Oslo opened"
    assert document.entities == (Entity.of(0, 18, "ORG"), Entity.of(14, 18, "PLACE"))


def test_numbered_pieces_are_one_entity():
    document = parse("[pain in](SYMPTOM#1) arms and [legs](SYMPTOM#1)")
    assert document.entities == (Entity(Span(((0, 7), (17, 21))), "SYMPTOM"),)


def test_pieces_may_lie_in_another_entity():
    document = parse("[[a](X#1) b [c](X#1)](Y) [[d](Y)](X#2) [e](X#2)")
    assert document.entities == tuple(
        sorted(
            [
                Entity(Span(((0, 1), (4, 5))), "X"),
                Entity.of(0, 5, "Y"),
                Entity.of(6, 7, "Y"),
                Entity(Span(((6, 7), (8, 9))), "X"),
            ]
        )
    )


def test_backslashes_take_the_meaning_away():
    document = parse(r"\[a\] \\ [b(c)](L\)\#1)")
    assert document.text == r"[a] \ b(c)"
    assert document.entities == (Entity.of(6, 10, "L)#1"),)


def test_crossing_entities_are_rendered_in_touching_pieces():
    document = Document("a b c", (Entity.of(0, 3, "X"), Entity.of(2, 5, "Y")))
    assert render(document) == "[a [b](Y#1)](X)[ c](Y#1)"


@pytest.mark.parametrize("text", ["[a", "a]", "[a]", "[a](", "[a]()", "[](X)", "[a](X#y)", "a\\", "[[a](X)](X)"])
def test_wrong_markup_is_an_error(text: str):
    with pytest.raises(CorpusError, match="markup"):
        parse(text)


character = st.characters(exclude_categories=["Cs"]) | st.sampled_from("[]()\\#1")


@st.composite
def annotated(draw: st.DrawFn) -> Document:
    text = draw(st.text(character, max_size=20))
    if not text:
        return Document(text)
    fragments = st.integers(0, len(text) - 1).flatmap(
        lambda start: st.tuples(st.just(start), st.integers(start + 1, len(text)))
    )
    spans = draw(st.lists(st.lists(fragments, min_size=1, max_size=3).map(Span.union), max_size=5))
    entities = {Entity(span, draw(st.text(character, min_size=1, max_size=3))) for span in spans}
    return Document(text, tuple(sorted(entities)))


@given(annotated())
def test_rendered_and_parsed_again_is_equal(document: Document):
    assert parse(render(document)) == document


@given(st.text(character, max_size=20))
def test_any_text_is_parsed_or_refused(text: str):
    with suppress(CorpusError):
        parse(text)
