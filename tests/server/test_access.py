"""Who is answered: hosts and tokens."""

import pytest
from fastapi.testclient import TestClient

from nearspan.errors import ConfigError
from nearspan.server import create_app
from nearspan.server.access import allowed_hosts, is_allowed, is_loopback

TEXT = {"text": "Ada lives in Oslo"}
READING = [
    ("GET", "/health", None),
    ("POST", "/annotate", TEXT),
    ("POST", "/explain", TEXT),
    ("POST", "/neighbours", TEXT | {"start": 0, "end": 3}),
    ("GET", "/map", None),
    ("GET", "/errors", None),
    ("GET", "/memory", None),
    ("GET", "/memory/log", None),
]


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


@pytest.mark.parametrize(("method", "path", "body"), READING)
def test_with_a_read_token_nothing_is_read_without_it(guarded, method, path, body):
    for headers in ({}, bearer("wrong"), bearer("")):
        answer = guarded.request(method, path, json=body, headers=headers)
        assert (answer.status_code, answer.headers["WWW-Authenticate"]) == (401, "Bearer")
        assert "reading needs the server's token" in answer.json()["error"]
    for token in ("poppy", "sesame"):
        assert guarded.request(method, path, json=body, headers=bearer(token)).status_code == 200


def test_the_page_and_the_description_hold_no_text_and_need_no_token(guarded):
    for path in ("/", "/page/main.js", "/openapi.json"):
        assert guarded.get(path).status_code == 200


def test_the_read_token_does_not_edit(guarded):
    answer = guarded.delete("/memory/0", headers=bearer("poppy"))
    assert answer.status_code == 403
    assert "reading only" in answer.json()["error"]
    assert guarded.delete("/memory/0", headers=bearer("sesame")).status_code == 200


@pytest.mark.parametrize("token", ["", "s\u00e9same", "open sesame", "sesame\n"])
def test_a_token_that_no_header_can_carry_is_refused(service, token):
    with pytest.raises(ConfigError, match="token"):
        create_app(service, token)
    with pytest.raises(ConfigError, match="token"):
        create_app(service, token, read_token=token or "a b")


def test_other_names_are_not_answered(service):
    with TestClient(create_app(service, "t"), base_url="http://127.0.0.1:8000") as client:
        assert client.get("/health").status_code == 200
        assert client.get("/health", headers={"Host": "localhost"}).status_code == 200
        answer = client.get("/health", headers={"Host": "rebound.example"})
    assert answer.status_code == 421
    assert "'rebound.example'" in answer.json()["error"]
    assert "--allow-host" in answer.json()["error"]


def test_a_name_that_is_allowed_is_answered(service):
    hosts = allowed_hosts("0.0.0.0", ["NER.example"])
    with TestClient(create_app(service, "t", hosts=hosts), "http://ner.example") as client:
        assert client.get("/health").status_code == 200


@pytest.mark.parametrize(
    ("header", "address", "allowed"),
    [
        ("192.168.1.5:8000", "192.168.1.5", True),  # a server on 0.0.0.0, by the address that was connected to
        ("192.168.1.6:8000", "192.168.1.5", False),
        ("[fd00::5]:8000", "fd00::5", True),
        ("fd00::5", "fd00::5", False),
        ("rebound.example", "rebound.example", False),  # no address, whatever the server's is said to be
        ("rebound.example:127", "127.0.0.1", False),
        ("localhost.rebound.example", "127.0.0.1", False),
        ("", "", False),
    ],
)
def test_the_address_itself_needs_no_list(header, address, allowed):
    assert is_allowed(header, allowed_hosts("0.0.0.0"), address) is allowed


@pytest.mark.parametrize("name", ["http://ner.example", "ner.example:8000", "ner.example/", "", "a b"])
def test_a_host_to_allow_is_a_name_alone(name):
    with pytest.raises(ConfigError, match="no host: give its name alone"):
        allowed_hosts("0.0.0.0", [name])


@pytest.mark.parametrize(
    ("host", "loopback"),
    [("127.0.0.1", True), ("127.0.0.2", True), ("::1", True), ("LOCALHOST", True)]
    + [(host, False) for host in ("0.0.0.0", "::", "10.0.0.5", "example.org", "")],
)
def test_which_addresses_other_machines_can_reach(host, loopback):
    assert is_loopback(host) is loopback
