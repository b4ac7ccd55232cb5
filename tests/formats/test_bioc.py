"""BioC, with files made by the library `bioc` and with hostile ones."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import bioc
import pytest
from bioc import biocjson, biocxml

from nearspan.document import Document, Entity, Span
from nearspan.errors import CorpusError, ResourceError
from nearspan.formats import read, write
from nearspan.formats.markup import parse, render

Put = Callable[..., Path]
ASPIRIN = Entity(Span.of(0, 7), "Chemical", 0.25, attributes={"identifier": "MESH:D001241"})
DOCUMENTS = (
    Document("Aspirin, 𝒳 & <b>\r\nlegs", (ASPIRIN, Entity(Span(((9, 10), (18, 22))), "S")), "7"),
    Document("", id="empty"),
)


def collection() -> bioc.BioCCollection:
    """A title and an abstract of sentences, as the library makes them."""
    title, abstract, sentence = bioc.BioCPassage(), bioc.BioCPassage(), bioc.BioCSentence()
    title.offset, title.text, title.infons = 0, "Aspirin works", {"type": "title"}
    abstract.offset = sentence.offset = 14
    sentence.text = "pain in arms and legs"
    drug, pain = bioc.BioCAnnotation(), bioc.BioCAnnotation()
    drug.id, drug.text, drug.infons = "1", "Aspirin", {"type": "Chemical", "identifier": "MESH:D001241"}
    drug.add_location(bioc.BioCLocation(0, 7))
    pain.id, pain.text, pain.infons = "2", "pain in legs", {"type": "S"}
    pain.locations = [bioc.BioCLocation(14, 7), bioc.BioCLocation(31, 4)]
    relation = bioc.BioCRelation()
    relation.id = "R1"
    title.add_annotation(drug)
    title.add_relation(relation)
    sentence.add_annotation(pain)
    abstract.add_sentence(sentence)
    document = bioc.BioCDocument()
    document.id = "7"
    document.passages = [title, abstract]
    made = bioc.BioCCollection()
    made.add_document(document)
    return made


@pytest.mark.parametrize(("name", "dumps"), [("bioc", biocxml.dumps), ("bioc-json", biocjson.dumps)])
def test_what_the_library_writes_is_read(put: Put, name: str, dumps: Callable[[object], str]):
    corpus = read(put("data", dumps(collection())))
    assert corpus.format == name
    assert render(corpus.documents[0]) == ("[Aspirin](Chemical) works\n[pain in](S#1) arms and [legs](S#1)")
    assert corpus.documents[0].entities[0].attributes == {"identifier": "MESH:D001241"}
    assert {problem.message for problem in corpus.problems} == {"relations: 1", "infons of passages: 1"}


@pytest.mark.parametrize(("name", "load"), [("x.xml", biocxml.load), ("x.biocjson", biocjson.load)])
def test_what_is_written_is_read_by_us_and_the_library(tmp_path: Path, name: str, load: Callable[[object], object]):
    path = tmp_path / name
    assert write(DOCUMENTS, path) == ()
    again = read(path)
    assert (again.documents, again.problems) == (DOCUMENTS, ())
    first = again.documents[0].entities[0]
    assert (first.score, first.attributes) == (0.25, ASPIRIN.attributes)
    with path.open("rb") as file:
        assert [document.id for document in load(file).documents] == ["7", "empty"]


def test_json_keeps_any_attribute_and_xml_texts_alone(tmp_path: Path):
    entity = replace(ASPIRIN, attributes={"ids": ["a", "b"], "note": "x"})
    document = Document("Aspirin", (entity,))
    assert write([document], tmp_path / "x.biocjson") == ()
    assert read(tmp_path / "x.biocjson").documents[0].entities[0].attributes == entity.attributes
    [change] = write([document], tmp_path / "x.xml")
    assert change.message == "entities whose attributes are not kept: 1"
    assert read(tmp_path / "x.xml").documents[0].entities[0].attributes == {"note": "x"}


def test_one_json_document_a_line(put: Put):
    records = [biocjson.toJSON(document) for document in collection().documents] * 2
    corpus = read(put("data.jsonl", "".join(json.dumps(record) + "\n" for record in records)))
    assert (corpus.format, len(corpus), corpus.entity_count) == ("bioc-json", 2, 4)


def test_a_character_that_xml_has_not_is_refused(tmp_path: Path):
    with pytest.raises(CorpusError, match=r"holds the character U\+0000, which XML cannot hold"):
        write([Document("a\0")], tmp_path / "x.xml")


def test_a_dtd_that_is_only_named_is_passed_over(put: Put):
    text = biocxml.dumps(collection()).replace("<collection>", '<!DOCTYPE collection SYSTEM "BioC.dtd"><collection>')
    assert read(put("data", text)).entity_count == 2


@pytest.mark.parametrize(
    "subset",
    [
        '<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">',
        '<!ENTITY a SYSTEM "file:///etc/passwd">',
        '<!ENTITY % a SYSTEM "http://127.0.0.1/x"> %a;',
        "<!ELEMENT collection ANY>",
    ],
)
@pytest.mark.parametrize("root", ["collection", "xmi:XMI"])
def test_declarations_are_refused(put: Put, subset: str, root: str):
    text = f'<?xml version="1.0"?><!DOCTYPE {root} [{subset}]><{root} xmlns:xmi="http://www.omg.org/XMI">&b;</{root}>'
    with pytest.raises(CorpusError, match="take out what stands in"):
        read(put("data.xmi", text))


def test_a_document_that_is_wrong_costs_no_other(put: Put):
    text = biocxml.dumps(collection())
    document = text[text.index("<document>") : text.index("</collection>")]
    wrong = document.replace("<offset>0</offset>", "<offset>zero</offset>")
    corpus = read(put("data", text.replace(document, wrong + document)))
    assert (len(corpus), corpus.entity_count) == (1, 2)
    assert [(problem.kind, problem.lost) for problem in corpus.problems][:1] == [("malformed", 2)]


def test_an_annotation_outside_of_documents_is_listed(put: Put):
    corpus = read(
        put("data", biocxml.dumps(collection()).replace("</collection>", '<annotation id="3"/></collection>'))
    )
    assert [problem.lost for problem in corpus.problems if problem.kind == "malformed"] == [1]


def test_xml_is_read_in_the_encoding_that_it_declares(put: Put):
    text = biocxml.dumps(collection()).replace("utf-8", "ISO-8859-1").replace("works", "wörks")
    corpus = read(put("data", text.encode("latin-1")))
    assert corpus.documents[0].text.startswith("Aspirin wörks")
    assert "broken UTF-8" not in {problem.kind for problem in corpus.problems}


def test_broken_xml_names_what_it_looks_like(put: Put):
    with pytest.raises(CorpusError, match=r"looks like BioC XML, but is no well-formed XML: .* at line 1, column"):
        read(put("data", "<collection><document>"))


def test_broken_json_names_what_it_looks_like(put: Put):
    with pytest.raises(CorpusError, match="looks like BioC JSON, but is no JSON"):
        read(put("data", '{"documents": [{"passages": ['))


def test_a_missing_library_names_the_extra(put: Put, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(__import__("sys").modules, "bioc.biocxml", None)
    with pytest.raises(ResourceError, match=r"pip install 'nearspan\[bioc\]'"):
        read(put("data", "<collection/>"))


def test_nested_entities_are_kept(tmp_path: Path):
    document = parse("[University of [Oslo](PLACE)](ORG)")
    write([document], tmp_path / "x.xml")
    assert read(tmp_path / "x.xml").documents[0].entities == document.entities


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252"])
def test_an_encoding_is_read_by_any_name_that_python_knows(tmp_path: Path, encoding: str):
    annotation = '<annotation id="1"><infon key="type">P</infon><location offset="2" length="3"/></annotation>'
    passage = f"<passage><offset>0</offset><text>É Ada</text>{annotation}</passage>"
    text = f"<collection><document><id>1</id>{passage}</document></collection>"
    (tmp_path / "a.xml").write_bytes(f'<?xml version="1.0" encoding="{encoding}"?>{text}'.encode(encoding))
    assert render(read(tmp_path / "a.xml")[0]) == "É [Ada](P)"
