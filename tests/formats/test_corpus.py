import sys
from pathlib import Path

import pytest

from nearspan.document import Document, Entity, Span
from nearspan.errors import CorpusError, ResourceError
from nearspan.formats import Corpus, Problem, as_documents, read, statistics
from nearspan.formats.corpus import Place


def test_a_problem_is_printed_as_file_line_kind_message():
    assert str(Problem("empty", "no text", "a.txt", 3)) == "a.txt:3: empty: no text"
    assert str(Problem("empty", "no text", "a.txt")) == "a.txt: empty: no text"


def test_a_corpus_is_sized_and_iterable_over_its_documents():
    corpus = Corpus((Document("a"), Document("b")))
    assert len(corpus) == 2
    assert [document.text for document in corpus] == ["a", "b"]


def test_joining_keeps_everything_in_order():
    corpus = Corpus((Document("a", id="1"),), (Problem("x", "m", "f", 1),), "conll", 3)
    two = Corpus((Document("b", id="2"),), (Problem("y", "m", "g", 2),), "conll", 4)
    joined = corpus + two
    assert [document.text for document in joined] == ["a", "b"]
    assert [problem.kind for problem in joined.problems] == ["x", "y"]
    assert (joined.format, joined.docstarts) == ("conll", 7)
    assert joined.place(1).path == "2"


def test_corpora_of_different_formats_are_mixed():
    assert (Corpus((), format="conll") + Corpus((), format="brat")).format == "mixed"


def test_duplicates_go_with_the_labels_that_are_not_kept():
    place, time = Entity.of(0, 4, "PLACE"), Entity.of(8, 11, "TIME")
    corpus = Corpus((Document("Oslo in May", (place, time)),), places=(Place("a", 1, {}, (place, time)),))
    assert corpus.with_labels(["TIME"]).places[0].duplicates == (time,)


def test_a_corpus_is_a_sequence():
    documents = tuple(Document(text, id=text) for text in "abc")
    corpus = Corpus(documents, (Problem("x", "m", "f", 1),), "conll", 1, (Place("f", 1), Place("f", 2), Place("f", 3)))
    assert (corpus[0], corpus[-1], corpus.index(documents[1])) == (documents[0], documents[2], 1)
    assert documents[1] in corpus
    assert list(reversed(corpus)) == list(reversed(documents))
    part = corpus[1:]
    assert (part.documents, part.problems, part.format, part.place(0).line) == (documents[1:], (), "conll", 2)
    with pytest.raises(IndexError):
        corpus[3]


def test_what_a_corpus_looks_like():
    corpus = Corpus((Document("Oslo", (Entity.of(0, 4, "PLACE"),)),), (Problem("x", "m", "f", 1),), "conll")
    assert repr(corpus) == "Corpus(1 document, 1 entity, conll, 1 problem)"


def test_a_table_has_a_row_for_each_entity():
    entities = (Entity(Span(((0, 7), (17, 21))), "SYMPTOM", 0.5), Entity.of(8, 12, "PART"))
    corpus = Corpus((Document("pain in arms and legs", entities, "1"), Document("none", id="2")))
    table = corpus.to_pandas()
    assert list(table.columns) == ["document", "start", "end", "fragments", "label", "text", "score"]
    assert table.iloc[0].tolist() == ["1", 0, 21, ((0, 7), (17, 21)), "SYMPTOM", "pain in legs", 0.5]
    assert table["text"].tolist() == ["pain in legs", "arms"]
    assert table["score"].isna().tolist() == [False, True]


def test_a_table_without_entities_has_its_columns():
    table = Corpus((Document("none"),)).to_pandas()
    assert (len(table), table["start"].dtype.kind, table["score"].dtype.kind) == (0, "i", "f")


def test_a_table_without_pandas_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ResourceError, match=r"pip install 'nearspan\[pandas\]'"):
        Corpus(()).to_pandas()


@pytest.mark.parametrize("shape", [str, Path, lambda path: [path], lambda path: [str(path), path][:1], read])
def test_documents_may_be_given_as_paths_or_a_corpus(tmp_path: Path, shape):
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "Ada", "id": "1"}\n')
    assert as_documents(shape(path)).documents == (Document("Ada", id="1"),)
    assert statistics(shape(path))["documents"] == 1


def test_documents_may_be_given_as_such():
    documents = [Document("a"), Document("b")]
    assert as_documents(documents).documents == tuple(documents)
    assert as_documents(document for document in documents).documents == tuple(documents)
    assert len(as_documents([])) == 0
    with pytest.raises(CorpusError, match="found Document, str in a list, expected documents alone or paths alone"):
        as_documents([Document("a"), "b.jsonl"])
