import asyncio
import json

import pytest
from fastapi.testclient import TestClient
from pydantic import BaseModel, ValidationError

from nearspan.errors import ConfigError
from nearspan.server import Limits, create_app
from nearspan.server.access import LOOPBACK
from nearspan.server.guard import Guard
from nearspan.server.limits import Refusal
from nearspan.server.requests import AnnotateIn, DocumentIn
from nearspan.server.worker import Worker


@pytest.fixture(autouse=True)
def _model_is_untouched(service, monkeypatch):
    """What is refused here never reaches the model."""

    def fail(*_):
        raise AssertionError("the model was touched")

    for name in ("annotate", "explain", "neighbours"):
        monkeypatch.setattr(service, name, fail)


@pytest.mark.parametrize(
    ("path", "body", "status", "word"),
    [
        ("/annotate", {"text": "x" * 1_001}, 413, "1,000"),
        ("/annotate", {"texts": ["x" * 400] * 3}, 413, "1,000"),
        ("/annotate", {"texts": ["x"] * 5}, 413, "at most 4"),
        ("/annotate", {"text": "x" * 5_000}, 413, "5,000"),
        ("/annotate", {}, 422, "either text or texts"),
        ("/annotate", {"text": "x", "texts": []}, 422, "either text or texts"),
        ("/annotate", {"text": 5}, 422, "text: "),
        ("/annotate", {"text": "x", "txt": "x"}, 422, "txt"),
        ("/annotate", {"text": "x", "k" * 3_000: "x"}, 422, "k" * 100 + "…: "),
        ("/annotate", [], 422, ""),
        ("/explain", {"text": "x" * 201}, 413, "200"),
        ("/explain", {"text": "x", "count": 9}, 422, "at most 8"),
        ("/explain", {"text": "x", "count": 0}, 422, "count"),
        ("/neighbours", {"text": "x", "fragments": []}, 422, "fragments"),
        ("/neighbours", {"text": "x", "fragments": [[0, 9]]}, 422, "after the text"),
        ("/neighbours", {"text": "xyz", "fragments": [[2, 3], [0, 1]]}, 422, "in order"),
        ("/neighbours", {"text": "xyz", "start": 1}, 422, "fragments, or start and end"),
        ("/neighbours", {"text": "xyz", "start": 2, "end": 1}, 422, "start < end"),
        ("/neighbours", {"text": "xyz", "fragments": [[0, 1]], "start": 0, "end": 2}, 422, "from 0 to 1"),
        ("/neighbours", {"text": "x", "fragments": [[0, 1]], "label": "PERSN"}, 422, "PERSON"),
        ("/neighbours", {"text": "x", "fragments": [[0, 1]], "label": "x" * 201}, 422, "at most 200"),
    ],
)
def test_requests_beyond_the_limits_are_refused_with_the_reason(client, path, body, status, word):
    answer = client.post(path, json=body)
    assert answer.status_code == status
    assert word in answer.json()["error"]


@pytest.mark.parametrize(
    "body", [b"", b"{", b"\xff\xfe", b'{"text": "\\ud800"}', b"[" * 4_000, b'{"text": NaN}', b'{"text": 1e999}']
)
def test_malformed_bodies_are_refused(client, body):
    answer = client.post("/annotate", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code in (400, 422)
    assert answer.json()["error"]


def test_unknown_paths_and_methods_answer_in_json(client):
    assert client.get("/nothing").json() == {"error": "Not Found"}
    assert client.get("/annotate").status_code == 405
    assert client.get("/page/../app.py").status_code == 404
    assert client.get("/page/%2e%2e/app.py").status_code == 404


def test_every_answer_forbids_other_hosts_and_inline_script(client):
    for path in ("/", "/page/main.js", "/health", "/nothing"):
        headers = client.get(path).headers
        assert headers["Content-Security-Policy"].startswith("default-src 'self';")
        assert "unsafe" not in headers["Content-Security-Policy"]
        assert headers["X-Content-Type-Options"] == "nosniff"


def test_a_failure_of_ours_is_json_with_the_same_headers(service):
    with TestClient(create_app(service, "t"), "http://localhost", raise_server_exceptions=False) as client:
        answer = client.post("/annotate", json={"text": "x"})  # touches the model, which fails here
    assert (answer.status_code, answer.json()["error"][:17]) == (500, "the server failed")
    assert answer.headers["X-Content-Type-Options"] == "nosniff"


def ask(receive, limits: Limits) -> list[dict]:
    """What the guard sends for a request; an application behind it answers nothing."""
    sent: list[dict] = []

    async def send(message):
        sent.append(message)

    async def app(*_):
        raise AssertionError("the request went through")

    scope = {"type": "http", "method": "POST", "path": "/annotate", "headers": [(b"host", b"localhost")]}
    asyncio.run(Guard(app, limits, LOOPBACK)(scope, receive, send))
    return sent


def test_a_body_that_never_ends_is_refused(limits):
    async def receive():
        return {"type": "http.request", "body": b"x" * 1_000, "more_body": True}

    start, body, _ = ask(receive, limits)
    assert start["status"] == 413
    assert "5,000" in json.loads(body["body"])["error"]


def test_a_body_that_does_not_come_is_refused(limits, monkeypatch):
    monkeypatch.setattr("nearspan.server.guard.LINGER", 0.01)

    async def receive():
        await asyncio.Event().wait()

    start, _, end = ask(receive, limits.model_copy(update={"send_seconds": 0.01}))
    assert start["status"] == 408
    assert (b"connection", b"close") in start["headers"]
    assert end["more_body"] is False


def test_a_client_that_goes_is_not_answered(limits):
    async def receive():
        return {"type": "http.disconnect"}

    assert ask(receive, limits) == []


def test_a_busy_server_says_when_to_come_back(service, monkeypatch):
    app = create_app(service, "t", Limits(waiting=1))

    async def busy(*_):
        raise Refusal(503, "busy")

    monkeypatch.setattr(Worker, "ask", busy)
    with TestClient(app, "http://localhost") as client:
        answer = client.post("/annotate", json={"text": "x"})
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "1")


@pytest.mark.parametrize(
    ("setting", "word"), [("characters", "name=value"), ("charcters=5", "characters"), ("texts=0", "1")]
)
def test_limits_are_checked(setting, word):
    with pytest.raises(ConfigError, match=word):
        Limits().override([setting])


@pytest.mark.parametrize(
    ("schema", "body"),
    [
        (AnnotateIn, {"texts": [1] * 9}),
        *((DocumentIn, {"text": "", name: [1] * 9}) for name in ("entities", "words", "sentences")),
    ],
)
def test_a_list_is_read_to_its_first_error(schema: type[BaseModel], body: dict):
    with pytest.raises(ValidationError) as error:
        schema.model_validate(body)
    assert error.value.error_count() == 1
