from hypothesis import given
from hypothesis import strategies as st

from nearspan.document import Document, Entity, Span
from nearspan.evaluation import Counts, by_continuity, by_sentence_continuity, by_structure, by_width, score

TEXT = "one two three four five six seven eight nine"
ENTITIES = st.lists(
    st.builds(
        lambda start, width, label: Entity.of(start, start + width, label),
        st.integers(0, 30),
        st.integers(1, 14),
        st.sampled_from(["A", "B"]),
    ),
    max_size=8,
)


def document(*entities: Entity) -> Document:
    return Document(TEXT, entities)


def test_width_is_counted_in_words() -> None:
    broken = Entity(Span(((0, 7), (24, 27))), "A")  # one two ... six
    wide = Entity.of(0, 33, "A")
    gold = document(Entity.of(0, 3, "A"), broken, wide)
    counts = {width: scores.total for width, scores in by_width([gold], [document(broken)]).items()}
    assert counts == {"1": Counts(0, 0, 1), "3": Counts(1, 1, 1), "7+": Counts(0, 0, 1)}


def test_width_uses_the_given_words_and_counts_parts() -> None:
    gold = Document("abcd ef", (Entity.of(1, 6, "A"),), words=((0, 2), (2, 4), (5, 7)))
    assert list(by_width([gold], [gold])) == ["3"]
    assert list(by_width([gold], [gold], widest=1)) == ["2+"]


def test_structure() -> None:
    outer, middle, inner = Entity.of(0, 18, "A"), Entity.of(0, 7, "A"), Entity.of(4, 7, "A")
    alone, twin = Entity.of(19, 23, "A"), Entity.of(19, 23, "B")
    gold = document(outer, middle, inner, alone, twin)
    prediction = document(inner, Entity.of(20, 22, "A"), Entity.of(30, 33, "A"))
    counts = {name: scores.total for name, scores in by_structure([gold], [prediction]).items()}
    assert counts == {
        "both": Counts(0, 0, 1),
        "covering": Counts(0, 0, 1),
        "flat": Counts(0, 2, 2),  # also the prediction inside an entity that covers no other
        "nested": Counts(1, 1, 1),
    }


def test_wrong_predictions_are_sorted_by_the_nesting_they_are_part_of() -> None:
    outer, inner, alone = Entity.of(0, 18, "A"), Entity.of(4, 7, "A"), Entity.of(24, 33, "A")
    predictions = {
        Entity.of(8, 13, "A"): "nested",  # inside the outer one, though not near the inner one
        Entity.of(0, 23, "A"): "covering",
        Entity.of(4, 13, "A"): "both",
        Entity.of(0, 18, "B"): "covering",  # wrong label
        Entity.of(24, 27, "A"): "flat",  # inside an entity that covers none
        Entity.of(24, 38, "A"): "flat",  # around an entity that is in none
        Entity.of(14, 23, "A"): "flat",  # crossing
    }
    for prediction, name in predictions.items():
        slices = by_structure([document(outer, inner, alone)], [document(prediction)])
        assert [key for key, scores in slices.items() if scores.total.predicted] == [name], prediction


@given(ENTITIES, ENTITIES)
def test_structure_is_the_papers(golds: list[Entity], predictions: list[Entity]) -> None:
    """The rule as the paper writes it (Zhu et al., 2023, section 4.5), against the index that we use."""

    def around(outer: Entity, inner: Entity) -> bool:
        return outer.span != inner.span and outer.start <= inner.start and inner.end <= outer.end

    def expected_slice(span: Entity) -> str:
        nested = any(around(entity, span) and any(around(entity, inner) for inner in golds) for entity in golds)
        covering = any(around(span, entity) and any(around(outer, entity) for outer in golds) for entity in golds)
        return ("both" if covering else "nested") if nested else "covering" if covering else "flat"

    slices = by_structure([document(*golds)], [document(*predictions)])
    for name, scores in slices.items():
        assert scores.total.gold == sum(expected_slice(entity) == name for entity in set(golds))
        assert scores.total.predicted == sum(expected_slice(entity) == name for entity in set(predictions))


def test_inside_a_gap_is_not_nested() -> None:
    gold = document(Entity(Span(((0, 3), (14, 18))), "A"), Entity.of(4, 7, "A"), Entity.of(15, 17, "A"))
    counts = {name: scores.total.gold for name, scores in by_structure([gold], [gold]).items()}
    assert counts == {"covering": 1, "flat": 1, "nested": 1}


@given(ENTITIES, ENTITIES)
def test_slices_add_up_to_the_whole(golds: list[Entity], predictions: list[Entity]) -> None:
    gold, prediction = [document(*golds)], [document(*predictions)]
    for slices in (by_width(gold, prediction), by_structure(gold, prediction)):
        assert sum((scores.total for scores in slices.values()), Counts()) == score(gold, prediction).total


def test_discontinuous_entities_and_their_sentences() -> None:
    text = "Pain in arms and legs. No pain. Sore feet or hands."
    broken, beside = Entity(Span(((0, 7), (17, 21))), "A"), Entity.of(0, 12, "A")
    apart, wrong = Entity.of(26, 30, "A"), Entity(Span(((32, 36), (45, 50))), "A")
    gold, prediction = Document(text, (broken, beside, apart)), Document(text, (broken, apart, wrong))
    alone = {name: scores.total for name, scores in by_continuity([gold], [prediction]).items()}
    assert alone == {"contiguous": Counts(1, 1, 2), "discontinuous": Counts(1, 2, 1)}
    sentences = {name: scores.total for name, scores in by_sentence_continuity([gold], [prediction]).items()}
    assert sentences == {"contiguous": Counts(1, 2, 1), "discontinuous": Counts(1, 1, 2)}
    assert set(by_sentence_continuity([Document(text, (apart,))], [prediction])) == {"contiguous"}
