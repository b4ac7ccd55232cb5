"""Previews: what an edit would change in held-out sentences, before it is made."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

import nearspan
from nearspan.document import Span
from nearspan.knn import Vote
from nearspan.memory import Change
from nearspan.memory.editor import Editor
from nearspan.memory.preview import _read

BROKEN = (
    "[pain in](SYMPTOM#1) arms and [legs](SYMPTOM#1)",
    "[pain in](SYMPTOM#1) feet and [arms](SYMPTOM#1)",
    "[ache in](SYMPTOM#1) legs and [feet](SYMPTOM#1)",
    "some [pain in arms](SYMPTOM) only",
    "no legs and arms here",
)
WRONG = "[Ada](PERSON) lives in [Oslo](PERSON)"


@pytest.fixture
def open_editor(folders, tmp_path: Path):
    def opened(name: str = "instance") -> Editor:
        return Editor.open(shutil.copytree(folders[name], tmp_path / name), "cpu")

    return opened


@pytest.mark.parametrize(
    ("before", "after", "gold", "effect"),
    [
        ("PLACE", "PERSON", "PLACE", "broken"),
        ("", "PERSON", "PERSON", "mended"),
        ("PLACE", "", "PERSON", "other"),
        ("PLACE", "", "", "mended"),
    ],
)
def test_a_change_mends_breaks_or_does_neither(before: str, after: str, gold: str, effect: str):
    assert Change("Ada left Oslo", "Oslo", before, after, gold).effect == effect


def test_a_preview_that_breaks_more_than_it_mends_says_so(open_editor):
    preview = open_editor().preview(lambda memory: memory.add(WRONG))
    assert [str(change) for change in preview.changes] == [
        "broken: 'Oslo' from PLACE to PERSON in 'They left Oslo in the rain'"
    ]
    assert str(preview) == (
        "in 12 held-out sentences: 0 mended, 1 broken, 0 otherwise wrong. It breaks more than it mends"
    )
    said = preview.to_dict()
    assert (said["held_out"], said["mended"], said["broken"], said["other"], said["harms"]) == (12, 0, 1, 0, True)
    assert said["changes"][0]["before"] == "PLACE"


def test_documents_of_yours_are_read_instead_of_the_memory(open_editor):
    editor = open_editor()

    def edit(memory: Editor):
        return memory.add(WRONG, weight=10)

    mine = [nearspan.markup("She left [Oslo](PLACE)"), nearspan.markup("Nobody was there")]
    preview = editor.preview(edit, mine)
    assert (preview.sentences, [change.effect for change in preview.changes]) == (2, ["broken"])
    preview = editor.preview(edit, [nearspan.markup("She left [Oslo](PERSON)")])
    assert (preview.sentences, [change.effect for change in preview.changes]) == (1, ["mended"])


def test_a_removal_and_an_undo_can_be_previewed(open_editor):
    editor = open_editor()
    assert editor.preview(lambda memory: memory.remove(0)).edit.kind == "remove"
    editor.add(WRONG)
    assert editor.preview(lambda memory: memory.undo()).edit.kind == "undo"
    assert [edit.kind for edit in editor.log()] == ["add"]


def test_what_was_edited_is_not_held_out(open_editor):
    editor = open_editor()
    before = {sentence.text for sentence in editor.sentences()}
    preview = editor.preview(lambda memory: memory.relabel(0, Span.of(0, 3), "PLACE"))
    assert preview.sentences == len(before) - 1
    assert "Ada lives in Oslo" not in [change.sentence for change in preview.changes]


@pytest.mark.parametrize("search", ["nearest", "whole"])
def test_a_sentence_is_read_as_by_a_memory_without_it(open_editor, search: str):
    editor = open_editor()
    editor.model.set_search(search)
    read = _read(editor.model, editor.model.datastore, [8])[0]
    editor.remove(8)
    text = "Nobody lives here"
    labels = {(text[: e.start].count(" "), text[: e.end].count(" ") + 1, e.label) for e in editor.model(text).entities}
    assert read == labels


def test_a_sentence_is_read_by_as_many_others_as_the_vote_says(open_editor):
    model = open_editor().model
    datastore, head = model.datastore, model.network.head
    read = _read(model, replace(datastore, vote=Vote(neighbours=1)), datastore.ids)
    head.settings = head.settings.model_copy(update={"neighbours": 1})
    assert read == _read(model, datastore, datastore.ids)


def test_an_interpolated_model_is_previewed_with_its_memory(open_editor):
    editor, text = open_editor("classifier"), "They left Oslo in the rain"
    editor.model.interpolate(0.9, "neighbours=100")
    read = _read(editor.model, editor.model.datastore, [10])[0]
    preview = editor.preview(lambda memory: memory.add(WRONG, weight=1000))
    assert preview.harms
    assert ("Oslo", "PLACE", "PERSON") in [(each.text, each.before, each.after) for each in preview.changes]
    editor.remove(10)
    found = {(text[: e.start].count(" "), text[: e.end].count(" ") + 1, e.label) for e in editor.model(text).entities}
    assert read == found


def test_a_head_that_decides_alone_is_not_changed_by_an_edit(open_editor):
    preview = open_editor("classifier").preview(lambda memory: memory.add(WRONG))
    assert (preview.changes, preview.harms) == ((), False)


def test_discontinuous_entities_of_held_out_sentences_stay_as_they_are(tiny, tmp_path: Path):
    """Fragments are linked without the memory, so that no edit changes them; what else is read there, it may."""
    documents = [nearspan.markup(text, id=f"d{number}") for number, text in enumerate(BROKEN)]
    learnt = ("training.epochs=60", "training.learning_rate=0.02", "fragment_linker.size=16")
    nearspan.train(tiny("instance", *learnt), documents, out=tmp_path / "broken", device="cpu")
    editor = Editor.open(tmp_path / "broken", "cpu")
    text = "pain in arms and legs"
    assert [entity.text for entity in editor.model(text).entities] == ["pain in legs"]
    for held_out in (None, documents):
        preview = editor.preview(lambda memory: memory.add("[some](SYMPTOM) pain in arms only"), held_out)
        assert preview.sentences == 5
        assert [change.text for change in preview.changes if change.text == "pain in legs"] == []
