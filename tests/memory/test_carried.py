"""Corrections that carry over: to the same words elsewhere, and to nothing else."""

import shutil
from pathlib import Path

import pytest
import torch

import nearspan
from nearspan.document import Document, Span
from nearspan.heads import Query
from nearspan.memory.editor import Editor
from nearspan.memory.reweight import NULL_LIMIT


@pytest.fixture
def editor(folders, tmp_path: Path) -> Editor:
    return Editor.open(shutil.copytree(folders["instance"], tmp_path / "model"), "cpu")


@pytest.fixture
def strange_lima(editor: Editor) -> Editor:
    """The model has learned that Lima is a place; its memory knows it as no entity only."""
    editor.forget("d6")
    editor.forget("d7")
    for text in ("They left Lima in the rain", "Nobody left Lima"):
        editor.add(text, weight=1)
    return editor


def label_of(editor: Editor, word: str, text: str) -> str:
    document = editor.model(text)
    return {entity.span.text(text): entity.label for entity in document.entities}.get(word, "")


def carried(editor: Editor, document: str) -> list[tuple[str, float, float]]:
    [view] = editor.sentences(document=document)
    return [(span.text(view.text), own, like) for span, own, like in view.carried]


def test_a_word_that_is_marked_as_no_entity_is_none_in_the_next_sentence_either(strange_lima):
    texts = ["Bob Stone lives in Lima", "Paris is far from Lima"]
    assert [label_of(strange_lima, "Lima", text) for text in texts] == ["PLACE", "PLACE"]
    edit = strange_lima.add(nearspan.markup("[Ada](PERSON) lives in Lima", id="mine"))
    assert [label_of(strange_lima, "Lima", text) for text in texts] == ["", ""]
    [(text, own, like)] = carried(strange_lima, "mine")
    assert (text, like) == ("Lima", min(own, NULL_LIMIT))
    assert len(edit.receipt) == 1
    assert [label_of(strange_lima, word, f"Bob lives in {word}") for word in ("Oslo", "Rome")] == ["PLACE", "PLACE"]
    strange_lima.undo()
    assert [label_of(strange_lima, "Lima", text) for text in texts] == ["PLACE", "PLACE"]


def test_what_would_draw_the_same_words_with_other_labels_is_limited_and_the_receipt_says_so(editor):
    edit = editor.add(nearspan.markup("[Rome](PERSON) met [Paris](PERSON)", id="wrong"))
    assert label_of(editor, "Rome", "Rome met Paris") == "PERSON"
    assert [(text, like < own) for text, own, like in carried(editor, "wrong")] == [("Rome", True), ("Paris", True)]
    assert edit.receipt[-2:] == tuple(
        f"sentence 12: elsewhere {text!r} counts less than here, so that the same words in the memory keep their "
        "other labels"
        for text in ("Rome", "Paris")
    )
    assert label_of(editor, "Rome", "Eve left New York for Rome") == "PLACE"
    assert label_of(editor, "Paris", "Ada Moon likes Paris") == "PLACE"


def test_words_that_the_memory_holds_nowhere_else_carry_over_to_where_they_are_read(editor):
    texts = ["Nobody lives in Zed", "She lived in Zed"]
    assert [label_of(editor, "Zed", text) for text in texts] == ["", ""]
    editor.add(nearspan.markup("Zoe lives in [Zed](PLACE)", id="new"))
    assert [(text, like == own) for text, own, like in carried(editor, "new")] == [("Zed", True)]
    assert [label_of(editor, "Zed", text) for text in texts] == ["PLACE", "PLACE"]


@pytest.mark.parametrize("search", ["nearest", "whole"])
def test_an_entity_knows_how_likely_it_is_without_corrections_of_other_sentences(editor, search: str):
    model, texts = editor.model.set_search(search), ["Zoe lives in Zed", "Nobody lives in Zed"]
    network, before = model.network, [model.explain_span(text, Span.of(len(text) - 3, len(text))) for text in texts]
    editor.add(nearspan.markup("Zoe lives in [Zed](PLACE)", id="new"))
    corpus = network.encode([sentence for text in texts for sentence in model.split(Document(text))])
    with torch.inference_mode():
        predicted = network.predict(Query(network, corpus.batch(torch.tensor([0, 1])), model.datastore))
    [own], [like] = ([span for span in spans if span.first == 3] for spans in predicted)
    assert own.unaided == pytest.approx(own.score, abs=1e-5)
    assert like.unaided == pytest.approx(before[1].probabilities["PLACE"], abs=1e-5)
    assert like.unaided < 0.5 < like.score


def test_what_is_no_entity_as_a_part_of_one_is_none_elsewhere_where_all_of_that_is_read(editor):
    assert label_of(editor, "Lima", "Nobody left Lima Street") == "PLACE"
    editor.add(nearspan.markup("They live in [Lima Street](PLACE)", id="mine"))
    assert "Lima" in [text for text, *_ in carried(editor, "mine")]
    assert label_of(editor, "Lima Street", "They live in Lima Street") == "PLACE"
    assert label_of(editor, "Lima", "Nobody left Lima Street") == ""
    assert label_of(editor, "Lima", "Nobody left Lima") == "PLACE"


def test_corrections_of_one_edit_that_contradict_each_other_stay_in_their_sentences(editor):
    editor.add(nearspan.markup("Zoe met [Zed](PERSON). Zoe met [Zed](PLACE) too.", id="both"))
    texts = ["Zoe met Zed.", "Zoe met Zed too."]
    assert [label_of(editor, "Zed", text) for text in texts] == ["PERSON", "PLACE"]


def test_a_sentence_as_json_says_what_carries_over(editor):
    editor.add(nearspan.markup("Zoe lives in [Zed](PLACE)", id="new"))
    [view] = editor.sentences(document="new")
    [(span, own, like)] = view.carried
    assert span == Span.of(13, 16)
    assert view.to_dict()["carried"] == [{"start": 13, "end": 16, "weight": own, "elsewhere": like}]
    assert editor.sentence(0).to_dict()["carried"] == []


def test_training_is_due_when_there_are_many_corrections(editor):
    assert editor.training_due == ""
    names = [f"Zed{number}" for number in range(20)]
    edit = editor.add(nearspan.markup(" ".join(f"Nobody lives in [{name}](PLACE)." for name in names), id="many"))
    assert editor.training_due == "train again: 20 of 32 sentences are corrections that the model would misread"
    assert edit.receipt[-1] == editor.training_due
    editor.undo()
    assert editor.training_due == ""


def test_what_is_known_of_the_memorys_words_is_kept_from_one_correction_to_the_next(editor):
    editor.add(nearspan.markup("Zoe lives in [Zed](PLACE)", id="new"))
    assert "word_index" in editor.model.datastore.__dict__
    editor.relabel(12, Span.of(13, 16), "PERSON")
    assert "word_index" in editor.model.datastore.__dict__
