from hypothesis import given
from hypothesis import strategies as st

from nearspan.document import Document, Entity, Span
from nearspan.segment import Coverage, LabelledSpan, align, split

TEXT = "Pain in arms and legs. Ann left."


def test_entities_get_word_indexes_in_their_sentence() -> None:
    entities = (Entity.of(23, 26, "PER"), Entity(Span(((0, 7), (17, 21))), "ADR"), Entity.of(0, 12, "ADR"))
    alignment = align(split(Document(TEXT)), entities)
    assert alignment.golds == [
        [LabelledSpan(((0, 2), (4, 5)), "ADR"), LabelledSpan(((0, 3),), "ADR")],
        [LabelledSpan(((0, 1),), "PER")],
    ]
    assert alignment.sources == [[entities[1], entities[2]], [entities[0]]]
    assert alignment.unreachable == []


def test_what_cannot_be_reached_is_listed_with_its_reason() -> None:
    inside, crossing, blank = Entity.of(1, 4, "X"), Entity.of(17, 26, "X"), Entity.of(4, 5, "X")
    split_up = Entity(Span(((0, 4), (23, 26))), "X")
    alignment = align(split(Document(TEXT)), [inside, crossing, blank, split_up, inside])
    assert alignment.unreachable == [
        (inside, "misaligned"),
        (crossing, "crosses a sentence"),
        (blank, "misaligned"),
        (split_up, "crosses a sentence"),
    ]
    assert alignment.coverage == Coverage(1, 2, 9, 4, {"misaligned": 2, "crosses a sentence": 2})


def test_two_labels_on_one_span_are_two_entities() -> None:
    alignment = align(split(Document("Oslo")), [Entity.of(0, 4, "LOC"), Entity.of(0, 4, "ORG")])
    assert [gold.label for gold in alignment.golds[0]] == ["LOC", "ORG"]


@given(st.text("ab. \nC-", min_size=1), st.data())
def test_an_aligned_entity_has_the_characters_of_its_words(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text) - 1))
    entity = Entity.of(start, data.draw(st.integers(start + 1, len(text))), "X")
    sentences = split(Document(text))
    alignment = align(sentences, [entity])
    spans = [
        s.span(gold.first, gold.stop) for s, golds in zip(sentences, alignment.golds, strict=True) for gold in golds
    ]
    assert spans == ([] if alignment.unreachable else [entity.span])
