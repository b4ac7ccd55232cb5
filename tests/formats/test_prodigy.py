"""Prodigy: what was accepted is gold, and nothing else is."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from nearspan.document import Document, Entity, Span
from nearspan.formats import read, write
from nearspan.formats.markup import render

Put = Callable[..., Path]


def task(answer: object, text: str = "Ada wrote", **more: object) -> str:
    record = {"text": text, "_input_hash": 1, "spans": [{"start": 0, "end": 3, "label": "PER"}], **more}
    return json.dumps(record if answer is None else record | {"answer": answer}) + "\n"


def test_accepted_tasks_alone_are_documents(put: Put):
    corpus = read(put("a", task("reject", "Bob left") + task("accept") + task("ignore", "Eve slept")))
    assert [render(document) for document in corpus] == ["[Ada](PER) wrote"]
    assert [(problem.kind, problem.line, problem.lost) for problem in corpus.problems] == [
        ("not gold", 1, 1),
        ("not gold", 3, 1),
    ]
    assert "rejected" in corpus.problems[0].message
    assert "ignored" in corpus.problems[1].message


def test_a_file_of_rejected_tasks_has_no_document(put: Put):
    corpus = read(put("a", task("reject") * 3))
    assert (len(corpus), corpus.entity_count, sum(problem.lost for problem in corpus.problems)) == (0, 0, 3)


def test_a_task_without_an_answer_counts_as_accepted(put: Put):
    assert render(read(put("a", task(None)))[0]) == "[Ada](PER) wrote"


@pytest.mark.parametrize("answer", ["Accept", "yes", ""])
def test_an_answer_that_prodigy_does_not_give_is_not_gold(put: Put, answer: str):
    corpus = read(put("a", task("accept") + task(answer)))
    assert (len(corpus), corpus.problems[0].kind) == (1, "not gold")


def test_an_answer_that_is_no_string_is_not_gold(put: Put):
    corpus = read(put("a", task("accept") + task(True)))
    assert (len(corpus), corpus.problems[0].lost) == (1, 1)


def test_a_yes_to_one_span_is_listed_as_incomplete(put: Put):
    corpus = read(put("a", task("accept", _is_binary=True)))
    assert (corpus.entity_count, corpus.problems[0].kind) == (1, "incomplete")


def test_tokens_are_words_and_the_annotator_is_an_attribute(put: Put):
    tokens = [{"text": "Ada", "start": 0, "end": 3}, {"text": "wrote", "start": 4, "end": 9}]
    [document] = read(put("a", task("accept", tokens=tokens, _annotator_id="ada")))
    assert document.words == ((0, 3), (4, 9))
    assert document.entities[0].attributes == {"annotator": "ada"}


def test_relations_are_counted(put: Put):
    corpus = read(put("a", task("accept", relations=[{"head": 0, "child": 1, "label": "X"}]) * 2))
    assert [str(problem).partition(": ")[2] for problem in corpus.problems] == [
        "left out: documents with 'relations', which is not read: 2"
    ]


def test_attributes_and_scores_are_written(tmp_path: Path):
    entity = Entity(Span.of(0, 3), "PER", 0.5, attributes={"kb": "Q7259", "start": 1})
    changes = write([Document("Ada", (entity,))], tmp_path / "a", "prodigy")
    [again] = read(tmp_path / "a")
    assert (again.entities[0].score, again.entities[0].attributes) == (0.5, {"kb": "Q7259"})
    assert "attributes are not kept: 1" in changes[0].message


def test_an_answer_beside_entities_makes_no_task(put: Put):
    corpus = read(put("a", '{"text": "Ada wrote", "answer": "accept", "entities": [[0, 3, "PER"]]}\n'))
    assert (corpus.format, render(corpus[0])) == ("jsonl", "[Ada](PER) wrote")
