"""Labels that a model has by examples in its memory alone."""

import shutil
from pathlib import Path

import pytest
import torch

import nearspan
from nearspan.document import Document
from nearspan.errors import EditError
from nearspan.knn import Datastore
from nearspan.memory import Editor

DRUG = "[Aspirin](DRUG) helped [Ada](PERSON)"


@pytest.fixture
def editor(folders, tmp_path: Path, request) -> Editor:
    shutil.copytree(folders[getattr(request, "param", "instance")], tmp_path / "model")
    return Editor.open(tmp_path / "model", device="cpu")


def read(model: nearspan.Model, text: str) -> list[tuple[str, str]]:
    return [(entity.label, entity.text) for entity in model(text).entities]


def same(left: Datastore, right: Datastore) -> None:
    assert left.names == right.names
    assert torch.equal(left.labels, right.labels)


def test_a_new_label_is_predicted_at_once_and_undone(editor: Editor):
    model, before = editor.model, editor.model.datastore
    edit = editor.add(DRUG)
    assert edit.receipt[0] == "DRUG is a label of the model from now on"
    assert model.labels[1:] == [*model.trained_labels, "DRUG"]
    assert ("DRUG", "Aspirin") in read(model, "Aspirin helped Ada")
    undone = editor.undo()
    assert undone.receipt == ("DRUG is no label of the model any more: nothing in the memory has it",)
    assert model.labels[1:] == model.trained_labels
    same(model.datastore, before)


def test_what_looks_like_a_slip_is_said(editor: Editor):
    assert "if PERSON was meant, undo this" in editor.add("[Zed](PERSN) sings").receipt[0]


def test_evidence_for_a_new_label_is_exact(editor: Editor):
    editor.add(DRUG)
    [evidence] = [each for each in editor.model.explain("Aspirin helped Ada") if each.label == "DRUG"]
    listed = sum(neighbour.weight for neighbour in evidence.neighbours["DRUG"])
    assert listed + evidence.unlisted["DRUG"] == pytest.approx(evidence.probabilities["DRUG"], abs=1e-6)
    assert evidence.counter_evidence.label == ""


def test_labels_are_numbered_alike_whoever_reads_the_folder(editor: Editor):
    other = Editor.open(editor.folder, "cpu")
    editor.add("[Zagreus](GOD) sang")
    editor.add(DRUG)
    editor.relabel(0, editor.sentence(0).entities[0].span, "ALIAS")
    other.refresh()
    again = nearspan.load(editor.folder, device="cpu")
    for model in (editor.model, other.model, again):
        assert model.labels[-3:] == ["ALIAS", "DRUG", "GOD"]
        same(model.datastore, editor.model.datastore)
    editor.undo()
    assert editor.model.labels[-2:] == ["DRUG", "GOD"]
    assert ("DRUG", "Aspirin") in read(editor.model, "Aspirin helped Ada")


def test_a_saved_and_a_built_memory_keep_new_labels(editor: Editor, tmp_path: Path):
    editor.add(DRUG)
    editor.model.save(tmp_path / "copy")
    editor.build()
    for folder in (tmp_path / "copy", editor.folder):
        model = nearspan.load(folder, device="cpu")
        assert model.labels == editor.model.labels
        assert model.own_labels == model.trained_labels
        same(model.datastore, editor.model.datastore)


def test_a_removed_label_is_gone(editor: Editor):
    number = editor.add(DRUG).change["first"]
    editor.add("[Nectar](DRINK) flowed")
    edit = editor.remove(number)
    assert edit.receipt[0].startswith("DRUG is no label of the model any more")
    assert editor.model.labels[-1] == "DRINK"


@pytest.mark.parametrize("make", [lambda e: e.add(DRUG, new_labels=False), lambda e: e.build([], new_labels=False)])
def test_new_labels_can_be_refused(editor: Editor, make):
    with pytest.raises(EditError):
        make(editor)
    with pytest.raises(EditError, match="no label 'DRUG'"):
        editor.build([nearspan.markup(DRUG)], new_labels=False)
    assert editor.log() == []


def test_thresholds_of_new_labels_are_kept(editor: Editor):
    editor.add(DRUG)
    editor.model.set_threshold({"DRUG": 1.0})
    editor.model.save_calibration()
    again = nearspan.load(editor.folder, device="cpu")
    assert read(again, "Aspirin helped Ada") == [("PERSON", "Ada")]
    editor.undo()
    assert nearspan.load(editor.folder, device="cpu").labels[1:] == again.trained_labels


@pytest.mark.parametrize("editor", ["classifier"], indirect=True)
def test_a_head_with_weights_has_new_labels_by_interpolation(editor: Editor):
    assert "once its memory is interpolated" in editor.add(DRUG).receipt[0]
    model = editor.model
    assert "DRUG" not in [label for label, _ in read(model, "Aspirin helped Ada")]
    model.interpolate(0.9, "neighbours=1")
    assert ("DRUG", "Aspirin") in read(model, "Aspirin helped Ada")
    [evidence] = [each for each in model.explain("Aspirin helped Ada") if each.label == "DRUG"]
    assert evidence.probabilities["DRUG"] == pytest.approx(0.9 * evidence.knn_probabilities["DRUG"], abs=1e-5)
    with pytest.raises(EditError, match="weights for the labels"):
        editor.build([nearspan.markup(DRUG)], labels_from=[nearspan.markup(DRUG)])


def test_a_model_goes_onto_another_label_set(editor: Editor, tmp_path: Path):
    documents = [
        nearspan.markup("[Aspirin](DRUG) helped Ada"),
        nearspan.markup("[Nectar](DRINK) flowed"),
        nearspan.markup("It rained."),
    ]
    editor.model.calibration = None
    editor.model.set_threshold({"PERSON": 0.5})
    editor.model.save_calibration()
    editor.build(documents, labels_from=documents)
    again = nearspan.load(editor.folder, device="cpu")
    for model in (editor.model, again):
        assert model.labels == ["", "DRINK", "DRUG"]
        assert model.thresholds == {}
        assert {label for label, _ in read(model, "Aspirin helped Ada")} <= {"DRINK", "DRUG"}
    again.save(tmp_path / "copy")
    assert nearspan.load(tmp_path / "copy", device="cpu").labels == again.labels
    editor.add("[Ada](PERSON) came")
    assert editor.model.labels == ["", "DRINK", "DRUG", "PERSON"]
    assert editor.model.own_labels == ["DRINK", "DRUG"]


@pytest.mark.parametrize(
    ("corpus", "others", "message"),
    [
        (None, [nearspan.markup(DRUG)], "built from documents"),
        ([nearspan.markup(DRUG)], [Document("It rained.")], "no entity"),
    ],
)
def test_a_label_set_that_cannot_be_taken_is_refused(editor: Editor, corpus, others, message: str):
    with pytest.raises(EditError, match=message):
        editor.build(corpus, labels_from=others)
    assert editor.model.labels[1:] == editor.model.trained_labels
