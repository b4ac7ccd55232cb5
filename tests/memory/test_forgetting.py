"""Forgetting where the encoder recalls training words: those that are forgotten stop answering, until undone."""

import shutil
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

import nearspan
from nearspan.document import Document, Span
from nearspan.encoders.word_memory import WordMemory
from nearspan.errors import EditError
from nearspan.io.memory_files import clear_memory
from nearspan.knn import Datastore, assemble_datastore
from nearspan.memory.build import replace_memory
from nearspan.memory.editor import Editor
from nearspan.model import Model
from nearspan.model.folder import weights_id

SETTINGS = ("encoder.sentence_context.size=3", "head.dropout=0.0", "training.epochs=12", "training.learning_rate=0.5")
TEXTS = ("Ada met Bob in Paris", "Ada lives in Oslo", "Eve left Paris for Lima", "Zorro")
ADDED = nearspan.markup("[Ada](PERSON) saw [Paris](PLACE)", id="new")


@pytest.fixture(scope="module")
def copy() -> Document:
    return nearspan.markup("[Ada](PERSON) met [Bob](PERSON) in [Paris](PLACE)", id="copy")


@pytest.fixture(scope="module")
def folder(tiny, documents, copy, tmp_path_factory) -> Path:
    """A model of a dozen documents, the last of them a copy of the fourth."""
    out = tmp_path_factory.mktemp("hire") / "model"
    nearspan.train(tiny("hire", *SETTINGS), [*documents[:11], copy], out=out, device="cpu")
    return out


@pytest.fixture
def editor(folder: Path, tmp_path: Path) -> Editor:
    return Editor.open(shutil.copytree(folder, tmp_path / "model"), "cpu")


@torch.inference_mode()
def states(model: Model) -> torch.Tensor:
    """What the encoder makes of all words of some texts."""
    corpus = model.encode([sentence for text in TEXTS for sentence in model.split(Document(text))])
    return torch.cat([model.network.encoder(corpus.batch(torch.tensor([i]))).states[0] for i in range(4)])


def without(model: Model, gone: set[int]) -> torch.Tensor:
    """The same with a recall that was made without some of the sentences."""
    old, device = model.network.encoder.word_memory, model.device
    numbers = [number for number in range(len(model.datastore.sentences)) if number not in gone]
    sentences = [split for n in numbers for split in model.split(Document(model.datastore.sentences[n].text))]
    new = WordMemory.from_corpus(old.settings, sentences, 0, old.values.shape[1]).to(device)
    held = {tuple(place): slot for slot, place in enumerate(old.places.tolist())}
    for slot, (sentence, word) in enumerate(new.places.tolist()):
        new.values[slot] = old.values[held[numbers[sentence], word]]
    new.finish_writing()
    model.network.encoder.word_memory = new
    found = states(model)
    model.network.encoder.word_memory = old
    return found


def test_words_of_a_forgotten_document_are_recalled_no_more(editor: Editor):
    before, expected = states(editor.model), without(editor.model, {3})
    edit = editor.forget("d3")
    assert "5 words are recalled no more" in edit.receipt
    assert any("model.safetensors keeps" in line for line in edit.receipt)
    after = states(editor.model)
    assert (after - before).abs().max() > 1e-3
    torch.testing.assert_close(after, expected, atol=1e-6, rtol=1e-5)
    for other in (Editor.open(editor.folder, "cpu").model, nearspan.load(editor.folder, "cpu")):
        assert torch.equal(states(other), after)
    editor.undo()
    assert torch.equal(states(editor.model), before)


def test_a_removed_sentence_is_recalled_no_more_a_removed_span_is(editor: Editor):
    before, expected = states(editor.model), without(editor.model, {0})
    editor.remove(0, Span.of(0, 3))
    assert torch.equal(states(editor.model), before)
    assert "4 words are recalled no more" in editor.remove(0).receipt
    torch.testing.assert_close(states(editor.model), expected, atol=1e-6, rtol=1e-5)


def test_copies_are_forgotten_one_by_one(editor: Editor):
    one, both = without(editor.model, {3}), without(editor.model, {3, 11})
    editor.forget("d3")
    editor.build()
    torch.testing.assert_close(states(editor.model), one, atol=1e-6, rtol=1e-5)
    assert "5 words are recalled no more" in editor.forget("copy").receipt
    torch.testing.assert_close(states(editor.model), both, atol=1e-6, rtol=1e-5)
    editor.undo()
    torch.testing.assert_close(states(editor.model), one, atol=1e-6, rtol=1e-5)


def test_a_text_is_read_before_or_after_an_edit_not_between(editor: Editor, monkeypatch: pytest.MonkeyPatch):
    before, recall = states(editor.model), editor.model.network.encoder.word_memory
    editor.forget("d3")
    after, silent = states(editor.model), recall.forgotten_mask
    for first in ([None, silent], [silent, None]):  # what another thread does after each look at it
        seen = cycle(first)
        monkeypatch.setattr(WordMemory, "forgotten_mask", property(lambda _, seen=seen: next(seen)), raising=False)
        monkeypatch.delitem(recall.__dict__, "forgotten_mask", raising=False)
        corpus = editor.model.encode(editor.model.split(Document(TEXTS[0])))
        with torch.inference_mode():
            found = editor.model.network.encoder(corpus.batch(torch.tensor([0]))).states[0]
        assert torch.equal(found, (after if first[0] else before)[: len(found)])


def test_nothing_is_silent_while_the_next_memory_is_gathered(editor: Editor, monkeypatch: pytest.MonkeyPatch):
    seen = []

    def watched(*given: Any) -> Datastore:
        seen.append(editor.model.network.encoder.word_memory.forgotten_mask)
        return assemble_datastore(*given)

    monkeypatch.setattr("nearspan.memory.sync.assemble_datastore", watched)
    editor.forget("d3")
    assert seen == [None]


def test_the_copy_that_is_left_is_still_shown(editor: Editor):
    def shown() -> tuple[list[str], float]:
        [word] = editor.model.explain_span("Ada met Bob in Paris", Span.of(4, 7)).recalled
        return sorted(one.document for one in word.neighbours), word.unlisted

    assert shown() == (["copy", "d3"], pytest.approx(0))
    editor.forget("d3")
    assert shown() == (["copy"], pytest.approx(0))
    editor.build()
    assert shown() == (["copy"], pytest.approx(0))


def test_what_was_added_was_never_recalled(editor: Editor):
    editor.add(ADDED)
    before = states(editor.model)
    assert not any("recalled" in line for line in editor.forget("new").receipt)
    assert torch.equal(states(editor.model), before)


def test_other_processes_take_it_up(editor: Editor):
    other = Editor.open(editor.folder, "cpu")
    editor.forget("d3")
    other.refresh()
    assert torch.equal(states(other.model), states(editor.model))
    editor.undo()
    other.refresh()
    assert torch.equal(states(other.model), states(editor.model))


def test_added_sentences_are_remembered_alike_before_and_after(editor: Editor):
    editor.add(ADDED)
    editor.forget("d3")
    vectors = editor.model.datastore.rows(slice(None))
    assert torch.equal(nearspan.load(editor.folder, "cpu").datastore.rows(slice(None)), vectors)
    editor.undo()
    again = nearspan.load(editor.folder, "cpu").datastore.rows(slice(None))
    assert torch.equal(editor.model.datastore.rows(slice(None)), again)


def held(folder: Path) -> int:
    """How many slots there are numbers in."""
    values = load_file(folder / "model.safetensors")["encoder.word_memory.values"]
    return int(values.any(1).sum())


def test_building_erases_it_from_disk_and_from_other_vectors(editor: Editor):
    server = Editor.open(editor.folder, "cpu")
    slots = held(editor.folder)
    editor.forget("d3")
    after = states(editor.model)
    assert held(editor.folder) == slots
    editor.build()
    assert held(editor.folder) == slots - 5
    server.refresh()
    for model in (editor.model, server.model, nearspan.load(editor.folder, "cpu")):
        assert torch.equal(states(model), after)
    memory, model = editor.model.datastore, editor.model
    sentences = [split for one in memory.sentences for split in model.split(Document(one.text))]
    fresh = memory.with_vectors(*model.span_vectors(model.encode(sentences)))
    assert torch.equal(memory.rows(slice(None)), fresh.rows(slice(None)))


def test_another_memory_does_not_bring_it_back(editor: Editor, documents):
    editor.forget("d3")
    after = states(editor.model)
    editor.build(documents[:6])  # with the forgotten one among them
    assert torch.equal(states(nearspan.load(editor.folder, "cpu")), after)


def test_the_very_same_memory_does_not_bring_it_back_either(editor: Editor, documents, copy: Document):
    server, slots = Editor.open(editor.folder, "cpu"), held(editor.folder)
    editor.forget("d3")
    after = states(editor.model)
    editor.build([*documents[:11], copy])  # with the sentences that the folder has had from the beginning
    server.refresh()
    for model in (editor.model, server.model, nearspan.load(editor.folder, "cpu")):
        assert torch.equal(states(model), after)
    assert held(editor.folder) == slots - 5


def test_a_crash_before_the_weights_are_erased_leaves_them_silent(editor: Editor):
    editor.forget("d3")
    after, slots = states(editor.model), held(editor.folder)
    replace_memory(editor.folder, editor.model.datastore, weights_id(editor.folder))  # and no further
    again = Editor.open(editor.folder, "cpu")
    assert torch.equal(states(again.model), after)
    again.build()
    assert held(editor.folder) == slots - 5


def test_a_saved_model_has_forgotten_for_good(editor: Editor, tmp_path: Path):
    editor.forget("d3")
    editor.model.save(tmp_path / "saved")
    assert held(tmp_path / "saved") == held(editor.folder) - 5
    assert torch.equal(states(nearspan.load(tmp_path / "saved", "cpu")), states(editor.model))
    clear_memory(tmp_path / "saved")
    assert torch.equal(states(nearspan.load(tmp_path / "saved", "cpu")), states(editor.model))


@pytest.mark.parametrize("times", [0, 2])
def test_a_memory_that_would_be_read_in_other_words_is_not_built_anew(editor: Editor, monkeypatch, times: int):
    editor.forget("d3")
    before, split = editor.model.datastore, editor.model.split
    monkeypatch.setattr(editor.model, "split", lambda document: times * split(document))
    with pytest.raises(EditError, match="read in other words than they are remembered in: build from a corpus"):
        editor.build()
    assert editor.model.datastore is before
