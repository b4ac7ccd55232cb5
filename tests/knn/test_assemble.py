"""Memories put together from others are those that are laid out at once."""

from dataclasses import fields, replace

import pytest
import torch

from nearspan.knn import Datastore, WordTable, assemble_datastore
from nearspan.segment import LabelledSpan
from nearspan.spans import AllSpans, WordSums

LENGTHS = [4, 1, 7, 2, 2, 5]
LABELS = ["A", "B"]


def some(memory: Datastore, places: list[int], sentences=None) -> Datastore:
    """Sentences of a memory laid out as a memory of their own."""
    rows = [row for m in places for row in range(int(memory.starts[m]), int(memory.starts[m] + memory.counts[m]))]
    vectors = memory.vectors[rows] if isinstance(memory.vectors, torch.Tensor) else None
    if isinstance(memory.vectors, WordTable):
        words = memory.vectors.words()
        before = [sum(LENGTHS[:m]) for m in range(len(LENGTHS))]
        word_rows = [word for m in places for word in range(before[m], before[m] + LENGTHS[m])]
        vectors = WordSums(words.begins if memory.vectors.alike else words.begins[word_rows], words.steps[word_rows])
    kept = sentences or [memory.sentences[m] for m in places]
    return Datastore.of(kept, LABELS, AllSpans(memory.max_width), vectors, memory.sentence_vectors[places], places)


def same(left: Datastore, right: Datastore) -> None:
    assert list(left.sentences) == list(right.sentences)
    assert list(left.ids) == list(right.ids)
    for field in fields(Datastore):
        if isinstance(value := getattr(left, field.name), torch.Tensor):
            torch.testing.assert_close(value, getattr(right, field.name), msg=field.name)
    if isinstance(left.vectors, WordTable):
        for field in fields(WordTable):
            torch.testing.assert_close(getattr(left.vectors, field.name), getattr(right.vectors, field.name))


@pytest.mark.parametrize("kept", ["spans", "words", "own"])
@pytest.mark.parametrize("parts", [[[0, 1, 2], [3, 4], [5]], [[0, 2, 5], [1, 3, 4]], [[0, 1], [2, 3, 4, 5]]])
def test_parts_of_a_memory_make_the_whole(make_memory, kept: str, parts: list[list[int]]):
    memory = make_memory(LENGTHS, kept=kept)
    same(
        assemble_datastore(
            [some(memory, part) for part in parts], dict(enumerate(memory.sentences)), LABELS, AllSpans(3)
        ),
        memory,
    )


@pytest.mark.parametrize("kept", ["spans", "words", "own"])
def test_sentences_that_are_not_wanted_are_left_out(make_memory, kept: str):
    memory = make_memory(LENGTHS, kept=kept)
    wanted = {place: memory.sentences[place] for place in (1, 2, 5)}
    same(assemble_datastore([memory], wanted, LABELS, AllSpans(3)), some(memory, [1, 2, 5]))


@pytest.mark.parametrize("kept", ["spans", "words", "own"])
def test_labels_removed_spans_and_second_labels_change_in_place(make_memory, kept: str):
    memory = make_memory(LENGTHS, kept=kept)
    sentences = list(memory.sentences)
    first = LabelledSpan.of(0, 1, "A")
    sentences[0] = replace(sentences[0], entities=(LabelledSpan.of(0, 1, "B"), first, LabelledSpan.of(1, 3, "A")))
    sentences[2] = replace(sentences[2], entities=(first,), removed=((6, 7), (2, 4)))
    changed = assemble_datastore([memory], dict(enumerate(sentences)), LABELS, AllSpans(3))
    same(changed, some(memory, list(range(6)), sentences))
    assert int((changed.labels < 0).sum()) == 2
    back = assemble_datastore([changed], dict(enumerate(memory.sentences)), LABELS, AllSpans(3))
    assert torch.equal(back.labels, memory.labels)
    assert not back.further.any()


def test_nothing_to_do_is_nothing_done(make_memory):
    memory = make_memory(LENGTHS)
    assert assemble_datastore([memory], dict(enumerate(memory.sentences)), LABELS, AllSpans(3)) is memory
