from hypothesis import given
from hypothesis import strategies as st

from nearspan.document import Document, Entity, Span
from nearspan.evaluation import Counts, by_structure, by_width, score

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
    guess = document(inner, Entity.of(20, 22, "A"), Entity.of(30, 33, "A"))
    counts = {name: scores.total for name, scores in by_structure([gold], [guess]).items()}
    assert counts == {
        "both": Counts(0, 0, 1),
        "covering": Counts(0, 0, 1),
        "flat": Counts(0, 1, 2),
        "nested": Counts(1, 2, 1),
    }


def test_inside_a_gap_is_not_nested() -> None:
    gold = document(Entity(Span(((0, 3), (14, 18))), "A"), Entity.of(4, 7, "A"), Entity.of(15, 17, "A"))
    counts = {name: scores.total.gold for name, scores in by_structure([gold], [gold]).items()}
    assert counts == {"covering": 1, "flat": 1, "nested": 1}


@given(ENTITIES, ENTITIES)
def test_slices_add_up_to_the_whole(golds: list[Entity], guesses: list[Entity]) -> None:
    gold, guess = [document(*golds)], [document(*guesses)]
    for slices in (by_width(gold, guess), by_structure(gold, guess)):
        assert sum((scores.total for scores in slices.values()), Counts()) == score(gold, guess).total
