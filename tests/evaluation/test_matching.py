import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from seqeval.metrics import f1_score, precision_score, recall_score

from nearspan.document import Document, Entity, Span
from nearspan.errors import NearspanError
from nearspan.evaluation import Counts, score

TEXT = "x" * 40
ENTITIES = st.lists(
    st.builds(
        lambda fragments, label: Entity(Span.union((a, a + w) for a, w in fragments), label),
        st.lists(st.tuples(st.integers(0, 30), st.integers(1, 6)), min_size=1, max_size=3),
        st.sampled_from(["A", "B"]),
    ),
    max_size=8,
)


def document(*entities: Entity) -> Document:
    return Document(TEXT, entities)


def flat(tags: list[str]) -> Document:
    """One character a word: IOB2 tags become entities."""
    entities, starts = [], [i for i, tag in enumerate(tags) if tag.startswith("B")]
    for start in starts:
        end = start + 1
        while end < len(tags) and tags[end].startswith("I"):
            end += 1
        entities.append(Entity.of(start, end, tags[start][2:]))
    return Document("x" * len(tags), tuple(entities))


def iob2(generator: random.Random) -> list[str]:
    tags: list[str] = []
    while len(tags) < 30:
        label = generator.choice(["O", "PER", "LOC", "ORG"])
        width = generator.randint(1, 3)
        tags += ["O"] * width if label == "O" else [f"B-{label}"] + [f"I-{label}"] * (width - 1)
    return tags[:30]


@pytest.mark.parametrize("seed", range(20))
def test_flat_data_gives_what_conlleval_gives(seed: int) -> None:
    generator = random.Random(seed)
    gold, prediction = ([iob2(generator) for _ in range(10)] for _ in range(2))
    prediction = [a if generator.random() < 0.5 else b for a, b in zip(gold, prediction, strict=True)]
    scores = score(map(flat, gold), map(flat, prediction))
    assert scores.precision == pytest.approx(precision_score(gold, prediction))
    assert scores.recall == pytest.approx(recall_score(gold, prediction))
    assert scores.f1 == pytest.approx(f1_score(gold, prediction))
    assert scores.macro_f1 == pytest.approx(f1_score(gold, prediction, average="macro"))


@given(ENTITIES, ENTITIES, st.randoms())
def test_order_and_repetition_do_not_matter(gold: list[Entity], prediction: list[Entity], chance) -> None:
    before = score([document(*gold)], [document(*prediction)])
    chance.shuffle(gold)
    chance.shuffle(prediction)
    assert score([document(*gold, *gold)], [document(*prediction, *prediction[:2])]) == before


@given(ENTITIES)
def test_nested_gold_equals_itself_in_any_order(gold: list[Entity]) -> None:
    assert score([document(*gold)], [document(*reversed(gold))]).f1 == (1.0 if gold else 0.0)


def test_a_discontinuous_entity_needs_exactly_its_fragments() -> None:
    gold = document(Entity(Span(((0, 4), (10, 14))), "A"))
    assert score([gold], [document(Entity(Span(((0, 4), (10, 14))), "A"))]).f1 == 1.0
    assert score([gold], [document(Entity.of(0, 14, "A"))]).f1 == 0.0
    assert score([gold], [document(Entity.of(0, 4, "A"), Entity.of(10, 14, "A"))]).labels["A"] == Counts(0, 2, 1)


def test_the_models_score_does_not_count() -> None:
    assert score([document(Entity.of(0, 1, "A"))], [document(Entity.of(0, 1, "A", 0.3))]).f1 == 1.0


def test_labels_of_either_side_are_counted() -> None:
    scores = score([document(Entity.of(0, 1, "B"))], [document(Entity.of(0, 1, "A"))])
    assert scores.labels == {"A": Counts(0, 1, 0), "B": Counts(0, 0, 1)}
    assert scores.labels["B"].gold == 1
    assert scores.macro_f1 == 0.0


@pytest.mark.parametrize(("gold", "prediction"), [((), ()), ((), ("A",)), (("A",), ())])
def test_what_cannot_be_divided_is_zero(gold: tuple[str, ...], prediction: tuple[str, ...]) -> None:
    sides = [[document(*(Entity.of(0, 1, label) for label in labels))] for labels in (gold, prediction)]
    scores = score(*sides)
    assert (scores.precision, scores.recall, scores.f1, scores.macro_f1) == (0.0, 0.0, 0.0, 0.0)


def test_no_documents_at_all() -> None:
    assert score([], []).to_dict() == {
        "precision": 0.0,
        "recall": 0.0,
        "f1": 0.0,
        "macro_f1": 0.0,
        "labels": {},
    }


def test_json_holds_fractions() -> None:
    scores = score([document(Entity.of(0, 1, "A"), Entity.of(2, 3, "A"))], [document(Entity.of(0, 1, "A"))])
    measures = {"precision": 1.0, "recall": 0.5, "f1": 2 / 3}
    labels = {"A": {**measures, "gold": 2, "predicted": 1, "correct": 1}}
    assert scores.to_dict() == {**measures, "macro_f1": 2 / 3, "labels": labels}


def test_other_texts_are_refused() -> None:
    with pytest.raises(NearspanError, match=r"document 2 differs.*same order"):
        score([Document("a"), Document("b")], [Document("a"), Document("c")])


@pytest.mark.parametrize(("gold", "prediction"), [(1, 2), (2, 1)])
def test_another_number_of_documents_is_refused(gold: int, prediction: int) -> None:
    with pytest.raises(NearspanError, match=r"only 1 (gold|predicted) documents"):
        score([Document("a")] * gold, [Document("a")] * prediction)
