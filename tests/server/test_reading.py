import shutil
import threading

import pytest
from fastapi.testclient import TestClient

import nearspan
from nearspan.memory.editor import Editor
from nearspan.server import Service, create_app
from nearspan.server.answers import ExplainOut

TEXT = "Ada lives in Oslo"


def labels(answer) -> list[list[tuple[str, str]]]:
    return [[(one["text"], one["label"]) for one in document["entities"]] for document in answer.json()["documents"]]


def test_annotate_one_text(client):
    answer = client.post("/annotate", json={"text": TEXT})
    assert answer.status_code == 200
    assert labels(answer) == [[("Ada", "PERSON"), ("Oslo", "PLACE")]]
    assert answer.json()["documents"][0]["entities"][1]["fragments"] == [[13, 17]]


def test_annotate_a_batch_in_order(client):
    answer = client.post("/annotate", json={"texts": ["Nobody lives here", "", TEXT]})
    assert labels(answer) == [[], [], [("Ada", "PERSON"), ("Oslo", "PLACE")]]


def test_offsets_are_code_points(client):
    answer = client.post("/annotate", json={"text": "🌍🌍 " + TEXT})
    assert [one["fragments"] for one in answer.json()["documents"][0]["entities"]][-1] == [[16, 20]]


def test_explain_every_entity(client):
    evidence = client.post("/explain", json={"text": TEXT, "count": 2}).json()["evidence"]
    assert [(one["text"], one["strength"]) for one in evidence] == [("Ada", "exact"), ("Oslo", "exact")]
    place = evidence[1]
    listed = sum(near["weight"] for near in place["neighbours"]["PLACE"])
    assert listed + place["unlisted"]["PLACE"] == pytest.approx(place["probabilities"]["PLACE"], abs=1e-5)


def test_more_entities_than_are_explained_at_once_are_refused_with_what_to_do(client):
    answer = client.post("/explain", json={"text": f"{TEXT} . " * 2})
    assert (answer.status_code, len(answer.json()["evidence"])) == (200, 4)
    answer = client.post("/explain", json={"text": f"{TEXT} . " * 3})
    assert answer.status_code == 413
    assert "6 entities; at most 4" in answer.json()["error"]
    assert "/neighbours" in answer.json()["error"]


def test_answers_are_written_in_the_models_thread(client, monkeypatch):
    threads: list[str] = []
    written = ExplainOut.model_dump_json

    def noted(self) -> str:
        threads.append(threading.current_thread().name)
        return written(self)

    monkeypatch.setattr(ExplainOut, "model_dump_json", noted)
    answer = client.post("/explain", json={"text": TEXT})
    assert answer.headers["Content-Type"] == "application/json"
    assert threads == ["model_0"]


def test_neighbours_of_any_words(client):
    found = client.post("/neighbours", json={"text": TEXT, "fragments": [[4, 9]]}).json()
    assert (found["text"], found["label"]) == ("lives", None)


def test_neighbours_for_a_label(client):
    body = {"text": TEXT, "fragments": [[0, 3]], "label": "PLACE"}
    assert client.post("/neighbours", json=body).json()["label"] == "PLACE"


def test_neighbours_of_half_a_word_is_refused_with_the_reason(client):
    answer = client.post("/neighbours", json={"text": TEXT, "fragments": [[0, 2]]})
    assert answer.status_code == 422
    assert "whole words" in answer.json()["error"]


def test_map_holds_the_memorys_entities(client, documents):
    found = client.get("/map").json()
    assert len(found["points"]) == found["entities"] == sum(len(one.entities) for one in documents)
    point = found["points"][0]
    (start, end), *_ = point["fragments"]
    assert point["sentence"][start:end] == point["text"] == "Ada"


def test_errors_show_gold_and_predicted(service, client):
    (document,) = service.annotate(["Ada lives in Oslo"])
    found = client.get("/errors").json()
    assert found["total"] == sum(found["kinds"].values()) == len(found["errors"])
    assert found["edited"] is False
    assert document.entities


def test_errors_without_a_corpus_say_how_to_get_them(service, client):
    service.mistakes = None
    answer = client.get("/errors")
    assert answer.status_code == 404
    assert "--corpus" in answer.json()["error"]


def test_health_says_what_is_served(client, limits):
    found = client.get("/health").json()
    assert (found["status"], found["labels"], found["sentences"]) == ("ok", ["PERSON", "PLACE"], 12)
    assert found["limits"] == limits.model_dump()


def test_every_route_is_described(client):
    paths = client.get("/openapi.json").json()["paths"]
    memory = ("", "/log", "/corrections", "/undo", "/{sentence}", "/{sentence}/label")
    reading = ("/annotate", "/explain", "/neighbours", "/map", "/errors", "/health")
    assert set(paths) == {*reading, *(f"/memory{path}" for path in memory)}
    assert all(route["summary"] for methods in paths.values() for route in methods.values())


def test_a_model_without_a_memory_is_served_and_says_what_it_lacks(folders, tmp_path):
    folder = shutil.copytree(folders["classifier"], tmp_path / "bare")
    for file in folder.glob("memory.*"):
        file.unlink()
    with TestClient(create_app(Service(Editor.open(folder, "cpu")), "t")) as client:
        assert client.get("/health").json()["sentences"] == 0
        assert client.post("/annotate", json={"text": TEXT}).status_code == 200
        for answer in (client.get("/map"), client.post("/neighbours", json={"text": TEXT, "fragments": [[0, 3]]})):
            assert answer.status_code == 409
            assert "memory" in answer.json()["error"]


def test_nearest_evidence_and_no_share_for_a_head_that_decides_alone(folders):
    with TestClient(create_app(Service(Editor.open(folders["classifier"], "cpu")), "t")) as client:
        assert client.get("/health").json()["share"] == 0
        found = client.post("/neighbours", json={"text": TEXT, "fragments": [[0, 3]]}).json()
        assert (found["strength"], found["flip"]) == ("nearest", None)


def test_what_words_recalled_is_told(tiny, documents, tmp_path):
    recipe = tiny("hire", "encoder.sentence_context.size=3")
    nearspan.train(recipe, documents, out=tmp_path / "hire", device="cpu")
    with TestClient(create_app(Service(Editor.open(tmp_path / "hire", "cpu")), "t")) as client:
        found = client.post("/neighbours", json={"text": TEXT, "fragments": [[0, 3]], "count": 2})
        assert client.post("/explain", json={"text": TEXT}).status_code == 200
    assert (found.status_code, found.json()["strength"]) == (200, "attended")
    [word] = found.json()["recalled"]
    assert (word["text"], word["share"]) == ("Ada", pytest.approx(0.3))
    assert [one["text"] for one in word["neighbours"]] == ["Ada", "Ada"]
    assert sum(one["weight"] for one in word["neighbours"]) + word["unlisted"] == pytest.approx(1)
