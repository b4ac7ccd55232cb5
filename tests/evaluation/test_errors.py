"""Errors by kind, and false positives by what is wrong with them."""

from hypothesis import given
from hypothesis import strategies as st

import nearspan
from nearspan.document import Document, Entity, Span
from nearspan.evaluation import FalsePositives, false_positives, find_errors, score

TEXT = "x" * 40
ENTITIES = st.lists(
    st.builds(
        lambda start, width, label: Entity.of(start, start + width, label),
        st.integers(0, 30),
        st.integers(1, 9),
        st.sampled_from(["A", "B"]),
    ),
    max_size=8,
)


def document(*entities: Entity) -> Document:
    return Document(TEXT, entities)


def test_each_kind() -> None:
    gold = document(
        Entity.of(0, 2, "A"),
        Entity.of(4, 8, "A"),
        Entity.of(10, 14, "A"),
        Entity.of(16, 20, "A"),
        Entity.of(22, 24, "A"),
    )
    prediction = document(
        Entity.of(0, 2, "A"),
        Entity.of(4, 8, "B"),
        Entity.of(12, 15, "A"),
        Entity.of(18, 21, "B"),
        Entity.of(30, 31, "A"),
    )
    errors = [(error.kind, error.gold, error.predicted) for error in find_errors([gold], [prediction])]
    assert errors == [
        ("wrong label", gold.entities[1], prediction.entities[1]),
        ("wrong boundary", gold.entities[2], prediction.entities[2]),
        ("wrong label and boundary", gold.entities[3], prediction.entities[3]),
        ("missed", gold.entities[4], None),
        ("spurious", None, prediction.entities[4]),
    ]


def test_the_larger_overlap_is_the_partner() -> None:
    gold = document(Entity.of(0, 10, "A"))
    near, far = Entity.of(0, 9, "A"), Entity.of(8, 12, "A")
    predicted = {error.kind: error.predicted for error in find_errors([gold], [document(far, near)])}
    assert predicted == {"wrong boundary": near, "spurious": far}


def test_a_lost_fragment_is_a_wrong_boundary() -> None:
    gold, prediction = document(Entity(Span(((0, 2), (5, 7))), "A")), document(Entity.of(0, 2, "A"))
    assert [error.kind for error in find_errors([gold], [prediction])] == ["wrong boundary"]


def test_a_prediction_inside_a_correct_entity_is_spurious() -> None:
    gold = document(Entity.of(0, 9, "A"))
    assert [e.kind for e in find_errors([gold], [document(Entity.of(0, 9, "A"), Entity.of(2, 4, "A"))])] == ["spurious"]


@given(ENTITIES, ENTITIES)
def test_every_wrong_entity_is_in_exactly_one_error(golds: list[Entity], predictions: list[Entity]) -> None:
    gold, prediction = [document(*golds)], [document(*predictions)]
    errors, total = find_errors(gold, prediction), score(gold, prediction).total
    missed = [error.gold for error in errors if error.gold]
    spurious = [error.predicted for error in errors if error.predicted]
    assert len(missed) == len(set(missed)) == total.fn
    assert len(spurious) == len(set(spurious)) == total.fp
    assert find_errors([document(*reversed(golds))], [document(*reversed(predictions))]) == [
        type(error)(error.kind, document(*reversed(golds)), error.gold, error.predicted) for error in errors
    ]


def test_a_large_document_is_not_compared_all_with_all() -> None:
    text = "ab " * 3_000
    gold = Document(text, tuple(Entity.of(i, i + 2, "A") for i in range(0, len(text), 3)))
    prediction = Document(
        text, (Entity.of(0, len(text) - 1, "A"), *(Entity.of(i, i + 1, "A") for i in range(0, len(text), 3)))
    )
    kinds = [error.kind for error in find_errors([gold], [prediction])]
    assert kinds.count("wrong boundary") == 3_000
    assert kinds.count("spurious") == 1


GOLD = [nearspan.markup("[Ann Li](PER) in [Oslo](LOC)"), nearspan.markup("no one")]


def test_a_wrong_label_is_a_category_error_and_a_wrong_span_a_span_error():
    prediction = [nearspan.markup("[Ann](PER) Li in [Oslo](ORG)"), nearspan.markup("no [one](PER)")]
    assert false_positives(GOLD, prediction) == FalsePositives(predicted=3, category=1, span=2)


def test_right_predictions_and_misses_are_neither():
    counts = false_positives(GOLD, [nearspan.markup("[Ann Li](PER) in Oslo"), GOLD[1]])
    assert (counts.category, counts.span, counts.span_share) == (0, 0, 0.0)


def test_a_second_label_on_a_gold_span_is_a_category_error():
    both = [GOLD[0].with_entities([*GOLD[0].entities, nearspan.Entity.of(10, 14, "ORG")]), GOLD[1]]
    assert false_positives(GOLD, both) == FalsePositives(predicted=3, category=1, span=0)


def test_without_predictions_shares_are_zero():
    counts = false_positives(GOLD, [document.with_entities([]) for document in GOLD])
    assert (counts.category_share, counts.span_share) == (0.0, 0.0)
