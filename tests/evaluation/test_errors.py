from hypothesis import given
from hypothesis import strategies as st

from nearspan.document import Document, Entity, Span
from nearspan.evaluation import find_errors, score

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
    guess = document(
        Entity.of(0, 2, "A"),
        Entity.of(4, 8, "B"),
        Entity.of(12, 15, "A"),
        Entity.of(18, 21, "B"),
        Entity.of(30, 31, "A"),
    )
    found = [(error.kind, error.gold, error.predicted) for error in find_errors([gold], [guess])]
    assert found == [
        ("wrong label", gold.entities[1], guess.entities[1]),
        ("wrong boundary", gold.entities[2], guess.entities[2]),
        ("wrong label and boundary", gold.entities[3], guess.entities[3]),
        ("missed", gold.entities[4], None),
        ("spurious", None, guess.entities[4]),
    ]


def test_the_larger_overlap_is_the_partner() -> None:
    gold = document(Entity.of(0, 10, "A"))
    near, far = Entity.of(0, 9, "A"), Entity.of(8, 12, "A")
    found = {error.kind: error.predicted for error in find_errors([gold], [document(far, near)])}
    assert found == {"wrong boundary": near, "spurious": far}


def test_a_lost_fragment_is_a_wrong_boundary() -> None:
    gold, guess = document(Entity(Span(((0, 2), (5, 7))), "A")), document(Entity.of(0, 2, "A"))
    assert [error.kind for error in find_errors([gold], [guess])] == ["wrong boundary"]


def test_a_prediction_inside_a_correct_entity_is_spurious() -> None:
    gold = document(Entity.of(0, 9, "A"))
    assert [e.kind for e in find_errors([gold], [document(Entity.of(0, 9, "A"), Entity.of(2, 4, "A"))])] == ["spurious"]


@given(ENTITIES, ENTITIES)
def test_every_wrong_entity_is_in_exactly_one_error(golds: list[Entity], guesses: list[Entity]) -> None:
    gold, guess = [document(*golds)], [document(*guesses)]
    found, total = find_errors(gold, guess), score(gold, guess).total
    missed = [error.gold for error in found if error.gold]
    spurious = [error.predicted for error in found if error.predicted]
    assert len(missed) == len(set(missed)) == total.fn
    assert len(spurious) == len(set(spurious)) == total.fp
    assert find_errors([document(*reversed(golds))], [document(*reversed(guesses))]) == [
        type(error)(error.kind, document(*reversed(golds)), error.gold, error.predicted) for error in found
    ]


def test_a_large_document_is_not_compared_all_with_all() -> None:
    text = "ab " * 3_000
    gold = Document(text, tuple(Entity.of(i, i + 2, "A") for i in range(0, len(text), 3)))
    guess = Document(
        text, (Entity.of(0, len(text) - 1, "A"), *(Entity.of(i, i + 1, "A") for i in range(0, len(text), 3)))
    )
    kinds = [error.kind for error in find_errors([gold], [guess])]
    assert kinds.count("wrong boundary") == 3_000
    assert kinds.count("spurious") == 1
