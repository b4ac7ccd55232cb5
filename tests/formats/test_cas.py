"""UIMA CAS, with files made by the library dkpro-cassis."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import cassis
import pytest

from nearspan.document import Document, Entity, Span
from nearspan.errors import CorpusError, ResourceError
from nearspan.formats import read, write
from nearspan.formats.layers import NAMED_ENTITY, SENTENCE, TOKEN
from nearspan.formats.markup import parse, render

Put = Callable[..., Path]
TEXT = "𝒳 Ada met Bo ."
DOCUMENTS = (
    Document(
        TEXT,
        (
            Entity(Span.of(2, 5), "PER", attributes={"identifier": "Q7259"}),
            Entity(Span.of(2, 12), "Meeting", 0.5, attributes={"layer": "webanno.custom.Event", "kind": "é"}),
        ),
        "letters/1",
        ((0, 1), (2, 5)),
        ((0, 14),),
    ),
    Document("", id="none"),
)


def made() -> cassis.Cas:
    """A text with words, named entities, a layer of INCEpTION and a relation between two of its annotations."""
    types = cassis.load_dkpro_core_typesystem()
    drug = types.create_type(name="webanno.custom.Drug")
    types.create_feature(drug, name="dose", rangeType="uima.cas.String")
    relation = types.create_type(name="webanno.custom.Meets")
    for name in ("Dependent", "Governor"):
        types.create_feature(relation, name=name, rangeType="webanno.custom.Drug")
    cas = cassis.Cas(types, sofa_string=TEXT)
    for begin, end in [(0, 1), (2, 5), (6, 9), (10, 12), (13, 14)]:
        cas.add(types.get_type(TOKEN)(begin=begin, end=end))
    cas.add(types.get_type(SENTENCE)(begin=0, end=14))
    cas.add(types.get_type(NAMED_ENTITY)(begin=2, end=5, value="PER", identifier="Q7259"))
    cas.add(types.get_type(NAMED_ENTITY)(begin=10, end=12))
    first = drug(begin=6, end=9, dose="3 mg")
    cas.add(first)
    cas.add(relation(begin=6, end=9, Dependent=first, Governor=first))
    return cas


@pytest.fixture(params=["cas", "cas-json"])
def file(request: pytest.FixtureRequest, put: Put) -> tuple[str, Path]:
    cas = made()
    if request.param == "cas":
        put("TypeSystem.xml", cas.typesystem.to_xml())
        return request.param, put("news.xmi", cas.to_xmi())
    return request.param, put("news.json", cas.to_json())


def test_what_the_library_writes_is_read(file: tuple[str, Path]):
    name, path = file
    corpus = read(path)
    [document] = corpus
    assert (corpus.format, document.id, len(document.words or ())) == (name, "news", 5)
    assert render(document) == "𝒳 [Ada](PER) [met](Drug) [Bo](NamedEntity) ."
    assert document.entities[0].attributes == {"identifier": "Q7259"}
    assert document.entities[1].attributes == {"dose": "3 mg", "layer": "webanno.custom.Drug"}
    assert [problem.message for problem in corpus.problems] == ["relations: 1"]
    assert read(path.parent).documents == corpus.documents


@pytest.mark.parametrize("name", ["cas", "cas-json"])
def test_written_and_read_again_is_equal(tmp_path: Path, name: str):
    assert write(DOCUMENTS, tmp_path / "out", name) == ()
    again = read(tmp_path / "out")
    assert (again.format, again.documents, again.problems) == (name, DOCUMENTS, ())
    assert [entity.attributes for entity in again.documents[0].entities] == [
        entity.attributes for entity in DOCUMENTS[0].entities
    ]
    assert again.documents[0].entities[1].score == 0.5


def test_the_library_reads_what_is_written(tmp_path: Path):
    write(DOCUMENTS, tmp_path / "out", "cas")
    types = cassis.load_typesystem(tmp_path / "out" / "TypeSystem.xml")
    cas = cassis.load_cas_from_xmi(tmp_path / "out" / "letters" / "1.xmi", types)
    assert [entity.get_covered_text() for entity in cas.select(NAMED_ENTITY)] == ["Ada"]


def test_a_type_of_no_type_system_is_listed(file: tuple[str, Path]):
    name, path = file
    if name == "cas-json":
        pytest.skip("such a file has its types in it")
    (path.parent / "TypeSystem.xml").unlink()
    corpus = read(path)
    assert render(corpus.documents[0]) == "𝒳 [Ada](PER) met [Bo](NamedEntity) ."
    [problem] = [problem for problem in corpus.problems if problem.lost]
    assert "put the TypeSystem.xml of its project beside the file" in problem.message


def test_a_file_that_the_library_cannot_read_names_what_it_looks_like(put: Put):
    text = (
        '<xmi:XMI xmlns:xmi="http://www.omg.org/XMI" xmlns:cas="http:///uima/cas.ecore"><cas:View sofa="9"/></xmi:XMI>'
    )
    broken = text.replace('"9"', '"x"')
    with pytest.raises(CorpusError, match="looks like UIMA CAS XMI, but dkpro-cassis cannot read it"):
        read(put("a.xmi", broken))
    with pytest.raises(CorpusError, match="looks like UIMA CAS JSON, but is no JSON"):
        read(put("a.json", '{"%TYPES": '))


def test_a_type_system_that_declares_entities_is_refused(file: tuple[str, Path]):
    name, path = file
    if name == "cas":
        (path.parent / "TypeSystem.xml").write_text('<!DOCTYPE x [<!ENTITY a "b">]><x>&a;</x>')
        with pytest.raises(CorpusError, match="a UIMA type system whose document type declares"):
            read(path)


def test_discontinuous_entities_are_refused(tmp_path: Path):
    with pytest.raises(CorpusError, match="is discontinuous, which UIMA CAS cannot hold"):
        write([parse("[a](X#1) b [c](X#1)")], tmp_path / "out", "cas")


def test_attributes_that_are_no_texts_are_reported(tmp_path: Path):
    entity = replace(DOCUMENTS[0].entities[0], attributes={"ids": ["a"]})
    [change] = write([DOCUMENTS[0].with_entities([entity])], tmp_path / "out", "cas")
    assert change.message == "entities whose attributes are not kept: 1"


def test_a_missing_library_names_the_extra(file: tuple[str, Path], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(__import__("sys").modules, "cassis", None)
    with pytest.raises(ResourceError, match=r"pip install 'nearspan\[cas\]'"):
        read(file[1])


@pytest.mark.parametrize(("name", "ending"), [("cas", "xmi"), ("cas-json", "json")])
def test_an_id_with_a_folder_called_as_a_file_is_written(tmp_path: Path, name: str, ending: str):
    documents = [Document("Ada", id="x"), Document("Bo", id=f"x.{ending}/b")]
    write(documents, tmp_path / "out", name)
    assert sorted(document.id for document in read(tmp_path / "out")) == ["x", f"x.{ending}/b"]


@pytest.mark.parametrize("format", ["cas", "cas-json", "webanno"])
def test_documents_that_are_read_in_another_order_are_said(tmp_path: Path, format: str):
    """Files are read in the order of their names."""
    documents = [parse("[Ada](PER) wrote", id="b"), parse("[Bo](PER) did not", id="a")]
    [change] = (change for change in write(documents, tmp_path / "out", format) if "order" in change.message)
    assert change.message.endswith("at another place: 2")
    assert [document.id for document in read(tmp_path / "out")] == ["a", "b"]
    assert not [change for change in write(documents[::-1], tmp_path / "ordered", format) if "order" in change.message]
