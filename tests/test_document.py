"""Spans, entities and documents: what always holds of offsets."""

import json
import pickle
from itertools import pairwise

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from nearspan.document import Attributes, Document, Entity, Span

fragment = st.tuples(st.integers(0, 30), st.integers(1, 8)).map(lambda pair: (pair[0], pair[0] + pair[1]))
fragments = st.lists(fragment, min_size=1, max_size=4)
spans = fragments.map(Span.union)


def characters(span: Span) -> set[int]:
    return {at for start, end in span.fragments for at in range(start, end)}


@given(fragments)
def test_joining_keeps_exactly_the_characters(given_fragments):
    span = Span.union(given_fragments)
    assert characters(span) == {at for start, end in given_fragments for at in range(start, end)}
    assert all(end < start for (_, end), (start, _) in pairwise(span.fragments))
    assert Span.union(reversed(given_fragments)) == span
    assert span.discontinuous == (len(span.fragments) > 1)


@given(spans, spans)
def test_covering_and_overlapping_are_of_characters(left: Span, right: Span):
    assert left.overlaps(right) == right.overlaps(left) == bool(characters(left) & characters(right))
    assert left.covers(right) == (characters(right) <= characters(left))
    assert left.covers(left)


@given(spans, st.integers(0, 9))
def test_shifting_there_and_back(span: Span, by: int):
    moved = span.shift(by)
    assert moved.shift(-by) == span
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
    document = Document(text, id="a", words=((0, 50),), sentences=((0, 50),)).with_entities(entities)
    assert list(document.entities) == sorted(entities)
    assert (document.text, document.id, document.words, document.sentences) == (text, "a", ((0, 50),), ((0, 50),))
    assert document == Document(text, id="a", words=((0, 50),), sentences=((0, 50),)).with_entities(reversed(entities))


@given(spans, st.floats(0, 1), st.floats(0, 1))
def test_scores_do_not_count_for_equality(span: Span, low: float, high: float):
    assume(low != high)
    assert Entity(span, "A", low) == Entity(span, "A", high)
    assert len({Entity(span, "A", low), Entity(span, "A", high)}) == 1
    assert Entity(span, "A") != Entity(span, "B")


@given(spans, st.text(min_size=1, max_size=3))
def test_an_entity_of_a_document_knows_its_text(span: Span, label: str):
    text = "".join(map(chr, range(200, 260)))
    entity = Entity(span, label)
    [bound] = Document(text, (entity,)).entities
    assert (entity.text, bound.text) == ("", span.text(text))
    assert bound == entity
    assert hash(bound) == hash(entity)
    assert bound.fragments == span.fragments


def test_an_entity_of_two_documents_has_the_text_of_each():
    first = Document("Ada wrote", (Entity.of(0, 3, "PER", 0.5),))
    second = Document("Bob wrote", first.entities)
    assert (first.entities[0].text, second.entities[0].text) == ("Ada", "Bob")
    assert second.entities[0].score == 0.5
    assert first.with_entities(second.entities).entities[0].text == "Ada"
    assert pickle.loads(pickle.dumps(second)).entities[0].text == "Bob"


def test_an_entity_that_has_its_text_is_not_copied():
    document = Document("Ada wrote", (Entity.of(0, 3, "PER"),))
    assert document.with_entities(document.entities).entities[0] is document.entities[0]


scores = st.none() | st.floats(0, 1)
offsets = st.none() | st.just(((0, 4), (4, 50)))


@given(st.lists(st.tuples(spans, st.sampled_from("AB"), scores), max_size=5), offsets, offsets, st.text(max_size=3))
def test_a_document_survives_json(triples, words, sentences, name):
    entities = tuple(Entity(span, label, score) for span, label, score in triples)
    document = Document("".join(map(chr, range(200, 250))), entities, name, words, sentences)
    record = document.to_dict()
    assert json.loads(json.dumps(record)) == record
    again = Document.from_dict(record)
    assert again == document
    assert [(entity.text, entity.score) for entity in again.entities] == [
        (entity.text, entity.score) for entity in document.entities
    ]
    assert again.to_dict() == record


def test_the_shape_of_a_document_in_json():
    entities = (Entity.of(8, 12, "PART", 0.5), Entity(Span(((0, 7), (17, 21))), "SYMPTOM"))
    assert Document("pain in arms and legs", entities, "1", sentences=((0, 21),)).to_dict() == {
        "id": "1",
        "text": "pain in arms and legs",
        "entities": [
            {"text": "arms", "label": "PART", "start": 8, "end": 12, "fragments": [[8, 12]], "score": 0.5},
            {
                "text": "pain in legs",
                "label": "SYMPTOM",
                "start": 0,
                "end": 21,
                "fragments": [[0, 7], [17, 21]],
                "score": None,
            },
        ],
        "sentences": [[0, 21]],
    }


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({}, "'text' must be a string"),
        ({"text": "Oslo", "entities": [{"start": 0, "end": 4}]}, "'label' must be a string"),
        ({"text": "Oslo", "entities": [{"start": 0, "label": "X"}]}, "'end' must be a whole number"),
        ({"text": "Oslo", "entities": [{"fragments": [[0]], "label": "X"}]}, r"\[start, end\] pairs"),
        ({"text": "Oslo", "entities": [{"start": 0, "end": 9, "label": "X"}]}, "ends after the text"),
        ({"text": "Oslo", "entities": [[0, 4, "X"]]}, "an entity must be an object"),
        ({"text": "Oslo", "words": "Oslo"}, r"'words' must hold \[start, end\] pairs"),
        (
            {"text": "Oslo", "entities": [{"start": 0, "end": 4, "label": "X", "score": True}]},
            "'score' must be a number",
        ),
    ],
)
def test_a_record_that_is_no_document_is_refused_by_its_key(record, message):
    with pytest.raises(ValueError, match=message):
        Document.from_dict(record)


def test_what_a_document_and_its_parts_look_like():
    document = Document("pain in arms and legs and " + "x" * 50, (Entity.of(8, 12, "PART", 0.987654),), "note-1")
    assert repr(document) == "Document('note-1', 76 characters, 1 entity: 'pain in arms and legs and xxxxxxxxxxx...')"
    assert repr(document.entities) == "(Entity(PART 8-12 'arms', score=0.988),)"
    assert repr(Entity(Span(((0, 7), (17, 21))), "SYMPTOM")) == "Entity(SYMPTOM 0-7;17-21)"


def test_documents_cannot_be_changed():
    with pytest.raises(AttributeError):
        Document("a").text = "b"


def test_what_is_no_text_is_named_as_it_is():
    with pytest.raises(TypeError, match=r"^expected a text \(str\), found NoneType: None$"):
        Document(None)  # type: ignore[arg-type]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda values: st.lists(values, max_size=3) | st.dictionaries(st.text(), values, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(), json_values))
def test_attributes_survive_json_and_pickle(values: dict):
    entity = Entity(Span.of(0, 3), "PER", attributes=values)
    again = Entity.from_dict(json.loads(json.dumps(entity.to_dict())))
    assert again.attributes == entity.attributes == pickle.loads(pickle.dumps(entity)).attributes
    assert entity.attributes.to_dict() == values


def test_attributes_do_not_count_for_equality_and_order():
    plain, known = Entity.of(0, 3, "PER"), Entity(Span.of(0, 3), "PER", attributes={"concept": "Q7259"})
    assert plain == known
    assert {plain} == {known}
    assert not plain < known
    assert not known < plain


def test_a_document_and_other_entities_keep_attributes():
    known = Entity(Span.of(0, 3), "PER", attributes={"concept": "Q7259"})
    document = Document("Ada wrote").with_entities([Entity.of(4, 9, "ACT"), known])
    assert [entity.attributes for entity in document.entities] == [{"concept": "Q7259"}, {}]
    assert Document.from_dict(document.to_dict()).entities[0].attributes == {"concept": "Q7259"}


def test_an_entity_without_attributes_says_nothing_of_them():
    assert "attributes" not in Entity.of(0, 3, "PER").to_dict()
    assert repr(Entity(Span.of(0, 3), "PER", attributes={"note": None})) == "Entity(PER 0-3, note=None)"


def test_attributes_cannot_be_changed():
    notes = ["a"]
    attributes = Attributes({"notes": notes, "more": {"x": 1}})
    notes.append("b")
    assert attributes["notes"] == ("a",)
    with pytest.raises(TypeError):
        attributes["more"]["x"] = 2


@pytest.mark.parametrize("values", [{"x": float("nan")}, {1: "x"}, {"x": {1: 2}}, {"x": object()}, ["x"]])
def test_attributes_that_json_cannot_hold_are_refused(values):
    with pytest.raises(ValueError, match="attribute"):
        Entity(Span.of(0, 1), "X", attributes=values)
