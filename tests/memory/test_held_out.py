"""Held-out spans: the memory's own spans of the same words, and what becomes of them with one more."""

import shutil
from pathlib import Path

import pytest
import torch

import nearspan
from nearspan.document import Span
from nearspan.memory.editor import Editor
from nearspan.memory.held_out import HeldOut, LikeSpans

PERSON, PLACE = 1, 2


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


def like_spans(*log_sums: tuple[float, float]) -> LikeSpans:
    """Spans that are PERSON, with the log sums of PERSON and PLACE, and as like the corrected one as can be: 0."""
    sums = torch.tensor([[-9.0, *each] for each in log_sums])
    return LikeSpans(torch.arange(len(sums)), torch.full((len(sums),), PERSON), sums, torch.zeros(len(sums)))


def test_a_weight_mends_what_it_puts_ahead():
    mended, broken = like_spans((0, 1), (0, 5), (3, 0)).changes(PERSON, 2.0)
    assert (mended.tolist(), broken.tolist()) == ([True, False, False], [False, False, False])


def test_a_weight_breaks_what_it_puts_behind():
    mended, broken = like_spans((0, 1), (1, 0), (3, 0)).changes(PLACE, 2.0)
    assert (mended.tolist(), broken.tolist()) == ([False, False, False], [False, True, False])


def test_a_right_label_that_leads_by_too_little_counts_as_broken_where_that_is_asked():
    _, broken = like_spans((1, 0), (3, 0), (9, 0)).changes(PLACE, 2.0, sure=2.0)
    assert broken.tolist() == [True, True, False]


@pytest.mark.parametrize("search", ["nearest", "whole"])
@pytest.mark.parametrize("kind", ["words", "spans"])
def test_a_held_out_span_is_judged_as_by_a_memory_without_its_sentence(folders, pooled, tmp_path, kind, search):
    editor = Editor.open(shutil.copytree(folders["instance"] if kind == "words" else pooled, tmp_path / "model"), "cpu")
    editor.model.set_search(search)
    like = HeldOut(editor.model, editor.model.datastore).like(row_of(editor, 3, 0, 1))  # Ada met Bob in Paris
    [place] = (like.rows == row_of(editor, 7, 5, 6)).nonzero().flatten().tolist()
    expected = dict(zip(editor.model.labels, like.log_sums[place].softmax(0).tolist(), strict=True))
    editor.remove(7)  # She went to Lima with Ada
    found = editor.model.explain_span("She went to Lima with Ada", Span.of(22, 25)).probabilities
    assert found == pytest.approx(expected, abs=1e-4)


def test_like_spans_are_those_of_the_same_words_in_any_case_and_in_other_sentences(folders, tmp_path):
    editor = Editor.open(shutil.copytree(folders["instance"], tmp_path / "model"), "cpu")
    editor.add("[ADA](PERSON) left", weight=1)
    editor.add("[Ada](PERSON) lives in [Oslo](PLACE)", weight=1)  # a copy of sentence 0
    editor.remove(3, Span.of(0, 3))
    memory = editor.model.datastore
    like = HeldOut(editor.model, memory).like(row_of(editor, 0, 0, 1))
    ids = [memory.ids[number] for number in memory.sentence[like.rows].tolist()]
    assert sorted(zip(ids, like.labels.tolist(), strict=True)) == [(7, PERSON), (11, 0), (12, PERSON)]  # 11: Ada Moon


def test_words_that_are_in_no_other_sentence_have_no_like_spans(folders, tmp_path):
    editor = Editor.open(shutil.copytree(folders["instance"], tmp_path / "model"), "cpu")
    like = HeldOut(editor.model, editor.model.datastore).like(row_of(editor, 5, 4, 5))  # 21
    assert [len(part) for part in (like.rows, like.labels, like.log_sums, like.scores)] == [0, 0, 0, 0]
    assert [part.tolist() for part in like.changes(PERSON, 9.0)] == [[], []]
