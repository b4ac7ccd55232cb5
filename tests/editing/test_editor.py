"""The editor: an edited memory predicts like one that was built from the edited data."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import torch

import nearspan
from nearspan.document import Document, Entity, Span
from nearspan.editing import Editor
from nearspan.errors import EditError
from nearspan.memory import Memory
from nearspan.model import Model

TEXTS = ("Ada lives in Oslo", "Bob Stone met Eve Moon in New York", "Zed and Ada like unseen Paris", "Lima")
ADDED = nearspan.markup("[Zed](PERSON) left. [Vienna](PLACE) is far from [Lima](PLACE)", id="new")


def probabilities(model: Model, texts=TEXTS) -> torch.Tensor:
    """P(y|s) of all spans of some sentences."""
    given = model.read([sentence for text in texts for sentence in model.split(Document(text))])
    with torch.inference_mode():
        found = [
            model.network.probabilities(given.prepared.batch(ids), model.memory)[0]
            for ids in given.prepared.order(model.device)
        ]
    return torch.cat(found)


def rebuilt(model: Model, documents, removed=()) -> torch.Tensor:
    """What the model says with a memory that is built from these documents, less some spans (sentence, first, stop)."""
    found = model.labelled(documents)
    memory = model.remember(found.sentences, found.entities)
    gone = {}
    for sentence, first, stop in removed:
        gone.setdefault(sentence, []).append((first, stop))
    kept = [replace(one, removed=tuple(gone.get(number, ()))) for number, one in enumerate(memory.sentences)]
    model.memory = Memory.of(
        kept, model.labels[1:], model.network.max_width, *model.vectors(model.prepare(found.sentences))
    )
    return probabilities(model)


@pytest.fixture
def editor(folders, tmp_path: Path, request):
    name, search, kept = getattr(request, "param", ("instance", "nearest", "words"))
    shutil.copytree(folders[name], tmp_path / "model")
    editor = Editor.open(tmp_path / "model", device="cpu")
    if name == "instance":
        editor.model.search(search)
    return editor


KINDS = pytest.mark.parametrize(
    "editor", [("instance", "nearest", "words"), ("instance", "whole", "words")], indirect=True
)


@KINDS
def test_an_added_document_counts_as_if_it_had_been_there(editor: Editor, documents):
    before = probabilities(editor.model)
    edit = editor.add(ADDED)
    after = probabilities(editor.model)
    assert (edit.number, edit.kind) == (1, "add")
    assert [one.id for one in editor.sentences(document="new")] == [12, 13]
    assert (after - before).abs().max() > 0.01
    torch.testing.assert_close(after, rebuilt(editor.model, [*documents, ADDED]), atol=1e-5, rtol=0)


@KINDS
def test_a_relabelled_span_counts_as_if_it_had_always_been_so(editor: Editor, documents):
    editor.relabel(0, Span.of(0, 3), "PLACE")
    editor.relabel(0, Span.of(4, 12), "PERSON")
    editor.relabel(1, Span.of(0, 9), "")
    after = probabilities(editor.model)
    first = replace(
        documents[0], entities=tuple(Entity.of(*one) for one in ((0, 3, "PLACE"), (4, 12, "PERSON"), (13, 17, "PLACE")))
    )
    second = replace(documents[1], entities=documents[1].entities[1:])
    torch.testing.assert_close(after, rebuilt(editor.model, [first, second, *documents[2:]]), atol=1e-5, rtol=0)


@KINDS
def test_a_removed_span_votes_for_nothing(editor: Editor, documents):
    before = probabilities(editor.model)
    editor.remove(0, Span.of(0, 3))
    editor.remove(0, Span.of(4, 9))
    editor.remove(4, Span.of(0, 5))
    after = probabilities(editor.model)
    assert (after - before).abs().max() > 0.01
    fewer = [
        replace(documents[n], entities=documents[n].entities[1:]) if n in (0, 4) else documents[n] for n in range(12)
    ]
    torch.testing.assert_close(
        after, rebuilt(editor.model, fewer, [(0, 0, 1), (0, 1, 2), (4, 0, 1)]), atol=1e-5, rtol=0
    )


@KINDS
def test_removed_sentences_and_documents_are_gone(editor: Editor, documents):
    editor.remove(0)
    edit = editor.forget("d3")
    after = probabilities(editor.model)
    assert any("Ada met Bob in Paris" in line for line in edit.receipt)
    assert any("weights" in line for line in edit.receipt)
    assert [one.id for one in editor.sentences()] == [1, 2, *range(4, 12)]
    torch.testing.assert_close(
        after, rebuilt(editor.model, [documents[1], documents[2], *documents[4:]]), atol=1e-5, rtol=0
    )


@KINDS
def test_undo_brings_everything_back_exactly(editor: Editor):
    said = [probabilities(editor.model)]
    for edit in (
        lambda: editor.add(ADDED),
        lambda: editor.relabel(12, Span.of(0, 3), "PLACE"),
        lambda: editor.remove(13),
        lambda: editor.remove(0, Span.of(0, 3)),
        lambda: editor.forget("d3"),
    ):
        edit()
        said.append(probabilities(editor.model))
        again = Editor.open(editor.folder, device="cpu").model.search(editor.model.recipe.head.search)
        assert torch.equal(probabilities(again), said[-1])
        assert torch.equal(
            probabilities(nearspan.load(editor.folder, "cpu").search(again.recipe.head.search)), said[-1]
        )
    while len(said) > 1:
        said.pop()
        editor.undo()
        assert torch.equal(probabilities(editor.model), said[-1])
    with pytest.raises(EditError, match="no edit to undo"):
        editor.undo()
