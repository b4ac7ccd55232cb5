"""What candidates can reach, and why not the rest."""

import nearspan
from nearspan.document import Document, Entity, Span
from nearspan.segment import LabelledSpan, split
from nearspan.spans import CandidateRules, align_to_candidates
from nearspan.spans.reachability import Reachability


def reach(document: Document, max_width: int = 3):
    return align_to_candidates(split(document), document.entities, CandidateRules(max_width))


def entities(reachability: Reachability) -> list[list[tuple[int, int, str]]]:
    """First word, stop and label of what each sentence has, where all of it is contiguous."""
    return [
        [(*fragment, gold.label) for gold in golds for (fragment,) in [gold.fragments]]
        for golds in reachability.entities
    ]


def test_every_reason_is_counted():
    text = "Ada met Bob at the old Bank of England. Eve left."
    document = Document(
        text,
        (
            Entity.of(0, 3, "PER"),
            Entity.of(0, 3, "FIRST"),  # second label on a span
            Entity.of(8, 10, "PER"),  # cuts Bob in two
            Entity.of(15, 38, "ORG"),  # five words and more
            Entity(Span(((4, 7), (40, 43))), "X"),  # in two sentences
            Entity(Span(((0, 3), (8, 11))), "PAIR"),  # discontinuous
            Entity.of(40, 43, "PER"),
        ),
    )
    reachability = reach(document)
    assert dict(reachability.coverage.unreachable) == {
        "second label on a span": 1,
        "misaligned": 1,
        "wider than 3 words": 1,
        "crosses a sentence": 1,
        "discontinuous": 1,
    }
    assert entities(reachability) == [[(0, 1, "PER")], [(0, 1, "PER")]]
    assert reachability.coverage.entities == 7
    assert reachability.coverage.reachable == 2


def test_tagged_words_reach_any_width_but_no_overlaps():
    document = nearspan.markup("[the old Bank of [England](PLACE)](ORG) and [Ada](PER)")
    reachability = align_to_candidates(split(document), document.entities, CandidateRules(2, tags_words=True))
    assert entities(reachability) == [[(0, 5, "ORG"), (6, 7, "PER")]]
    assert dict(reachability.coverage.unreachable) == {"overlapping a wider entity": 1}


def test_second_labels_are_reached_where_a_span_may_have_several():
    document = Document("a b c", (Entity.of(0, 3, "X"), Entity.of(2, 5, "Y"), Entity.of(0, 3, "Z")))
    reachability = align_to_candidates(split(document), document.entities, CandidateRules(3, multilabel=True))
    assert entities(reachability) == [[(0, 2, "X"), (1, 3, "Y"), (0, 2, "Z")]]
    assert reachability.coverage.unreachable == {}


def test_nested_and_crossing_entities_are_reached():
    document = Document("a b c", (Entity.of(0, 3, "X"), Entity.of(2, 5, "Y"), Entity.of(2, 3, "Z")))
    assert entities(reach(document)) == [[(0, 2, "X"), (1, 3, "Y"), (1, 2, "Z")]]
    assert reach(document).coverage.reachable == 3


def test_a_width_of_exactly_the_limit_is_reached():
    document = nearspan.markup("[a b c](X) [a b c d](Y)")
    assert entities(reach(document, 3)) == [[(0, 3, "X")]]


def test_a_document_without_entities():
    assert reach(Document("Nothing here.")).entities == [[]]
    assert reach(Document("")).entities == []


def test_discontinuous_entities_are_reached_where_they_can_be_joined():
    document = nearspan.markup("[a b](X#1) c [d](X#1) e ; [f](Y#1) g [h i j k](Y#1) ; [l](X)")
    reachability = align_to_candidates(split(document), document.entities, CandidateRules(3, links_fragments=True))
    assert reachability.entities == [[LabelledSpan.of(13, 14, "X"), LabelledSpan(((0, 2), (3, 4)), "X")]]
    assert reachability.coverage.unreachable == {"wider than 3 words": 1}


def test_fragments_that_touch_cannot_be_joined():
    document = Document("a b c", (Entity(Span(((0, 1), (2, 3))), "X"),))
    reachability = align_to_candidates(split(document), document.entities, CandidateRules(3, links_fragments=True))
    assert reachability.entities == [[]]
    assert reachability.coverage.unreachable == {"of fragments that touch": 1}


def test_tagged_words_that_no_window_of_a_long_sentence_holds_are_counted():
    document = Document(" ".join(["word"] * 1500), (Entity.of(880 * 5, 1010 * 5 - 1, "LONG"),))
    reachability = align_to_candidates(split(document), document.entities, CandidateRules(6, tags_words=True))
    assert reachability.entities == [[]]
    assert reachability.coverage.unreachable == {"cut by the windows of a very long sentence": 1}
