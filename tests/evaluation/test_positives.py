import nearspan
from nearspan.evaluation import FalsePositives, false_positives

GOLD = [nearspan.markup("[Ann Li](PER) in [Oslo](LOC)"), nearspan.markup("no one")]


def test_a_wrong_label_is_a_category_error_and_a_wrong_span_a_span_error():
    guess = [nearspan.markup("[Ann](PER) Li in [Oslo](ORG)"), nearspan.markup("no [one](PER)")]
    assert false_positives(GOLD, guess) == FalsePositives(predicted=3, category=1, span=2)


def test_right_predictions_and_misses_are_neither():
    found = false_positives(GOLD, [nearspan.markup("[Ann Li](PER) in Oslo"), GOLD[1]])
    assert (found.category, found.span, found.span_share) == (0, 0, 0.0)


def test_a_second_label_on_a_gold_span_is_a_category_error():
    both = [GOLD[0].with_entities([*GOLD[0].entities, nearspan.Entity.of(10, 14, "ORG")]), GOLD[1]]
    assert false_positives(GOLD, both) == FalsePositives(predicted=3, category=1, span=0)


def test_without_predictions_shares_are_zero():
    found = false_positives(GOLD, [document.with_entities([]) for document in GOLD])
    assert (found.category_share, found.span_share) == (0.0, 0.0)
