"""Identifiers of concepts in a memory: kept, edited, saved, predicted and explained."""

import json
import shutil
from pathlib import Path

import pytest

import nearspan
from nearspan.document import Document, Entity, Span
from nearspan.errors import EditError
from nearspan.memory import Editor


def with_identifiers(document: Document, **identifiers: str) -> Document:
    """A document whose entities have identifiers by their texts."""
    return document.with_entities(
        Entity(entity.span, entity.label, attributes={"identifier": identifiers[entity.text]})
        if entity.text in identifiers
        else entity
        for entity in document.entities
    )


OSLO = with_identifiers(nearspan.markup("[Eve](PERSON) left [Oslo](PLACE)"), Oslo="Q585")
ROME = with_identifiers(nearspan.markup("[Ada](PERSON) likes [Rome](PLACE)"), Rome="Q220")


@pytest.fixture(params=["instance", "classifier"])
def editor(folders, tmp_path: Path, request) -> Editor:
    shutil.copytree(folders[request.param], tmp_path / "model")
    return Editor.open(tmp_path / "model", device="cpu")


def identifiers(model: nearspan.Model, text: str) -> dict[str, str]:
    return {entity.text: entity.identifier for entity in model(text).entities}


def test_a_memory_without_identifiers_gives_none(editor: Editor):
    assert editor.model.datastore.concepts is None
    assert not any(entity.attributes for entity in editor.model("Ada lives in Oslo").entities)
    assert editor.model.explain("Ada lives in Oslo")[0].identifiers == {}


def test_an_example_gives_its_identifier_at_once_and_undo_takes_it_back(editor: Editor):
    edit = editor.add(OSLO)
    assert "'Oslo' PLACE Q585" in edit.receipt[0]
    assert identifiers(editor.model, "Ada lives in Oslo") == {"Ada": "", "Oslo": "Q585"}
    editor.undo()
    assert identifiers(editor.model, "Ada lives in Oslo") == {"Ada": "", "Oslo": ""}


def test_a_prediction_says_how_sure_it_is(editor: Editor):
    editor.add(OSLO)
    [entity] = [each for each in editor.model("Ada lives in Oslo").entities if each.label == "PLACE"]
    assert entity.to_dict()["attributes"] == {"identifier": "Q585", "identifier_share": pytest.approx(1, abs=1e-3)}


def test_identifiers_are_read_from_the_folder_again(editor: Editor):
    editor.add(OSLO)
    assert identifiers(nearspan.load(editor.folder, device="cpu"), "Ada lives in Oslo")["Oslo"] == "Q585"


def test_identifiers_stay_when_the_memory_is_written_anew(editor: Editor):
    editor.add(OSLO)
    editor.build()
    lines = (editor.folder / "memory.jsonl").read_text(encoding="utf-8").splitlines()
    assert json.loads(lines[-1])["identifiers"] == ["", "Q585"]
    assert identifiers(nearspan.load(editor.folder, device="cpu"), "Ada lives in Oslo")["Oslo"] == "Q585"


def test_a_corpus_brings_its_identifiers(editor: Editor, documents):
    editor.build([with_identifiers(each, Oslo="Q585", Rome="Q220") for each in documents])
    assert identifiers(editor.model, "Ada lives in Oslo")["Oslo"] == "Q585"


def test_a_saved_model_keeps_identifiers(editor: Editor, tmp_path: Path):
    editor.add(OSLO)
    editor.model.save(tmp_path / "copy")
    assert identifiers(nearspan.load(tmp_path / "copy", device="cpu"), "Ada lives in Oslo")["Oslo"] == "Q585"


def test_an_identifier_is_corrected(editor: Editor):
    editor.add(OSLO)
    place = editor.sentences(text="Eve left Oslo")[0]
    edit = editor.relabel(place.id, Span.of(9, 13), "PLACE", identifier="Q9")
    assert "from PLACE to PLACE Q9" in edit.summary
    assert editor.sentence(place.id).to_dict()["entities"][1]["attributes"] == {"identifier": "Q9"}
    assert identifiers(editor.model, "Ada lives in Oslo")["Oslo"] == "Q9"
    with pytest.raises(EditError, match="is PLACE already"):
        editor.relabel(place.id, Span.of(9, 13), "PLACE", identifier="Q9")
    editor.undo()
    assert identifiers(editor.model, "Ada lives in Oslo")["Oslo"] == "Q585"


def test_no_entity_has_no_identifier(editor: Editor):
    with pytest.raises(EditError, match="can have no identifier"):
        editor.relabel(0, editor.sentence(0).entities[0].span, "", identifier="Q1")


def test_another_label_takes_the_identifier_away(editor: Editor):
    editor.add(OSLO)
    place = editor.sentences(text="Eve left Oslo")[0]
    editor.relabel(place.id, Span.of(9, 13), "PERSON")
    assert editor.sentence(place.id).entities[1].identifier == ""


def test_what_is_predicted_is_not_remembered_as_an_identifier(editor: Editor):
    editor.add(OSLO)
    editor.add(editor.model("Bob lives in Oslo"))
    assert [entity.identifier for entity in editor.sentences(text="Bob lives in Oslo")[0].entities] == ["", ""]


def test_evidence_shows_the_spans_behind_an_identifier(editor: Editor):
    editor.add(OSLO)
    editor.add(ROME)
    [evidence] = [each for each in editor.model.explain("Ada lives in Oslo", k=2) if each.label == "PLACE"]
    assert next(iter(evidence.identifiers)) == "Q585"
    assert [(near.text, near.identifier) for near in evidence.linked] == [("Oslo", "Q585"), ("Rome", "Q220")]
    assert evidence.linked[0].weight == pytest.approx(evidence.identifiers["Q585"], abs=1e-6)
    content = evidence.to_dict()
    assert content["linked"][0]["identifier"] == "Q585"
    assert set(content["identifiers"]) == {"Q585", "null"}


def test_two_processes_agree_on_identifiers(editor: Editor):
    other = Editor.open(editor.folder, "cpu")
    editor.add(OSLO)
    other.refresh()
    assert identifiers(other.model, "Ada lives in Oslo")["Oslo"] == "Q585"


def test_a_surrogate_in_an_identifier_is_refused(editor: Editor):
    with pytest.raises(EditError, match="an identifier holds a lone surrogate"):
        editor.add(with_identifiers(nearspan.markup("[Oslo](PLACE)"), Oslo="\ud800"))


@pytest.mark.parametrize(("label", "identifier"), [("\ud800", ""), ("PLACE", "\ud800")])
def test_a_surrogate_in_a_correction_is_refused(editor: Editor, label: str, identifier: str):
    with pytest.raises(EditError, match="a label or an identifier holds a lone surrogate"):
        editor.relabel(0, editor.sentence(0).entities[0].span, label, identifier=identifier)


@pytest.mark.parametrize("identifier", ["-", "-1", " "])
def test_what_files_write_for_none_is_no_identifier(editor: Editor, identifier: str):
    with pytest.raises(EditError, match="is no identifier"):
        editor.relabel(0, editor.sentence(0).entities[0].span, "PLACE", identifier=identifier)
