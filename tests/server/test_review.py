"""The routes of a review."""

import base64
import json
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

import nearspan
from nearspan.review.leases import LEASES

TEXT = "Zed lives in Oslo"
WIDE = {"start": 0, "end": 99, "label": "PLACE"}
REQUESTS = [
    ("GET", "/review", None),
    ("POST", "/review/next", {"reviewer": "ada"}),
    ("POST", "/review/answer", {"reviewer": "ada", "text": TEXT, "entities": []}),
    ("POST", "/review/skip", {"reviewer": "ada", "text": TEXT}),
    ("POST", "/review/undo", {"reviewer": "ada"}),
    ("POST", "/review/train", None),
    ("GET", "/review/answers", None),
]


def ask(client: TestClient, who: str) -> dict:
    return client.post("/review/next", json={"reviewer": who}).json()["task"]


def answer(client: TestClient, who: str, document: dict, entities=None):
    entities = document["entities"] if entities is None else entities
    return client.post("/review/answer", json={"reviewer": who, "text": document["text"], "entities": entities})


@pytest.mark.parametrize(("method", "path", "body"), REQUESTS)
def test_a_review_is_for_those_who_may_edit_and_where_there_are_texts(client, editor, reviewer, method, path, body):
    assert client.request(method, path, json=body, headers={"Authorization": "Bearer wrong"}).status_code == 401
    refused = editor.request(method, path, json=body)
    assert refused.status_code == 404
    assert "no texts to review" in refused.json()["error"]
    assert editor.get("/health").json()["review"] == 0
    assert reviewer.get("/health").json()["review"] == 3


def test_two_reviewers_answer_all_texts_and_each_answer_is_in_the_memory(reviewer):
    asked = {who: ask(reviewer, who) for who in ("ada", "bob")}
    assert asked["ada"]["id"] != asked["bob"]["id"]
    for who, task in asked.items():
        answered = answer(reviewer, who, task["document"]).json()
        assert answered["accepted"]
        assert not answered["is_late"]
        held = reviewer.get("/memory", params={"text": task["document"]["text"]}).json()["sentences"]
        assert len(held) == 1
    last = ask(reviewer, "ada")["document"]
    assert answer(reviewer, "ada", last).json()["progress"]["left"] == 0
    assert ask(reviewer, "bob") is None
    assert reviewer.get("/review").json()["progress"]["by_reviewer"] == {"ada": 2, "bob": 1}


def test_a_task_comes_with_its_words_and_is_corrected(reviewer):
    task = ask(reviewer, "ada")["document"]
    start, end = task["words"][0]
    entities = [{"start": start, "end": end, "label": "PLACE"}]
    answered = answer(reviewer, "ada", task, entities).json()
    assert not answered["accepted"]
    (document,) = reviewer.post("/annotate", json={"text": task["text"]}).json()["documents"]
    assert document["entities"][0]["label"] == "PLACE"


def test_the_first_answer_counts_and_the_second_is_said(reviewer, folder: Path):
    task = ask(reviewer, "ada")["document"]
    (folder / LEASES).write_text(json.dumps({}))  # her time is over
    assert answer(reviewer, "bob", task).status_code == 200
    refused = answer(reviewer, "ada", task, [])
    assert refused.status_code == 409
    assert "bob has answered this text meanwhile" in refused.json()["error"]
    assert reviewer.get("/memory/log").json()["total"] == 1


def test_an_answer_that_is_sent_twice_is_one(reviewer):
    task = ask(reviewer, "ada")["document"]
    first, second = (answer(reviewer, "ada", task).json() for _ in range(2))
    assert first["edit"] == second["edit"]
    assert reviewer.get("/memory/log").json()["total"] == 1


def test_skip_and_undo(reviewer):
    first = ask(reviewer, "ada")
    skipped = reviewer.post("/review/skip", json={"reviewer": "ada", "text": first["document"]["text"]})
    assert skipped.json()["left"] == 3
    second = ask(reviewer, "ada")
    assert second["id"] != first["id"]
    answer(reviewer, "ada", second["document"])
    undone = reviewer.post("/review/undo", json={"reviewer": "ada"}).json()
    assert (undone["task"]["id"], undone["progress"]["answered"]) == (second["id"], 0)


def test_the_model_is_trained_once_at_a_time_in_the_background(reviewer):
    answer(reviewer, "ada", ask(reviewer, "ada")["document"])
    assert reviewer.post("/review/train").json()["training"] == "running"
    assert ask(reviewer, "ada") is not None
    again = reviewer.post("/review/train")
    assert again.status_code == 409
    assert "being trained already" in again.json()["error"]


def test_answers_are_had_as_a_file(reviewer, tmp_path: Path):
    task = ask(reviewer, "ada")["document"]
    answer(reviewer, "ada", task)
    file = reviewer.get("/review/answers", params={"format": "conll"}).json()
    (tmp_path / file["name"]).write_bytes(base64.b64decode(file["content"]))
    [document] = nearspan.read(tmp_path / file["name"])
    assert [entity.label for entity in document.entities] == [entity["label"] for entity in task["entities"]]
    assert "conll" in reviewer.get("/review").json()["formats"]
    refused = reviewer.get("/review/answers", params={"format": "brat"})
    assert refused.status_code == 422
    assert "none that is written as one file" in refused.json()["error"]


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/review/answer", {"reviewer": "ada", "text": "Unknown", "entities": []}, 409),
        (
            "/review/answer",
            {"reviewer": "ada", "text": TEXT, "entities": [WIDE]},
            422,
        ),
        ("/review/answer", {"reviewer": "ada", "text": TEXT * 60}, 413),
        ("/review/next", {"reviewer": ""}, 422),
        ("/review/next", {"reviewer": "\n"}, 409),
        ("/review/undo", {"reviewer": "ada"}, 409),
    ],
)
def test_what_is_refused(reviewer, path, body, status):
    refused = reviewer.post(path, json=body)
    assert refused.status_code == status, refused.text
    assert refused.json()["error"]
