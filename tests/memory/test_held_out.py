"""How far a correction may go, by the memory's own spans of the same words."""

import math
import shutil
from pathlib import Path

import pytest
import torch

import nearspan
from nearspan.document import Span
from nearspan.memory.editor import Editor
from nearspan.memory.held_out import SURE, HeldOut


@pytest.fixture(scope="module")
def pooled(tmp_path_factory, tiny, documents) -> Path:
    """A model whose memory is kept by spans."""
    path = tmp_path_factory.mktemp("models") / "pooled"
    nearspan.train(tiny("instance", "representation.kind=pooling"), documents, out=path, device="cpu")
    return path


def row_of(editor: Editor, sentence: int, first: int, stop: int) -> int:
    memory = editor.model.datastore
    here = (memory.sentence == list(memory.ids).index(sentence)) & (memory.first == first) & (memory.stop == stop)
    return int(here.nonzero())


def room(editor: Editor, row: int) -> float:
    return HeldOut(editor.model, editor.model.datastore).room(row)


@pytest.mark.parametrize("search", ["nearest", "whole"])
@pytest.mark.parametrize("kind", ["words", "spans"])
def test_a_held_out_span_is_judged_as_by_a_memory_without_its_sentence(folders, pooled, tmp_path, kind, search):
    editor = Editor.open(shutil.copytree(folders["instance"] if kind == "words" else pooled, tmp_path / "model"), "cpu")
    editor.model.set_search(search)
    row = row_of(editor, 7, 5, 6)  # She went to Lima with Ada
    sums = HeldOut(editor.model, editor.model.datastore)._log_sums(editor.model.datastore.labels.new_tensor([row]))
    expected = dict(zip(editor.model.labels, sums[0].softmax(0).tolist(), strict=True))
    editor.remove(7)
    found = editor.model.explain_span("She went to Lima with Ada", Span.of(22, 25)).probabilities
    assert found == pytest.approx(expected, abs=1e-4)


def test_a_correction_has_room_until_it_would_draw_the_same_words_with_another_label(folders, tmp_path):
    """Rome is a place in two sentences of the memory; let it be a person in a third."""
    editor = Editor.open(shutil.copytree(folders["instance"], tmp_path / "model"), "cpu")
    editor.add(nearspan.markup("[Rome](PERSON) met Ada", id="wrong"), weight=1)
    row = row_of(editor, 12, 0, 1)
    most = room(editor, row)
    memory, held_out = editor.model.datastore, HeldOut(editor.model, editor.model.datastore)
    person, place = (editor.model.labels.index(label) for label in ("PERSON", "PLACE"))
    rows = held_out._same_words(row)
    assert set(memory.labels[rows].tolist()) == {place}
    with torch.inference_mode():
        sums, scores = (
            held_out._log_sums(rows),
            memory.rows(rows).float() @ memory.rows(rows.new_tensor([row]))[0].float(),
        )
    left = []
    for before, score in zip(sums.tolist(), scores.tolist(), strict=True):
        right = before.index(max(before)) == place
        drawn = math.log(math.exp(before[person]) + math.exp(score + most + SURE))  # with all the room there is
        left += [before[place] - drawn] if right else []
    assert min(left) == pytest.approx(0, abs=1e-3)


def test_a_correction_has_all_room_where_nothing_stands_against_it(folders, tmp_path):
    editor = Editor.open(shutil.copytree(folders["instance"], tmp_path / "model"), "cpu")
    assert room(editor, row_of(editor, 5, 4, 5)) == math.inf  # 21 is in no other sentence
    assert room(editor, row_of(editor, 6, 5, 6)) == math.inf  # Lima is a place in its other sentence too
