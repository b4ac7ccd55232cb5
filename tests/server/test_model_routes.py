import shutil
import threading

import pytest
from fastapi.testclient import TestClient

import nearspan
from nearspan.server import Service, create_app
from nearspan.server.schemas import ExplainOut

TEXT = "Ada lives in Oslo"


def labels(answer) -> list[list[tuple[str, str]]]:
    documents = answer.json()["documents"]
    return [[(entity["text"], entity["label"]) for entity in document["entities"]] for document in documents]


def test_annotate_one_text(client):
    answer = client.post("/annotate", json={"text": TEXT})
    assert answer.status_code == 200
    assert labels(answer) == [[("Ada", "PERSON"), ("Oslo", "PLACE")]]
    [document] = answer.json()["documents"]
    entity = document["entities"][1]
    assert (document["text"], list(entity)) == (TEXT, ["text", "start", "end", "fragments", "label", "score"])
    assert (entity["start"], entity["end"], entity["fragments"]) == (13, 17, [[13, 17]])


def test_annotate_a_batch_in_order(client):
    answer = client.post("/annotate", json={"texts": ["Nobody lives here", "", TEXT]})
    assert labels(answer) == [[], [], [("Ada", "PERSON"), ("Oslo", "PLACE")]]


def test_offsets_are_code_points(client):
    answer = client.post("/annotate", json={"text": "🌍🌍 " + TEXT})
    assert [entity["fragments"] for entity in answer.json()["documents"][0]["entities"]][-1] == [[16, 20]]


def test_explain_every_entity(client):
    evidence = client.post("/explain", json={"text": TEXT, "count": 2}).json()["evidence"]
    assert [(each["text"], each["strength"]) for each in evidence] == [("Ada", "exact"), ("Oslo", "exact")]
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
    dump = ExplainOut.model_dump_json

    def note_thread(self, **options) -> str:
        threads.append(threading.current_thread().name)
        return dump(self, **options)

    monkeypatch.setattr(ExplainOut, "model_dump_json", note_thread)
    answer = client.post("/explain", json={"text": TEXT})
    assert answer.headers["Content-Type"] == "application/json"
    assert threads == ["model_0"]


def test_neighbours_of_any_words(client):
    evidence = client.post("/neighbours", json={"text": TEXT, "fragments": [[4, 9]]}).json()
    assert (evidence["text"], evidence["label"]) == ("lives", None)
    assert client.post("/neighbours", json={"text": TEXT, "start": 4, "end": 9}).json() == evidence


def test_neighbours_for_a_label(client):
    body = {"text": TEXT, "fragments": [[0, 3]], "label": "PLACE"}
    assert client.post("/neighbours", json=body).json()["label"] == "PLACE"


def test_neighbours_of_half_a_word_is_refused_with_the_reason(client):
    answer = client.post("/neighbours", json={"text": TEXT, "fragments": [[0, 2]]})
    assert answer.status_code == 422
    assert "whole words" in answer.json()["error"]


def test_map_holds_the_memorys_entities(client, documents):
    answer = client.get("/map").json()
    assert len(answer["points"]) == answer["entities"] == sum(len(document.entities) for document in documents)
    point = answer["points"][0]
    (start, end), *_ = point["fragments"]
    assert point["sentence"][start:end] == point["text"] == "Ada"


def test_errors_show_gold_and_predicted(client):
    answer = client.get("/errors").json()
    assert answer["total"] == sum(answer["kinds"].values()) == len(answer["errors"])
    assert answer["scored"] == 1


def test_errors_without_a_corpus_say_how_to_get_them(service, client):
    service.error_browser = None
    answer = client.get("/errors")
    assert answer.status_code == 404
    assert "start the server with a corpus" in answer.json()["error"]


def test_health_says_what_is_served(client, limits):
    health = client.get("/health").json()
    assert (health["status"], health["labels"], health["sentences"]) == ("ok", ["PERSON", "PLACE"], 12)
    assert health["limits"] == limits.model_dump()
    for label, name in health["colours"].items():
        assert f".{name} {{" in client.get("/page/colours.css").text, label


def test_every_route_is_described(client):
    paths = client.get("/openapi.json").json()["paths"]
    edits = ("/corrections", "/corrections/preview", "/undo", "/{sentence}/label")
    memory = ("", "/access", "/log", "/{sentence}", *edits)
    reading = ("/annotate", "/explain", "/neighbours", "/map", "/errors", "/health")
    review = ("", "/next", "/answer", "/skip", "/undo", "/train", "/answers")
    assert set(paths) == {*reading, *(f"/memory{path}" for path in memory), *(f"/review{path}" for path in review)}
    assert all(route["summary"] for methods in paths.values() for route in methods.values())


EVERY = {"200", "400", "408", "413", "421", "503"}


def test_every_status_is_described_with_the_refusal(client, guarded):
    paths = client.get("/openapi.json").json()["paths"]
    statuses = {f"{method} {path}": set(route["responses"]) for path in paths for method, route in paths[path].items()}
    asking, editing = EVERY | {"409", "422", "504"}, EVERY | {"401", "409", "422", "504"}
    assert statuses.pop("get /health") == EVERY
    assert statuses.pop("get /map") == EVERY | {"409", "504"}
    assert statuses.pop("get /errors") == asking | {"404"}
    reading = {"post /annotate", "post /explain", "post /neighbours", "get /memory", "get /memory/log"}
    review = {route: statuses.pop(route) for route in list(statuses) if " /review" in route}
    assert review == dict.fromkeys(review, editing | {"404"})
    assert statuses == {route: asking if route in reading else editing for route in statuses}
    guarded_paths = guarded.get("/openapi.json").json()["paths"]
    assert set(guarded_paths["/health"]["get"]["responses"]) == EVERY | {"401"}
    assert set(guarded_paths["/memory/undo"]["post"]["responses"]) == editing | {"403"}
    schemas = {
        str(answer["content"]["application/json"]["schema"])
        for path in guarded_paths.values()
        for route in path.values()
        for status, answer in route["responses"].items()
        if status != "200"
    }
    assert schemas == {str({"$ref": "#/components/schemas/RefusalOut"})}


def test_a_model_without_a_memory_is_served_and_says_what_it_lacks(folders, tmp_path):
    folder = shutil.copytree(folders["classifier"], tmp_path / "bare")
    for file in (*folder.glob("memory.*"), *folder.glob("journal.*")):
        file.unlink()
    with TestClient(create_app(Service(nearspan.load(folder, "cpu")), "t"), "http://localhost") as client:
        assert client.get("/health").json()["sentences"] == 0
        assert client.post("/annotate", json={"text": TEXT}).status_code == 200
        for answer in (client.get("/map"), client.post("/neighbours", json={"text": TEXT, "fragments": [[0, 3]]})):
            assert answer.status_code == 409
            assert "memory" in answer.json()["error"]


def test_a_head_that_decides_alone_has_nearest_evidence_and_no_datastore_weight(folders):
    with TestClient(
        create_app(Service(nearspan.load(folders["classifier"], "cpu")), "t"), "http://localhost"
    ) as client:
        assert client.get("/health").json()["datastore_weight"] == 0
        evidence = client.post("/neighbours", json={"text": TEXT, "fragments": [[0, 3]]}).json()
        assert (evidence["strength"], evidence["counter_evidence"]) == ("nearest", None)


def test_recalled_words_are_listed(tiny, documents, tmp_path):
    recipe = tiny("hire", "encoder.sentence_context.size=3")
    nearspan.train(recipe, documents, out=tmp_path / "hire", device="cpu")
    with TestClient(create_app(Service(nearspan.load(tmp_path / "hire", "cpu")), "t"), "http://localhost") as client:
        answer = client.post("/neighbours", json={"text": TEXT, "fragments": [[0, 3]], "count": 2})
        assert client.post("/explain", json={"text": TEXT}).status_code == 200
    assert (answer.status_code, answer.json()["strength"]) == (200, "attended")
    [word] = answer.json()["recalled"]
    assert (word["text"], word["weight"]) == ("Ada", pytest.approx(0.3))
    assert [neighbour["text"] for neighbour in word["neighbours"]] == ["Ada", "Ada"]
    assert sum(neighbour["weight"] for neighbour in word["neighbours"]) + word["unlisted"] == pytest.approx(1)


@pytest.mark.parametrize("kind", [None, "text/plain", "application/x-www-form-urlencoded", "application/json"])
def test_a_body_is_read_as_json_whatever_it_is_called(client: TestClient, kind: str | None):
    request = client.build_request("POST", "/annotate", content='{"text": "Ada lives in Oslo"}')
    request.headers.pop("content-type", None)
    if kind:
        request.headers["content-type"] = kind
    assert client.send(request).json()["documents"][0]["entities"][0]["text"] == "Ada"


def test_a_body_that_is_no_json_is_said(client: TestClient):
    answer = client.post("/annotate", content="text=Ada")
    assert (answer.status_code, answer.json()["error"][:26]) == (422, "the request is not JSON: E")
