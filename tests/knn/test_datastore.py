"""The memory: rows in order, saved and read back, damage seen."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from nearspan.errors import ModelError
from nearspan.io.memory_files import NEXT, SENTENCES, VECTORS, clear_memory
from nearspan.knn import Datastore, MemorySentence, assemble_datastore
from nearspan.knn.storage import load_datastore, save_datastore
from nearspan.segment import LabelledSpan
from nearspan.spans import AllSpans, enumerate_spans

LENGTHS = [4, 1, 7, 2]


def test_rows_know_where_they_come_from(make_memory):
    memory = make_memory(LENGTHS, max_width=3)
    spans = enumerate_spans(torch.tensor(LENGTHS), 3)
    assert memory.sentence.tolist() == spans.sentence.tolist()
    assert memory.first.tolist() == spans.first.tolist()
    assert memory.stop.tolist() == spans.stop.tolist()
    for row in range(len(memory)):
        sentence = memory.sentences[int(memory.sentence[row])]
        labels = {gold.fragments[0]: gold.label for gold in sentence.entities}
        expected = labels.get((int(memory.first[row]), int(memory.stop[row])), "")
        assert ["", "A", "B"][int(memory.labels[row])] == expected


def test_it_says_what_it_holds(make_memory):
    assert repr(make_memory(LENGTHS)) == "Datastore(4 sentences, 31 spans, 6 entities)"


def test_the_fragments_of_discontinuous_entities_are_found_among_the_spans(make_memory):
    memory, gold = make_memory(LENGTHS), LabelledSpan(((1, 2), (3, 5)), "A")
    memory.sentences[2] = replace(memory.sentences[2], entities=(*memory.sentences[2].entities, gold))
    places = [
        (int(memory.sentence[row]), int(memory.first[row]), int(memory.stop[row])) for row, _ in memory.fragments()
    ]
    assert places == [(2, 1, 2), (2, 3, 5)]
    assert [each for _, each in memory.fragments()] == [gold, gold]


def test_no_memory_is_left_where_it_is_cleared(make_memory, tmp_path: Path):
    """Neither the one in its place nor one that was to take over."""
    for place in (tmp_path, tmp_path / NEXT):
        place.mkdir(exist_ok=True)
        save_datastore(make_memory(LENGTHS), place, "w")
    clear_memory(tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kept", ["words", "own"])
def test_vectors_kept_by_words_add_up_to_those_of_spans(make_memory, kept: str):
    memory = make_memory(LENGTHS, kept=kept)
    words = memory.vectors.words()
    vectors = memory.rows(slice(None))
    before = [sum(LENGTHS[:m]) for m in range(len(LENGTHS))]
    for row in range(len(memory)):
        start = before[int(memory.sentence[row])]
        first, stop = start + int(memory.first[row]), start + int(memory.stop[row])
        expected = words.begins[first if kept == "own" else 0] + words.steps[first:stop].sum(0)
        torch.testing.assert_close(vectors[row], expected)
    torch.testing.assert_close(memory.rows(torch.tensor([[3, 0]]))[0, 0], vectors[3])


def test_a_span_of_words_is_a_span_of_characters():
    sentence = MemorySentence("d", 0, "Ada met Bob", ((0, 3), (4, 7), (8, 11)), (LabelledSpan.of(0, 1, "A"),))
    assert sentence.span(1, 3).text(sentence.text) == "met Bob"
    assert MemorySentence.from_dict(json.loads(json.dumps(sentence.to_dict()))) == sentence


@pytest.mark.parametrize("kept", ["spans", "words", "own"])
def test_saved_and_read_back_it_is_the_same(make_memory, tmp_path: Path, kept: str):
    memory = make_memory(LENGTHS, kept=kept)
    save_datastore(memory, tmp_path, "w")
    again = load_datastore(tmp_path, "w", ["A", "B"], AllSpans(3))
    assert list(again.sentences) == list(memory.sentences)
    assert torch.equal(again.rows(slice(None)), memory.rows(slice(None)))
    for name in ("labels", "sentence_vectors", "sentence", "first", "stop", "starts", "counts"):
        assert torch.equal(getattr(again, name), getattr(memory, name)), name


def test_any_unicode_survives(tmp_path: Path):
    text = "القاهرة 北京 e\u0301 👩‍🚀 \u2028 x"
    sentence = MemorySentence("d\n", 0, text, ((0, 7),), (LabelledSpan.of(0, 1, "A"),))
    datastore = Datastore.of([sentence], ["A"], AllSpans(2), torch.randn(1, 3), torch.randn(1, 2))
    save_datastore(datastore, tmp_path, "w")
    assert load_datastore(tmp_path, "w", ["A"], AllSpans(2)).sentences[0] == sentence


def spoil_vectors(folder: Path) -> None:
    tensors = load_file(folder / VECTORS)
    name = "spans" if "spans" in tensors else "steps"
    save_file({**tensors, name: tensors[name][:-1].contiguous()}, folder / VECTORS)


def spoil_sentence_vectors(folder: Path) -> None:
    tensors = load_file(folder / VECTORS)
    save_file({**tensors, "sentence_vectors": tensors["sentence_vectors"][1:].contiguous()}, folder / VECTORS)


def rename(folder: Path) -> None:
    save_file({"other": torch.zeros(1)}, folder / VECTORS)


def change(folder: Path, **values) -> None:
    lines = (folder / SENTENCES).read_text().splitlines()
    lines[0] = json.dumps({**json.loads(lines[0]), **values})
    (folder / SENTENCES).write_text("\n".join(lines) + "\n")


DAMAGE = {
    "vectors cut": spoil_vectors,
    "sentence vectors cut": spoil_sentence_vectors,
    "other tensors": rename,
    "vector bytes cut": lambda f: (f / VECTORS).write_bytes((f / VECTORS).read_bytes()[:-9]),
    "no vectors": lambda f: (f / VECTORS).unlink(),
    "no sentences": lambda f: (f / SENTENCES).unlink(),
    "no lines": lambda f: (f / SENTENCES).write_text(""),
    "a line less": lambda f: (f / SENTENCES).write_text("".join((f / SENTENCES).read_text().splitlines(True)[1:])),
    "a line cut": lambda f: (f / SENTENCES).write_text((f / SENTENCES).read_text()[:-20]),
    "not UTF-8": lambda f: (f / SENTENCES).write_bytes(b"\xff\xfe"),
    "not an object": lambda f: (f / SENTENCES).write_text("3\n" * 4),
    "unknown label": lambda f: change(f, entities=[[0, 1, "C"]]),
    "entity outside": lambda f: change(f, entities=[[7, 8, "A"]]),
    "entity inverted": lambda f: change(f, entities=[[2, 1, "A"]]),
    "a word less": lambda f: change(f, words=[[0, 2]]),
    "no words": lambda f: change(f, words=None),
    "no weight": lambda f: change(f, weight=0),
    "a weight beyond all": lambda f: change(f, span_weights=[[0, 1, float("inf")]]),
    "heavier span outside": lambda f: change(f, span_weights=[[3, 5, 2.0]]),
}


@pytest.mark.parametrize("kept", ["spans", "words"])
@pytest.mark.parametrize("damage", DAMAGE)
def test_damage_is_a_model_error(make_memory, tmp_path: Path, damage: str, kept: str):
    save_datastore(make_memory(LENGTHS, kept=kept), tmp_path, "w")
    DAMAGE[damage](tmp_path)
    with pytest.raises(ModelError, match=r"memory.* `nearspan memory \S+ build CORPUS`"):
        load_datastore(tmp_path, "w", ["A", "B"], AllSpans(3))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("null", "found None, expected an object"),
        ('{"words": []}', "no 'entities'"),
        ("{", "Expecting property name"),
        ("", "Expecting value"),
        (
            '{"entities": [], "words": [[0, 1e400]], "document": "", "number": 0, "text": "a"}',
            "cannot convert float inf",
        ),
    ],
)
def test_a_damaged_line_is_named(make_memory, tmp_path: Path, line: str, message: str):
    save_datastore(make_memory(LENGTHS), tmp_path, "w")
    lines = (tmp_path / SENTENCES).read_text().splitlines()
    (tmp_path / SENTENCES).write_text("\n".join([lines[0], line, *lines[2:]]) + "\n")
    with pytest.raises(ModelError, match=rf"memory\.jsonl:2 is damaged: {message}"):
        load_datastore(tmp_path, "w", ["A", "B"], AllSpans(3))


def test_a_memory_is_read_with_the_labels_that_it_was_built_with(make_memory, tmp_path: Path):
    memory = make_memory(LENGTHS)
    save_datastore(memory, tmp_path, "w")
    again = load_datastore(tmp_path, "w", ["C"], AllSpans(3))
    assert (again.names, again.own_names) == (("", "A", "B"), ("A", "B"))
    assert torch.equal(again.labels, memory.labels)


@pytest.mark.parametrize("kept", ["spans", "words"])
def test_labels_that_only_sentences_have_come_after_the_models_own(make_memory, kept: str):
    memory = make_memory(LENGTHS, kept=kept)
    vectors = memory.vectors if kept == "spans" else memory.vectors.words()
    grown = Datastore.of(memory.sentences, ["C", "B"], AllSpans(3), vectors, memory.sentence_vectors)
    assert (grown.names, grown.own_names) == (("", "C", "B", "A"), ("C", "B"))
    assert [grown.names[number] for number in grown.labels] == [memory.names[number] for number in memory.labels]
    again = grown.with_names(memory.names)
    assert torch.equal(again.labels, memory.labels)
    if kept == "words":
        assert torch.equal(again.vectors.labels, memory.vectors.labels)


def test_the_memory_of_other_weights_is_refused(make_memory, tmp_path: Path):
    save_datastore(make_memory(LENGTHS), tmp_path, "w")
    with pytest.raises(ModelError, match=r"memory of another training.* `nearspan memory \S+ build CORPUS`"):
        load_datastore(tmp_path, "v", ["A", "B"], AllSpans(3))


def test_sentences_that_have_changed_places_are_refused(make_memory, tmp_path: Path):
    save_datastore(make_memory([4, 4, 2]), tmp_path, "w")
    lines = (tmp_path / SENTENCES).read_text().splitlines(keepends=True)
    (tmp_path / SENTENCES).write_text("".join([lines[1], lines[0], lines[2]]))
    with pytest.raises(ModelError, match=r"memory\.jsonl is not as it was when memory\.safetensors was made of it"):
        load_datastore(tmp_path, "w", ["A", "B"], AllSpans(3))


def test_discontinuous_entities_are_kept_and_checked():
    words = ((0, 3), (4, 7), (8, 11))
    sentence = MemorySentence("d", 0, "Ada met Bob", words, (LabelledSpan(((0, 1), (2, 3)), "A"),))
    line = json.loads(json.dumps(sentence.to_dict()))
    assert MemorySentence.from_dict(line) == sentence
    assert sentence.characters(sentence.entities[0].fragments).text(sentence.text) == "Ada Bob"
    line["discontinuous"][0][0][1] = [2, 4]
    with pytest.raises(ValueError, match="outside its sentence"):
        MemorySentence.from_dict(line)


@pytest.mark.parametrize("kept", ["spans", "words", "own"])
def test_an_entity_weight_is_that_of_spans_with_a_label(make_memory, kept: str):
    memory = make_memory([3, 2], kept=kept)
    sentences = dict(enumerate(memory.sentences))
    sentences[0] = replace(sentences[0], weight=2.0, entity_weight=4.0)
    assert MemorySentence.from_dict(json.loads(json.dumps(sentences[0].to_dict()))) == sentences[0]
    weighed = assemble_datastore([memory], sentences, ["A", "B"], AllSpans(3))
    expected = torch.where(weighed.labels > 0, 8.0, 2.0)
    expected[weighed.sentence == 1] = 1
    assert (weighed.labels[weighed.sentence == 0] > 0).any()
    torch.testing.assert_close(weighed.log_weights.exp(), expected)


@pytest.mark.parametrize("kept", ["spans", "words", "own"])
def test_weights_are_those_of_the_sentence_times_those_of_its_spans(make_memory, tmp_path: Path, kept: str):
    memory = make_memory([3, 2, 3], kept=kept)
    assert "weight" not in memory.sentences[0].to_dict()
    sentences = dict(enumerate(memory.sentences))
    sentences[1] = replace(sentences[1], weight=4.0)
    sentences[2] = replace(sentences[2], weight=0.5, span_weights=((1, 3, 6.0),))
    weighed = assemble_datastore([memory], sentences, ["A", "B"], AllSpans(3))
    places = zip(weighed.sentence.tolist(), weighed.first.tolist(), weighed.stop.tolist(), strict=True)
    times = {0: 1.0, 1: 4.0, 2: 0.5}
    expected = [3.0 if place == (2, 1, 3) else times[place[0]] for place in places]
    assert weighed.log_weights.exp().tolist() == pytest.approx(expected)
    save_datastore(weighed, tmp_path, "w")
    again = load_datastore(tmp_path, "w", ["A", "B"], AllSpans(3))
    assert list(again.sentences) == list(weighed.sentences)
    assert torch.equal(again.log_weights, weighed.log_weights)
