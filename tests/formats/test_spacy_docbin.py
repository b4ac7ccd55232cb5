"""DocBin, with files that spaCy makes and reads."""

from pathlib import Path

import pytest
from spacy.tokens import Doc, DocBin, Span
from spacy.vocab import Vocab

from nearspan.document import Document, Entity
from nearspan.document import Span as CharacterSpan
from nearspan.errors import CorpusError
from nearspan.formats import read, source, write
from nearspan.formats.markup import parse, render


def put_docs(path: Path, *docs: Doc) -> Path:
    DocBin(docs=docs, store_user_data=True).to_disk(path)
    return path


def words(*tokens: str, **more: object) -> Doc:
    return Doc(Vocab(), words=list(tokens), **more)


def load(path: Path) -> list[Doc]:
    return list(DocBin().from_disk(path).get_docs(Vocab()))


def test_entities_groups_identifiers_and_scores_are_read(tmp_path: Path):
    doc = words("Ada", "wrote", "notes")
    doc.set_ents([Span(doc, 0, 1, "PER", kb_id="Q7259")])
    doc.spans["sc"] = [Span(doc, 0, 1, "PER"), Span(doc, 0, 3, "EVENT")]
    doc.spans["sc"].attrs["scores"] = [0.5, 0.25]
    [document] = read(put_docs(tmp_path / "a.spacy", doc))
    assert [(entity.label, entity.score, dict(entity.attributes)) for entity in document.entities] == [
        ("PER", 0.5, {"kb_id": "Q7259", "groups": ("ents", "sc")}),
        ("EVENT", 0.25, {"groups": ("sc",)}),
    ]


def test_spacy_reads_what_is_written(tmp_path: Path):
    document = Document("Ada wrote.\nYes", (Entity.of(0, 3, "PER"),), "x", ((0, 3), (4, 9), (9, 10), (11, 14)))
    write([document], tmp_path / "a.spacy")
    [doc] = load(tmp_path / "a.spacy")
    assert doc.text == document.text
    assert [(entity.text, entity.label_) for entity in doc.ents] == [("Ada", "PER")]
    assert read(tmp_path / "a.spacy")[0] == document


def test_entities_that_share_words_are_spans_of_a_group(tmp_path: Path):
    write([parse("[[Ada](FIRST) Lovelace](PER)")], tmp_path / "a.spacy")
    [doc] = load(tmp_path / "a.spacy")
    assert (len(doc.ents), len(doc.spans["sc"])) == (0, 2)


def test_words_are_cut_at_entities_and_that_is_said(tmp_path: Path):
    document = Document("Ada-Lou", (Entity.of(0, 3, "PER"),), "", ((0, 7),))
    changes = write([document], tmp_path / "a.spacy")
    assert [entity.text for entity in load(tmp_path / "a.spacy")[0].ents] == ["Ada"]
    assert "words were cut" in changes[0].message


def test_discontinuous_entities_are_refused(tmp_path: Path):
    document = Document("a b c", (Entity(CharacterSpan(((0, 1), (4, 5))), "X"),))
    with pytest.raises(CorpusError, match="is discontinuous, which spacy cannot hold"):
        write([document], tmp_path / "a.spacy")


def test_a_damaged_file_is_an_error_that_names_the_format(tmp_path: Path):
    path = put_docs(tmp_path / "a.spacy", words("Ada"))
    path.write_bytes(path.read_bytes()[:-10])
    with pytest.raises(CorpusError, match=r"looks like a \.spacy file of documents"):
        read(path)


def test_sentences_are_kept(tmp_path: Path):
    doc = words("Yes", ".", "No", spaces=[False, True, False], sent_starts=[True, False, True])
    assert read(put_docs(tmp_path / "a.spacy", doc))[0].sentences == ((0, 4), (5, 7))


def test_heads_that_lead_out_of_a_document_are_refused(tmp_path: Path):
    file = DocBin(attrs=["HEAD"], docs=[words("Ada", "wrote", heads=[1, 1], deps=["a", "b"])])
    file.tokens[0][0, -1] = 99
    (tmp_path / "a.spacy").write_bytes(file.to_bytes())
    with pytest.raises(CorpusError, match="do not belong together"):
        read(tmp_path / "a.spacy")


def test_the_first_markup_comes_back(tmp_path: Path):
    write([parse("é [Oslo](LOC)")], tmp_path / "a.spacy")
    assert render(read(tmp_path / "a.spacy")[0]) == "é [Oslo](LOC)"


def test_a_file_that_unpacks_beyond_measure_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(source, "_MOST_UNPACKED", 1000)
    monkeypatch.setattr(source, "_MOST_RATIO", 2)
    path = put_docs(tmp_path / "a.spacy", words(*["Ada"] * 1000))
    with pytest.raises(CorpusError, match=r"unpacks to more than 1,\d+ bytes from \d+, as no documents do"):
        read(path)


def test_blanks_at_the_ends_of_entities_are_kept(tmp_path: Path):
    document = Document("Ada  Byron  \n wrote", (Entity.of(3, 11, "PER"), Entity.of(11, 14, "GAP")))
    assert write([document], tmp_path / "a.spacy") == ()
    [again] = read(tmp_path / "a.spacy")
    assert (again.text, again.entities) == (document.text, document.entities)
