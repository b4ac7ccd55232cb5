"""Whatever a crash leaves of an edit, a build or a training: what was acknowledged is there, or nothing is opened."""

import shutil
from pathlib import Path

import pytest
from tests.memory.crash_states import Recorder, crash_states, put

import nearspan
from nearspan.document import Document
from nearspan.errors import NearspanError
from nearspan.io.tensors import load_tensors
from nearspan.memory.editor import Editor


@pytest.fixture
def editor(folders, tmp_path: Path) -> Editor:
    return Editor.open(shutil.copytree(folders["instance"], tmp_path / "model"), device="cpu")


def held(editor: Editor) -> list[tuple]:
    """What a memory holds, whatever its sentences' ids are."""
    views = editor.sentences(limit=99)
    return [(view.text, view.entities, view.removed, view.weight, view.span_weights) for view in views]


def open_states(recorder: Recorder, editor: Editor, place: Path):
    """An editor of each state that a crash may leave, and how much was acknowledged before it."""
    for number, (done, tree) in enumerate(crash_states(recorder)):
        folder = put(tree, place / str(number))
        yield done, Editor(folder, editor.model)
        shutil.rmtree(folder)


def test_an_edit_that_was_acknowledged_outlives_every_crash(editor: Editor, tmp_path: Path, monkeypatch):
    recorder, after = Recorder(editor.folder), [held(editor)]
    with recorder.following(monkeypatch):
        for edit in (
            lambda: editor.add("[Zed](PERSON) left [Lima](PLACE)", weight=1),
            lambda: editor.forget("d3"),
            lambda: editor.remove(0),
            editor.undo,
        ):
            edit()
            recorder.acknowledge()
            after.append(held(editor))
    states = 0
    for done, opened in open_states(recorder, editor, tmp_path / "states"):
        edits = len(opened.log())
        assert edits in (done, done + 1)
        assert held(opened) == after[edits]
        states += 1
    assert states > 40


def test_a_build_leaves_the_old_memory_or_the_new_one(editor: Editor, tmp_path: Path, monkeypatch):
    editor.forget("d3")
    before = held(editor)
    recorder = Recorder(editor.folder)
    with recorder.following(monkeypatch):
        editor.build()
        recorder.acknowledge()
        editor.remove(0)
        recorder.acknowledge()
    states = 0
    for done, opened in open_states(recorder, editor, tmp_path / "states"):
        kinds = [edit.kind for edit in opened.log()]
        assert kinds in {0: (["forget"], []), 1: ([], ["remove"]), 2: (["remove"],)}[done]
        assert held(opened) == (before[1:] if kinds == ["remove"] else before)
        states += 1
    assert states > 100


def test_a_training_leaves_its_model_or_a_checkpoint_to_go_on_from(tiny, documents, tmp_path: Path, monkeypatch):
    recipe, folder = tiny("instance", "training.epochs=1"), tmp_path / "model"
    folder.mkdir()
    recorder = Recorder(folder)
    with recorder.following(monkeypatch):
        nearspan.train(recipe, documents, out=folder, device="cpu")
        recorder.acknowledge()
    text = Document("Ada lives in Oslo")
    expected, opened, refused = nearspan.load(folder, device="cpu")(text), 0, 0
    for number, (done, tree) in enumerate(crash_states(recorder, most=5)):
        place = put(tree, tmp_path / "states" / str(number))
        place.mkdir(parents=True, exist_ok=True)
        try:
            assert nearspan.load(place, device="cpu")(text) == expected
            opened += 1
        except NearspanError:
            assert not done
            if any(name.startswith(("model", "memory", "vocabularies/")) for name in tree):
                load_tensors(place / "checkpoint.safetensors")
            refused += 1
        shutil.rmtree(place)
    assert opened
    assert refused > 50
