"""Memories put together from others are those that are laid out at once."""

from dataclasses import fields, replace

import pytest
import torch

from nearspan.knn import Datastore, MemorySentence, WordTable, assemble_datastore
from nearspan.knn.assemble import concatenate, weigh
from nearspan.knn.word_index import WordIndex
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


DERIVED = ("sentence_marks", "sentence_offsets", "entity_rows", "entity_directions", "labels_by_text")


def as_computed_anew(memory: Datastore) -> None:
    """What a memory has taken over of another one is what it would compute itself."""
    fresh = replace(memory)
    for name in DERIVED:
        value, expected = getattr(memory, name), getattr(fresh, name)
        assert torch.equal(value, expected) if isinstance(value, torch.Tensor) else value == expected, name
    for field in fields(fresh.word_index):
        assert torch.equal(getattr(memory.word_index, field.name), getattr(fresh.word_index, field.name))


@pytest.mark.parametrize("kept", ["spans", "words", "own"])
def test_what_was_computed_of_a_memory_is_kept_through_edits(make_memory, kept: str):
    memory = make_memory(LENGTHS, kept=kept)
    first, last = some(memory, [0, 1, 2, 3]), some(memory, [4, 5])
    for name in (*DERIVED, "word_index"):
        getattr(first, name)
    grown = concatenate([first, last])
    assert set(DERIVED[:1] + DERIVED[3:]) | {"word_index"} <= set(grown.__dict__)
    as_computed_anew(grown)
    weighed = weigh(grown, {4: replace(grown.sentences[4], weight=0.0)}, AllSpans(3))
    assert "word_index" in weighed.__dict__
    as_computed_anew(weighed)
    same(weighed, assemble_datastore([grown], dict(enumerate(weighed.sentences)), LABELS, AllSpans(3)))
    renamed = [LabelledSpan.of(0, 1, "C")]
    changed = dict(enumerate(grown.sentences)) | {2: replace(grown.sentences[2], entities=tuple(renamed))}
    as_computed_anew(assemble_datastore([grown], changed, LABELS, AllSpans(3)))


def test_runs_of_words_are_found_in_any_case_and_in_one_sentence_alone(make_memory):
    texts = ["New York and", "new york", "York New", "york"]
    sentences = []
    for number, text in enumerate(texts):
        words, at = [], 0
        for word in text.split():
            words.append((at, at + len(word)))
            at += len(word) + 1
        sentences.append(MemorySentence("", number, text, tuple(words), ()))
    index = WordIndex.of(sentences)
    assert [each.tolist() for each in index.find(0, 0, 2)] == [[0, 1], [0, 0]]
    assert [each.tolist() for each in index.find(3, 0, 1)] == [[0, 1, 2, 3], [1, 1, 0, 0]]
    both = WordIndex.of(sentences[:2]).and_then(WordIndex.of(sentences[2:]))
    assert all(torch.equal(getattr(both, field.name), getattr(index, field.name)) for field in fields(WordIndex))
