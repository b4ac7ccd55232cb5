"""What receipts say of corrections that carry over, and of training that is due."""

import pytest

from nearspan.knn import MemorySentence
from nearspan.memory.receipts import training_due, training_due_lines, weights_found
from nearspan.memory.reweight import Outcome, limited_spans
from nearspan.segment import LabelledSpan

PLAIN = MemorySentence("a", 0, "Oslo", ((0, 4),), ())
CARRIED = MemorySentence("a", 0, "Oslo", ((0, 4),), (), carried=((0, 1, 9.0, 9.0),))
LIMITED = MemorySentence("a", 0, "Oslo", ((0, 4),), (), carried=((0, 1, 9.0, 0.0),))


@pytest.mark.parametrize(
    ("sentences", "reason"),
    [
        ([CARRIED] * 19 + [PLAIN] * 100, ""),
        (
            [CARRIED] * 20 + [PLAIN] * 80,
            "train again: 20 of 100 sentences are corrections that the model would misread",
        ),
        ([CARRIED] * 20 + [PLAIN] * 2_980, ""),  # less than 1% of a larger memory
        (
            [LIMITED] * 20 + [PLAIN] * 2_980,
            "train again: 20 corrections count less elsewhere than in their own sentences",
        ),
    ],
)
def test_training_is_due_after_many_corrections_or_limited_ones(sentences: list[MemorySentence], reason: str):
    assert training_due(sentences) == reason


def test_an_edit_says_that_training_is_due_where_it_makes_it_so():
    few, many = [PLAIN] * 20, [CARRIED] * 20
    assert [len(training_due_lines(*pair)) for pair in ((few, few), (few, many), (many, many), (many, few))] == [
        0,
        1,
        0,
        0,
    ]


def test_a_receipt_says_what_counts_less_elsewhere():
    limited = Outcome(carried=((0, 1, 9.0, 0.0),), limited=("Oslo",))
    summary, lines = weights_found([[7]], [limited])
    assert summary == ": 1 span counts 9 times, which is enough"
    assert lines == [
        "sentence 7: elsewhere 'Oslo' counts less than here, so that the same words in the memory keep their other "
        "labels",
    ]


@pytest.mark.parametrize(("label", "like", "limited"), [("DRUG", 500.0, True), ("", 500.0, False), ("", 90.0, True)])
def test_what_counts_less_elsewhere_than_others_would_is_limited(label: str, like: float, limited: bool):
    carried = ((0, 1, 20_000.0, like),)
    entities = (LabelledSpan.of(0, 1, label),) if label else ()
    sentence = MemorySentence("d", 0, "Zed", ((0, 3),), entities, carried=carried)
    assert limited_spans(sentence, carried) == [(0, 1)] * limited
