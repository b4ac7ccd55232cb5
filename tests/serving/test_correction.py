from dataclasses import replace

import pytest

from nearspan.document import Span
from nearspan.editing import Editor
from nearspan.errors import EditError, NearspanError
from nearspan.serving.correction import CORRECTIONS, MOST, correct

TEXT = "Zoe lives in Oslo"


@pytest.fixture
def editor(folder) -> Editor:
    return Editor.open(folder, "cpu")


def kept(editor: Editor) -> list[list[tuple[str, str]]]:
    sentences = editor.sentences(document=CORRECTIONS, limit=100)
    return [[(entity.span.text(one.text), entity.label) for entity in one.entities] for one in sentences]


def said(editor: Editor, text: str) -> dict[str, str]:
    (document,) = editor.model.annotate([text])
    return {entity.span.text(text): entity.label for entity in document.entities}


@pytest.mark.parametrize("label", ["PLACE", "PERSON"])
def test_the_sentence_is_read_as_corrected(editor, label):
    done = correct(editor, "It rained. " + TEXT, Span.of(24, 28), label)
    assert done.label == label
    assert said(editor, TEXT)["Oslo"] == label


def test_a_new_sentence_is_remembered_with_what_was_found_in_it(editor):
    before = said(editor, TEXT)
    correct(editor, TEXT, Span.of(0, 3), "PLACE")
    assert kept(editor)[0] == [("Zoe", "PLACE"), ("Oslo", before["Oslo"])]


def test_a_second_correction_changes_every_copy(editor):
    correct(editor, TEXT, Span.of(0, 3), "PLACE")
    copies = len(kept(editor))
    done = correct(editor, TEXT, Span.of(0, 3), "")
    assert [edit.kind for edit in done.edits[:copies]] == ["relabel"] * copies
    assert all(("Zoe", "PLACE") not in one for one in kept(editor))


@pytest.mark.parametrize(("growth", "tried"), [(2.0, MOST), (1.0, 2)])
def test_copies_are_tried_while_they_help_and_taken_back_where_they_are_not_enough(editor, monkeypatch, growth, tried):
    real, asked, most = editor.model.neighbours, [], []

    def stubborn(document, span, count):
        asked.append(span)
        most.append(len(kept(editor)))
        grown = {"PLACE": 1e-6 * growth ** len(asked)}
        return replace(real(document, span, count), label="PERSON", probabilities=grown)

    monkeypatch.setattr(editor.model, "neighbours", stubborn)
    done = correct(editor, TEXT, Span.of(13, 17), "PLACE")
    assert (max(most), len(kept(editor)), len(done.edits), done.label) == (tried, 1, 1, "PERSON")
    editor.undo()
    assert kept(editor) == []


def test_copies_stay_where_they_were_enough(editor, monkeypatch):
    real = editor.model.neighbours

    def convinced_by_four(document, span, count):
        label = "PLACE" if len(kept(editor)) >= 4 else "PERSON"
        return replace(real(document, span, count), label=label, probabilities={"PLACE": 2.0 ** len(kept(editor))})

    monkeypatch.setattr(editor.model, "neighbours", convinced_by_four)
    done = correct(editor, TEXT, Span.of(13, 17), "PLACE")
    assert (len(kept(editor)), len(done.edits), done.label) == (4, 3, "PLACE")


def test_where_the_memory_decides_nothing_one_copy_is_enough(editor):
    correct(editor, TEXT, Span.of(0, 3), "PLACE", again=False)
    assert len(kept(editor)) == 1


def test_what_is_right_already_is_not_corrected(editor):
    with pytest.raises(EditError, match="already"):
        correct(editor, "Ada lives in Oslo", Span.of(13, 17), "PLACE")
    assert editor.log() == []


@pytest.mark.parametrize("span", [Span.of(0, 1), Span.of(3, 14), Span(((0, 2), (11, 14)))])
def test_spans_that_the_model_does_not_consider_are_refused(editor, span):
    with pytest.raises(NearspanError, match=r"whole words|joins no fragments"):
        correct(editor, "It rained. Ada left", span, "PLACE")
    assert editor.log() == []
