import pytest

import nearspan
from nearspan.document import Document, Entity
from nearspan.errors import NearspanError
from nearspan.evaluation import SpanClassificationScores
from nearspan.spans.string_majority import StringMajority


def test_entities_that_got_no_label_are_wrong():
    gold = [Entity.of(0, 1, "A"), Entity.of(2, 3, "A"), Entity.of(4, 5, "B")]
    scores = SpanClassificationScores.of(gold, ["A", None, "A"])
    assert scores.accuracy == pytest.approx(1 / 3)
    assert scores.macro == pytest.approx((2 / 4 + 0) / 2)
    assert {name: (one.gold, one.typed, one.correct) for name, one in scores.labels.items()} == {
        "A": (2, 2, 1),
        "B": (1, 0, 0),
    }


def test_no_entities_have_no_score():
    assert SpanClassificationScores.of([], []).accuracy == 0.0


def test_typing_scores_have_no_name_of_recognition():
    found = SpanClassificationScores.of([Entity.of(0, 1, "A")], ["A"]).to_dict()
    names = set(found) | set(found["labels"]["A"])
    assert names.isdisjoint({"f1", "precision", "recall", "macro_f1"})


def test_the_majority_by_string_falls_back_and_breaks_ties_by_the_whole():
    texts = ["[x](A) [x](B) [y](B)", "[z](C)"]
    strings = StringMajority.of(nearspan.markup(text) for text in texts)
    assert [strings.label(text) for text in ("x", "y", "z", "new")] == ["B", "B", "C", "B"]
    assert StringMajority.from_dict(strings.to_dict()) == strings
    assert StringMajority.of([]).label("x") == ""


def test_a_model_that_finds_entities_is_not_scored_by_typing(classifier):
    with pytest.raises(NearspanError, match="finds entities"):
        nearspan.evaluate_span_classification(classifier, [Document("Ada")])
