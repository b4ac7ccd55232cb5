from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nearspan.document import Document, Entity
from nearspan.errors import CorpusError
from nearspan.formats import Corpus, pubtator, read, write
from nearspan.formats.markup import parse, render
from nearspan.formats.source import Source

HEAD = "7|t|Aspirin works\n7|a|We gave it.\n"


def read_corpus(text: str) -> Corpus:
    return pubtator.read(Source(Path("papers.txt"), text))


def test_title_and_abstract_are_joined_by_a_newline():
    [document] = read_corpus(HEAD + "7\t0\t7\tAspirin\tChemical\tD001241\n7\t22\t24\tit\tChemical\tD001241\n")
    assert render(document) == "[Aspirin](Chemical) works\nWe gave [it](Chemical)."
    assert document.id == "7"


def test_concept_identifiers_are_attributes(tmp_path: Path):
    lines = "7\t0\t7\tAspirin\tChemical\tD001241\n7\t8\t13\tworks\tX\tD1|D2\twork|s\n"
    path = tmp_path / "in"
    path.write_text(HEAD + lines)
    corpus = read(path)
    assert [entity.attributes.to_dict() for entity in corpus.documents[0].entities] == [
        {"identifier": "D001241"},
        {"identifier": "D1|D2", "parts": "work|s"},
    ]
    assert write(corpus[:], tmp_path / "out.pubtator") == ()
    assert (tmp_path / "out.pubtator").read_text() == HEAD + lines + "\n"


def test_relations_are_listed_once(tmp_path: Path):
    path = tmp_path / "in"
    path.write_text(HEAD + "7\tCID\tD001\tD002\n7\tCID\tD001\tD003\n")
    assert [(problem.kind, problem.message) for problem in read(path).problems] == [("left out", "relations: 2")]


def test_relations_are_left_out():
    corpus = read_corpus(HEAD + "7\tCID\tD001\tD002\n7\tAssociation\tD001\tD002\tNovel\n")
    assert (corpus.documents[0].entities, corpus.problems) == ((), ())


def test_blank_lines_or_titles_begin_documents():
    assert [document.id for document in read_corpus(f"\n{HEAD}\n8|t|b\n9|t|c\n")] == ["7", "8", "9"]


def test_an_abstract_before_its_title_is_of_the_same_document():
    corpus = read_corpus("7|a|We gave it.\n7|t|Aspirin works\n7\t0\t7\tAspirin\tChemical\n8|t|b\n8|a|c\n9|a|d\n")
    assert [document.text for document in corpus] == ["Aspirin works\nWe gave it.", "b\nc"]
    assert [(problem.kind, problem.line) for problem in corpus.problems] == [("malformed", 6)]
    assert [document.id for document in read_corpus("7|a|b\n8|t|c\n7|a|d\n\n7|t|e\n7|t|f\n")] == ["7", "8", "7", "7"]


@pytest.mark.parametrize(
    "text",
    [
        "7|t|Aspirin works\n\n7|a|We gave it.\n",
        "7|a|We gave it.\n\n7|t|Aspirin works\n",
        "7|t|Aspirin works\n7\t0\t7\tAspirin\tX\n\n\n7|a|We gave it.\n",
    ],
)
def test_a_blank_line_does_not_part_a_title_from_its_abstract(text: str):
    corpus = read_corpus(text + "7\t22\t24\tit\tX\n\n8|t|b\n")
    assert [document.text for document in corpus] == ["Aspirin works\nWe gave it.", "b"]
    assert corpus.problems == ()


def test_documents_of_one_id_stay_apart_where_each_has_the_same_text():
    corpus = read_corpus(f"{HEAD}\n7|a|c\n\n7|t|d\n7|a|e\n\n7|t|f\n\n8|a|g\n")
    assert [document.text for document in corpus] == ["Aspirin works\nWe gave it.", "\nc", "d\ne", "f", "\ng"]


def test_a_title_alone_is_the_text():
    assert [document.text for document in read_corpus("1|t|only a title\n\n2|t|title\n2|a|\n")] == [
        "only a title",
        "title\n",
    ]


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("7\t0\t7\tIbuprofen\tChemical\tD1", "misaligned"),
        ("7\t7\t0\tAspirin\tChemical\tD1", "inverted"),
        ("7\t7\t7\t\tChemical\tD1", "empty"),
        ("7\t20\t99\tit\tChemical\tD1", "out of range"),
        ("7\t-1\t7\tAspirin\tChemical\tD1", "out of range"),
        ("7\t0\t7\tAspirin", "malformed"),
        ("7\tzero\t7\tAspirin\tChemical", "malformed"),
        ("7\tzero\tseven\tAspirin\tChemical", "malformed"),
        ("7\tzero\tseven\tAspirin", "malformed"),
        ("7\t0\t7\tAspirin\t\tD1", "malformed"),
        ("8\t0\t7\tAspirin\tChemical\tD1", "malformed"),
        ("7|a|a second abstract", "malformed"),
        ("nonsense", "malformed"),
        ("7\t8\t13\tworks\tX\tD2", "duplicate"),
    ],
)
def test_wrong_lines_are_listed_with_their_line(line: str, kind: str):
    corpus = read_corpus(f"{HEAD}7\t8\t13\tworks\tX\n{line}\n")
    assert [(problem.kind, problem.line) for problem in corpus.problems] == [(kind, 4)]
    assert len(corpus.documents[0].entities) == (2 if kind == "misaligned" else 1)


def test_mentions_without_a_text_are_listed():
    corpus = read_corpus(f"{HEAD}\n7\t0\t7\tAspirin\tChemical\n")
    assert [(problem.kind, problem.line) for problem in corpus.problems] == [("malformed", 4)]


def test_crlf_is_a_line_end():
    corpus = read_corpus("1|t|Oslo\r\n1|a|b\r\n1\t0\t4\tOslo\tLOC\r\n")
    assert [render(document) for document in corpus] == ["[Oslo](LOC)\nb"]


@pytest.mark.parametrize("text", ["a\nb\nc", "a\r", "a\nb\r"])
def test_texts_of_other_lines_are_refused(tmp_path: Path, text: str):
    with pytest.raises(CorpusError, match="title and an abstract"):
        write([Document(text)], tmp_path / "out.pubtator")


def test_discontinuous_entities_are_refused(tmp_path: Path):
    with pytest.raises(CorpusError, match=r"discontinuous.*jsonl or brat"):
        write([parse("[pain](S#1) in [legs](S#1)")], tmp_path / "out.pubtator")


def test_ids_that_are_not_kept_are_reported(tmp_path: Path):
    documents = [Document("a", id=id) for id in ("", "1", "a b", "a|b", "x" * 201)]
    [change] = write(documents, tmp_path / "out.pubtator")
    assert (change.kind, change.message) == ("changed", "document ids not kept: 2")
    assert [document.id for document in read(tmp_path / "out.pubtator")] == ["1", "1", "a b", "a_b", "x" * 200]


line = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n\r"), max_size=20)
label = st.from_regex(r"\w[\w -]*", fullmatch=True)


@st.composite
def annotated(draw: st.DrawFn) -> Document:
    text = draw(line) + draw(st.just("") | line.map("\n{}".format))
    pairs = st.lists(st.integers(0, len(text)), min_size=2, max_size=2, unique=True).map(sorted)
    spans = draw(st.lists(pairs, max_size=4)) if len(text) > 1 else []
    entities = {Entity.of(start, end, draw(label).strip()) for start, end in spans}
    return Document(text, tuple(sorted(entities)), draw(st.from_regex("[0-9]{1,8}", fullmatch=True)))


@given(st.lists(annotated(), min_size=1, max_size=3))
def test_written_and_read_again_is_equal(tmp_path_factory, documents: list[Document]):
    path = tmp_path_factory.mktemp("pubtator") / "out.pubtator"
    assert write(documents, path) == ()
    again = read(path)
    assert again.documents == tuple(documents)
    assert [problem for problem in again.problems if problem.kind != "NUL byte"] == []
