"""Edits as pure data."""

import pytest

from nearspan.document import Document, Entity, Span
from nearspan.errors import EditError
from nearspan.knn import MemorySentence
from nearspan.memory.edits import Edit, Revision, read_document, relabel, word_runs, write_document
from nearspan.segment import LabelledSpan

ADA_A, ADA_B, BOB = LabelledSpan.of(0, 1, "A"), LabelledSpan.of(0, 1, "B"), LabelledSpan.of(2, 3, "A")
ONE = MemorySentence("d", 0, "Ada met Bob", ((0, 3), (4, 7), (8, 11)), (ADA_A, ADA_B, BOB))


def read(document: Document) -> list[MemorySentence]:
    return [MemorySentence(document.id, 0, document.text, ((0, len(document.text)),), ())]


def test_a_relabelled_span_has_this_label_alone():
    assert relabel(ONE, ((0, 1),), "C").entities == (LabelledSpan.of(0, 1, "C"), BOB)
    assert relabel(ONE, ((0, 1),), "").entities == (BOB,)
    assert relabel(ONE, ((1, 3),), "B").entities == (ADA_A, ADA_B, LabelledSpan.of(1, 3, "B"), BOB)


def test_a_removed_span_is_no_entity_and_comes_back_with_a_label():
    gone = relabel(ONE, ((0, 1),), None)
    assert (gone.entities, gone.removed) == ((BOB,), ((0, 1),))
    assert relabel(gone, ((0, 1),), "A").removed == ()
    assert relabel(gone, ((0, 1),), "").removed == ()


@pytest.mark.parametrize(("start", "end", "words"), [(0, 3, (0, 1)), (0, 7, (0, 2)), (4, 11, (1, 3))])
def test_a_span_is_whole_words(start, end, words):
    assert word_runs(ONE, 7, Span.of(start, end)) == (words,)


@pytest.mark.parametrize("span", [Span.of(0, 2), Span.of(1, 3), Span.of(0, 99), Span.of(3, 4)])
def test_a_span_that_is_not_is_refused(span):
    with pytest.raises(EditError, match="not a run of whole words of sentence 7"):
        word_runs(ONE, 7, span)


def test_fragments_are_one_entity_or_nothing():
    runs = word_runs(ONE, 7, Span(((0, 3), (8, 11))))
    assert runs == ((0, 1), (2, 3))
    one = relabel(ONE, runs, "A")
    assert one.entities == (*ONE.entities, LabelledSpan(runs, "A"))
    assert relabel(one, runs, "B").entities == (*ONE.entities, LabelledSpan(runs, "B"))
    assert relabel(one, runs, "") == relabel(one, runs, None) == ONE
    with pytest.raises(EditError, match="not made of runs of whole words of sentence 7"):
        word_runs(ONE, 7, Span(((0, 2), (8, 11))))
    with pytest.raises(EditError, match="no word lies between"):
        word_runs(ONE, 7, Span(((0, 3), (4, 7))))


def test_ids_are_never_given_twice():
    document = write_document(Document("x"))
    edits = [
        Edit(1, "", "add", "", {"document": document, "first": 1, "count": 1}),
        Edit(2, "", "undo", "", {"undoes": 1}),
        Edit(3, "", "add", "", {"document": document, "first": 2, "count": 1}),
    ]
    found = Revision.of([ONE], edits, read)
    assert (sorted(found.sentences), found.next_id) == ([0, 2], 3)


def test_a_document_that_is_split_otherwise_now_is_not_taken():
    edits = [Edit(1, "", "add", "", {"document": write_document(Document("x")), "first": 1, "count": 2})]
    with pytest.raises(ValueError, match="has 1 sentences, not 2"):
        Revision.of([ONE], edits, read)


def test_documents_survive_the_journal():
    document = Document(
        "pain in arms and legs", (Entity(Span(((0, 7), (17, 21))), "S"),), "id", ((0, 4), (5, 7)), ((0, 21),)
    )
    assert read_document(write_document(document)) == document
    assert read_document(write_document(Document("x"))) == Document("x")
