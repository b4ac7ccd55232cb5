import nearspan
from nearspan.server.service import ErrorBrowser

GOLD = "It rained. [Ada](PLACE) lives in [Oslo](PLACE)"


def test_an_error_stands_in_its_sentence(instance):
    browser = ErrorBrowser(instance, [nearspan.markup(GOLD, id="d")])
    (error,) = browser.page("wrong label", "", limit=10, offset=0, edited=False).errors
    assert error.text == "Ada lives in Oslo"
    assert (error.gold.label, error.predicted.label, error.gold.fragments) == ("PLACE", "PERSON", [(0, 3)])


def test_errors_are_chosen_by_kind_and_label(instance):
    browser = ErrorBrowser(instance, [nearspan.markup(GOLD, id="d")])
    assert browser.page("missed", "", 10, 0, False).total == 0
    assert browser.page("", "PERSON", 10, 0, False).total == 1
    assert browser.page("", "", 10, 1, False).errors == []
