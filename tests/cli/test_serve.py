import socket
import sys

import pytest


@pytest.fixture
def ran(monkeypatch) -> list:
    """What the command would have run."""
    from nearspan.server import run

    calls: list = []

    def note(app, host, port, limits, started):
        started("http://127.0.0.1:8000/")
        calls.append((app, host, port, limits))

    monkeypatch.setattr(run, "run", note)
    return calls


def test_the_token_is_drawn_and_printed_behind_the_address(nearspan_command, folders, ran):
    first, second = (nearspan_command("serve", folders["instance"], "--device", "cpu") for _ in range(2))
    assert first.code == 0
    assert "http://127.0.0.1:8000/#token=" in first.err
    assert first.err != second.err


def test_a_token_of_ones_own_is_not_printed(nearspan_command, folders, ran, monkeypatch):
    assert "sesame" not in nearspan_command("serve", folders["instance"], "--token", "sesame").err
    monkeypatch.setenv("NEARSPAN_TOKEN", "sesame")
    assert "#token" not in nearspan_command("serve", folders["instance"]).err


def test_limits_and_the_memorys_weight_reach_the_server(nearspan_command, folders, ran):
    from fastapi.testclient import TestClient

    nearspan_command("serve", folders["classifier"], "--limit", "texts=7", "--interpolate", "0.25", "--host", "0.0.0.0")
    (app, host, _, limits) = ran[0]
    assert (host, limits.texts) == ("0.0.0.0", 7)
    with TestClient(app) as client:
        assert client.get("/health").json()["datastore_weight"] == 0.25


def test_a_wrong_limit_says_which_are_known(nearspan_command, folders):
    found = nearspan_command("serve", folders["instance"], "--limit", "text=7")
    assert found.code == 2
    assert "did you mean 'texts'" in found.err


def test_a_port_that_is_taken_says_what_to_do(nearspan_command, folders):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        found = nearspan_command("serve", folders["instance"], "--port", taken.getsockname()[1])
    assert found.code == 2
    assert "--port" in found.err


def test_without_its_packages_it_names_the_extra(nearspan_command, folders, monkeypatch):
    for name in [name for name in sys.modules if name.startswith("nearspan.server")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "fastapi", None)
    found = nearspan_command("serve", folders["instance"])
    assert found.code == 2
    assert "nearspan[serve]" in found.err
