"""Training data: sentences, entities over their words, and a fingerprint."""

import nearspan
from nearspan.document import Document, Entity
from nearspan.segment import LabelledSpan, split
from nearspan.training.data import TrainingData, digest


def training_data(document: Document, max_width: int = 6) -> TrainingData:
    return TrainingData.of(
        [document], nearspan.recipe("classifier").override([f"suggester.max_width={max_width}"]), split
    )


def test_entities_are_placed_on_words_and_counted():
    data = training_data(nearspan.markup("[Ada](B) met [New York](A). [Bob](B) left."))
    bob = LabelledSpan.of(0, 1, "B")
    assert data.entities == [[bob, LabelledSpan.of(2, 4, "A")], [bob]]
    assert data.labels == ["A", "B"]
    assert data.coverage.entities == 3


def test_windows_of_a_long_sentence_share_what_lies_in_both():
    words = [f"w{number}" for number in range(1500)]
    text = " ".join(words)
    at = text.index("w950")
    data = training_data(Document(text, (Entity.of(at, at + 4, "A"),)))
    assert [len(sentence) for sentence in data.sentences] == [1000, 600]
    assert data.entities == [[LabelledSpan.of(950, 951, "A")], [LabelledSpan.of(50, 51, "A")]]
    assert data.coverage.entities == 1


def test_the_fingerprint_changes_with_text_and_annotation_only():
    document = nearspan.markup("[Ada](A) left [Oslo](B)")
    assert digest([document]) == digest([document.with_entities(reversed(document.entities))])
    changed = [
        nearspan.markup("[Ada](A) left [Oslo](A)"),
        nearspan.markup("[Ada](A) left Oslo"),
        nearspan.markup("[Ada](A) left [Rome](B)"),
        Document(document.text, document.entities, words=((0, 3), (4, 8), (9, 13))),
    ]
    assert len({digest([each]) for each in [document, *changed]}) == 5
    assert digest([document, document]) != digest([document])


def test_an_entity_as_wide_as_a_window_overlaps_is_in_a_window_wherever_it_stands():
    text = " ".join(f"w{number}" for number in range(1500))
    starts = [text.index(f"w{number} ") for number in range(880, 1000, 10)]
    ends = [text.index(f"w{number} ") - 1 for number in range(1020, 1140, 10)]
    entities = [Entity.of(start, end, "A") for start, end in zip(starts, ends, strict=True)]  # 140 words each
    data = training_data(Document(text, tuple(entities)), max_width=150)
    assert data.coverage.reachable == len(entities)
    assert {gold.width for entities in data.entities for gold in entities} == {140}
    assert sum(map(len, data.entities)) >= len(entities)
