"""Span classification: labels of given spans, and the majority by string."""

import pytest

import nearspan
from nearspan.errors import NearspanError
from nearspan.evaluation import Counts, score_labels
from nearspan.spans.string_majority import StringMajority


def test_spans_that_got_no_label_are_wrong():
    scores = score_labels(["A", "A", "B"], ["A", None, "A"])
    assert scores.accuracy == scores.value == pytest.approx(1 / 3)
    assert scores.macro_f1 == pytest.approx((2 / 4 + 0) / 2)
    assert scores.labels == {"A": Counts(correct=1, predicted=2, gold=2), "B": Counts(correct=0, predicted=0, gold=1)}


def test_no_spans_have_no_score():
    assert score_labels([], []).accuracy == 0.0


def test_scores_have_no_name_of_recognition():
    content = score_labels(["A"], ["A"]).to_dict()
    assert content["task"] == "span classification"
    names = set(content) | set(content["labels"]["A"])
    assert names.isdisjoint({"f1", "precision", "recall", "macro_f1"})


@pytest.mark.parametrize("name", ["precision", "recall", "f1"])
def test_recognition_scores_are_refused(name: str):
    with pytest.raises(NearspanError, match=r"no precision, recall or F1 of recognition: read `accuracy`"):
        getattr(score_labels(["A"], ["A"]), name)


def test_the_majority_by_string_falls_back_to_the_most_frequent_label_and_breaks_ties_by_it():
    texts = ["[x](A) [x](B) [y](B)", "[z](C)"]
    strings = StringMajority.of(nearspan.markup(text) for text in texts)
    assert [strings.label(text) for text in ("x", "y", "z", "new")] == ["B", "B", "C", "B"]
    assert StringMajority.from_dict(strings.to_dict()) == strings
    assert StringMajority.of([]).label("x") == ""
