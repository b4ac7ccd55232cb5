from copy import copy

import pytest

import nearspan
from nearspan.server.service import ErrorBrowser

GOLD = "It rained. [Ada](PLACE) lives in [Oslo](PLACE)"


def test_an_error_stands_in_its_sentence(instance):
    browser = ErrorBrowser(instance, [nearspan.markup(GOLD, id="d")])
    (error,) = browser.page("wrong label", "", limit=10, offset=0, scored=1.0).errors
    assert error.text == "Ada lives in Oslo"
    assert (error.gold.label, error.predicted.label, error.gold.fragments) == ("PLACE", "PERSON", [(0, 3)])


def test_errors_are_chosen_by_kind_and_label(instance):
    browser = ErrorBrowser(instance, [nearspan.markup(GOLD, id="d")])
    assert browser.page("missed", "", 10, 0, 1.0).total == 0
    assert browser.page("", "PERSON", 10, 0, 1.0).total == 1
    assert browser.page("", "", 10, 1, 1.0).errors == []


def test_a_large_corpus_is_scored_again_a_part_at_a_time(folders, monkeypatch: pytest.MonkeyPatch):
    model = nearspan.load(folders["instance"], "cpu")
    browser = ErrorBrowser(model, [nearspan.markup(GOLD, id=str(number)) for number in range(5)])
    monkeypatch.setattr("nearspan.server.service.DOCUMENTS", 2)
    clock = iter(range(100))  # seconds: one request reads two documents
    monkeypatch.setattr("nearspan.server.service.monotonic", lambda: next(clock))
    assert finish(browser.score_again(model)) == 1
    before = browser.errors
    model.datastore = copy(model.datastore)
    assert [finish(browser.score_again(model)) for _ in range(4)] == [0.4, 0.8, 1, 1]
    assert browser.errors == before
    assert browser.errors is not before


def finish(pieces) -> dict:
    """The result of work that comes in pieces."""
    while True:
        try:
            next(pieces)
        except StopIteration as end:
            return end.value


def entities(documents: list[dict]) -> list[list[tuple]]:
    return [
        [(entity["fragments"], entity["label"], round(entity["score"], 4)) for entity in document["entities"]]
        for document in documents
    ]


@pytest.mark.parametrize("between", [". ", ", "])  # many sentences, and one that is read in windows
def test_what_is_read_in_pieces_is_as_the_model_reads_it(service, between):
    text = between.join(f"Ada {'x' * number} lives in Oslo " for number in range(1, 250))
    texts = ["", text, "Nobody lives here", text[:100], " "]
    pieces = service.annotate(texts)
    assert next(pieces) is None
    documents = finish(pieces)["documents"]
    assert entities(documents) == entities([document.to_dict() for document in service.model.pipe(texts)])


def test_evidence_in_pieces_is_as_the_model_gives_it(service, limits):
    text = "Ada lives in Oslo . Bob left Rome . "
    evidence = finish(service.explain(text, 2, limits))["evidence"]
    assert evidence == [each.to_dict() for each in service.model.explain(text, 2)]
    assert finish(service.explain(" ", 2, limits)) == {"evidence": []}


def test_an_edit_between_two_pieces_leaves_an_answer_as_it_was_begun(service):
    text = "Ada lives in Oslo . " * 100
    before = finish(service.annotate([text]))
    pieces = service.annotate([text])
    next(pieces)
    for sentence in service.memory.sentences(text="Oslo", limit=100):
        service.memory.remove(sentence.id)
    assert finish(pieces) == before
    assert finish(service.annotate([text])) != before
