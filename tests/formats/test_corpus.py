from nearspan.document import Document, Entity
from nearspan.formats import Corpus, Problem
from nearspan.formats.corpus import Place


def test_a_problem_is_printed_as_file_line_kind_message():
    assert str(Problem("empty", "no text", "a.txt", 3)) == "a.txt:3: empty: no text"
    assert str(Problem("empty", "no text", "a.txt")) == "a.txt: empty: no text"


def test_a_corpus_is_sized_and_iterable_over_its_documents():
    corpus = Corpus((Document("a"), Document("b")))
    assert len(corpus) == 2
    assert [document.text for document in corpus] == ["a", "b"]


def test_joining_keeps_everything_in_order():
    one = Corpus((Document("a", id="1"),), (Problem("x", "m", "f", 1),), "conll", 3)
    two = Corpus((Document("b", id="2"),), (Problem("y", "m", "g", 2),), "conll", 4)
    joined = one + two
    assert [document.text for document in joined] == ["a", "b"]
    assert [problem.kind for problem in joined.problems] == ["x", "y"]
    assert (joined.format, joined.docstarts) == ("conll", 7)
    assert joined.place(1).path == "2"


def test_corpora_of_different_formats_are_mixed():
    assert (Corpus((), format="conll") + Corpus((), format="brat")).format == "mixed"


def test_duplicates_go_with_the_labels_that_are_not_kept():
    place, time = Entity.of(0, 4, "PLACE"), Entity.of(8, 11, "TIME")
    corpus = Corpus((Document("Oslo in May", (place, time)),), places=(Place("a", 1, {}, (place, time)),))
    assert corpus.only(["TIME"]).places[0].duplicates == (time,)
