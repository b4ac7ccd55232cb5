"""Argilla: responses, not suggestions; drafts are not gold."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from nearspan.formats import Corpus, read
from nearspan.formats.markup import render

Put = Callable[..., Path]
ADA, LIN = ("00000000-0000-0000-0000-00000000000" + number for number in "12")


def answer(start: int, end: int, label: str, user: str = ADA, **more: Any) -> dict[str, Any]:
    return {"value": [{"start": start, "end": end, "label": label}], "user_id": user, **more}


def read_record(put: Put, *answers: Any, **more: Any) -> Corpus:
    fields, responses = {"text": "Ada wrote in Oslo"}, {"span": answers}
    record = {"id": "7", "fields": fields, "responses": responses, "status": "completed"}
    return read(put("a", json.dumps([record | more])))


def test_suggestions_are_no_entities(put: Put):
    corpus = read_record(put, suggestions={"span": answer(13, 17, "LOC")})
    assert (len(corpus), {problem.kind for problem in corpus.problems}) == (0, {"not gold", "left out"})


def test_each_user_has_a_document(put: Put):
    corpus = read_record(put, answer(0, 3, "PER"), answer(13, 17, "LOC", LIN))
    assert [(document.id, render(document)) for document in corpus] == [
        ("7#1", "[Ada](PER) wrote in Oslo"),
        ("7#2", "Ada wrote in [Oslo](LOC)"),
    ]
    assert [document.entities[0].attributes["annotator"] for document in corpus] == [ADA, LIN]


def test_drafts_and_discarded_responses_are_listed(put: Put):
    corpus = read_record(put, answer(0, 3, "PER", status="draft"), answer(0, 3, "PER", LIN, status="discarded"))
    assert (len(corpus), [problem.lost for problem in corpus.problems]) == (0, [1, 1])


def test_a_response_of_a_pending_record_is_kept_and_listed(put: Put):
    corpus = read_record(put, answer(0, 3, "PER"), status="pending")
    assert (corpus.entity_count, [problem.kind for problem in corpus.problems]) == (1, ["incomplete"])


def test_answers_to_other_questions_are_no_entities(put: Put):
    responses = {"span": [answer(0, 3, "PER")], "rating": [{"value": 5, "user_id": ADA}]}
    assert read_record(put, responses=responses).entity_count == 1


def test_what_version_1_discarded_is_not_gold(put: Put):
    record = {"text": "Ada", "annotation": [["PER", 0, 3]], "annotation_agent": "a", "status": "Discarded"}
    corpus = read(put("a", json.dumps(record)))
    assert (corpus.format, len(corpus), corpus.problems[0].lost) == ("argilla", 0, 1)


def test_what_is_no_annotation_of_version_1_is_listed(put: Put):
    record = {"text": "Ada", "annotation": ["PER", ["PER", 0, 3]], "annotation_agent": "a", "status": "Validated"}
    corpus = read(put("a", json.dumps(record)))
    assert (corpus.entity_count, [problem.lost for problem in corpus.problems]) == (1, [1])


def test_an_empty_field_text_is_the_text(put: Put):
    corpus = read_record(put, {"value": [], "user_id": ADA}, fields={"title": "Letters", "text": ""})
    assert [document.text for document in corpus] == [""]
