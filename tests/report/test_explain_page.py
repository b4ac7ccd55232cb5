"""Evidence as a page: what it says, and that texts stay texts."""

import pytest

from nearspan.document import Span
from nearspan.explain.evidence import CounterEvidence, Evidence, Neighbour
from nearspan.report.rendering import explain_page as page

EVIL = '<script>alert("1")</script> & Ada'


def evidence(strength: str = "exact", **more) -> Evidence:
    near = Neighbour("PER", 0.75, Span.of(0, 8), EVIL, "<doc>", 3, 12)
    span, probabilities = Span.of(len(EVIL) - 3, len(EVIL)), {"PER": 0.9, "<b>": 0.1}
    return Evidence(span, "Ada", "PER", strength, probabilities, {"PER": [near]}, {"PER": 0.15}, against=[near], **more)


@pytest.mark.parametrize("strength", ["exact", "nearest"])
def test_texts_labels_and_ids_are_escaped_and_nothing_is_loaded(strength: str):
    probabilities = page(EVIL, [evidence(strength)], ["PER", "<b>"])
    assert "<script" not in probabilities
    assert "&lt;script&gt;" in probabilities
    assert "<doc>" not in probabilities
    assert "<b>" not in probabilities.split("<main>")[1].replace("<bdi>", "")
    assert "default-src &#39;none&#39;" in probabilities
    assert "http://" not in probabilities
    assert "https://" not in probabilities
    assert "#12" in probabilities


def test_it_says_what_would_have_to_go():
    near = evidence().neighbours["PER"][0]
    assert "Remove this training span and it is no longer an entity" in page(
        EVIL, [evidence(counter_evidence=CounterEvidence(1, "", [near]))], []
    )
    assert "No removal from the memory would change this" in page(EVIL, [evidence()], [])


def test_a_vote_says_its_share():
    assert "weight of 0.3" in page(EVIL, [evidence("nearest", weight=0.3, knn_probabilities={"PER": 1.0})], ["PER"])


def test_a_text_without_entities():
    html = page("<i>", [], [])
    assert "No entity was found" in html
    assert "&lt;i&gt;" in html
