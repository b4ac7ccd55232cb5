import nearspan
from nearspan.server.mistakes import Mistakes

GOLD = "It rained. [Ada](PLACE) lives in [Oslo](PLACE)"


def test_an_error_stands_in_its_sentence(instance):
    mistakes = Mistakes(instance, [nearspan.markup(GOLD, id="d")])
    (shown,) = mistakes.page("wrong label", "", limit=10, offset=0, edited=False).errors
    assert shown.text == "Ada lives in Oslo"
    assert (shown.gold.label, shown.predicted.label, shown.gold.fragments) == ("PLACE", "PERSON", [(0, 3)])


def test_errors_are_chosen_by_kind_and_label(instance):
    mistakes = Mistakes(instance, [nearspan.markup(GOLD, id="d")])
    assert mistakes.page("missed", "", 10, 0, False).total == 0
    assert mistakes.page("", "PERSON", 10, 0, False).total == 1
    assert mistakes.page("", "", 10, 1, False).errors == []
