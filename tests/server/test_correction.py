import shutil

import pytest

import nearspan
from nearspan.document import Document, Span
from nearspan.errors import EditError, NearspanError
from nearspan.memory import Editor
from nearspan.server.correction import CORRECTIONS, correct

TEXT = "Zoe lives in Oslo"


@pytest.fixture
def editor(folder) -> Editor:
    return nearspan.load(folder, "cpu").memory


def corrections(editor: Editor) -> list[list[tuple[str, str]]]:
    sentences = editor.sentences(document=CORRECTIONS, limit=100)
    return [[(entity.span.text(view.text), entity.label) for entity in view.entities] for view in sentences]


def predictions(editor: Editor, text: str) -> dict[str, str]:
    (document,) = editor.model.pipe([text])
    return {entity.span.text(text): entity.label for entity in document.entities}


@pytest.mark.parametrize("label", ["PLACE", "PERSON"])
def test_the_sentence_is_read_as_corrected(editor, label):
    done = correct(editor, "It rained. " + TEXT, Span.of(24, 28), label)
    assert done.label == label
    assert predictions(editor, TEXT)["Oslo"] == label


def test_a_new_sentence_is_remembered_with_what_was_found_in_it(editor):
    before = predictions(editor, TEXT)
    correct(editor, TEXT, Span.of(0, 3), "PLACE")
    assert corrections(editor)[0] == [("Zoe", "PLACE"), ("Oslo", before["Oslo"])]


def test_what_a_threshold_leaves_out_is_remembered_too(editor):
    before = predictions(editor, TEXT)
    editor.model.set_threshold(1.0)
    assert predictions(editor, TEXT) == {}
    correct(editor, TEXT, Span.of(0, 3), "PLACE")
    assert corrections(editor)[0] == [("Zoe", "PLACE"), ("Oslo", before["Oslo"])]


def test_a_correction_is_one_edit_and_undone_at_once(editor):
    before = predictions(editor, TEXT)
    done = correct(editor, TEXT, Span.of(0, 3), "PLACE")
    again = correct(editor, TEXT, Span.of(0, 3), "")
    assert (done.edit.kind, again.edit.kind, len(editor.log())) == ("add", "relabel", 2)
    assert ("Zoe", "PLACE") not in corrections(editor)[0]
    editor.undo()
    assert ("Zoe", "PLACE") in corrections(editor)[0]
    editor.undo()
    assert (corrections(editor), predictions(editor, TEXT)) == ([], before)


def test_all_sentences_with_the_same_text_are_corrected_in_one_edit(editor):
    for _ in range(2):
        editor.add(nearspan.markup("[Zoe](PERSON) lives in [Oslo](PLACE)", id="same"))
    correct(editor, TEXT, Span.of(0, 3), "PLACE")
    copies = editor.sentences(document="same")
    assert [[entity.label for entity in copy.entities] for copy in copies] == [["PLACE", "PLACE"]] * 2
    assert copies[0].span_weights == copies[1].span_weights
    assert len(editor.log()) == 3


def test_a_sentence_of_the_same_text_in_other_words_is_left_as_it_is(editor):
    editor.add(nearspan.markup("[Zoe](PERSON) lives in [Oslo](PLACE)", id="same"))
    parted = Document(TEXT, (), "parted", ((0, 3), (4, 12), (13, 15), (15, 17)), ((0, 17),))
    editor.add(parted, weight=1)
    assert correct(editor, TEXT, Span.of(13, 17), "PERSON").label == "PERSON"
    assert [view.entities for view in editor.sentences(document="parted")] == [()]
    editor.build()
    assert predictions(editor, TEXT)["Oslo"] == "PERSON"


def test_where_the_memory_decides_nothing_the_correction_is_kept(folders, tmp_path):
    editor = nearspan.load(shutil.copytree(folders["classifier"], tmp_path / "alone"), "cpu").memory
    done = correct(editor, TEXT, Span.of(4, 9), "PLACE")
    assert done.label != "PLACE"
    assert "predicts without its memory" in done.edit.summary


def test_what_is_right_already_is_not_corrected(editor):
    with pytest.raises(EditError, match="already"):
        correct(editor, "Ada lives in Oslo", Span.of(13, 17), "PLACE")
    assert editor.log() == []


@pytest.mark.parametrize("span", [Span.of(0, 1), Span.of(3, 14), Span(((0, 2), (11, 14)))])
def test_spans_that_the_model_does_not_consider_are_refused(editor, span):
    with pytest.raises(NearspanError, match=r"whole words|links no fragments"):
        correct(editor, "It rained. Ada left", span, "PLACE")
    assert editor.log() == []
