import re
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

    nearspan_command("serve", folders["classifier"], "--limit", "texts=7", "--interpolate", "0.25")
    (app, host, _, limits) = ran[0]
    assert (host, limits.texts) == ("127.0.0.1", 7)
    with TestClient(app, "http://localhost") as client:
        assert client.get("/health").json()["datastore_weight"] == 0.25


def statuses(app, *tokens: str) -> list[int]:
    """What reading is answered without a token, and with each of these."""
    from fastapi.testclient import TestClient

    with TestClient(app, "http://localhost") as client:
        headers = [{}, *({"Authorization": f"Bearer {token}"} for token in tokens)]
        return [client.get("/memory", headers=each).status_code for each in headers]


def test_where_other_machines_reach_it_reading_needs_a_token_and_the_start_says_what_is_open(
    nearspan_command, folders, ran
):
    shown = nearspan_command("serve", folders["instance"], "--host", "0.0.0.0").err
    assert "Whoever has a token can read all 12 sentences of the memory: training text" in " ".join(shown.split())
    tokens = re.findall(r"#token=(\S+)", shown)
    assert len(set(tokens)) == 2
    assert statuses(ran[0][0], *tokens) == [401, 200, 200]


def test_here_alone_reading_needs_no_token_unless_one_is_given(nearspan_command, folders, ran):
    shown = nearspan_command("serve", folders["instance"]).err
    assert "Other machines" not in shown
    shown = nearspan_command("serve", folders["instance"], "--read-token", "poppy").err
    assert "poppy" not in shown
    assert [statuses(app, "poppy") for app, *_ in ran] == [[200, 200], [401, 200]]


def test_public_lets_whoever_finds_it_read_and_says_so(nearspan_command, folders, ran):
    shown = nearspan_command("serve", folders["instance"], "--host", "0.0.0.0", "--public").err
    assert "Whoever finds it can read all 12 sentences" in " ".join(shown.split())
    assert statuses(ran[0][0]) == [200]
    both = nearspan_command("serve", folders["instance"], "--public", "--read-token", "poppy")
    assert both.code == 2
    assert "--read-token" in both.err


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


def test_annotation_tools_get_addresses_that_hold_the_token(nearspan_command, folders, ran):
    shown = nearspan_command("serve", folders["instance"], "--label-studio", "--inception").err
    token = re.search(r"#token=(\S+)", shown)[1]
    assert f"http://nearspan:{token}@127.0.0.1:8000/label-studio" in shown
    assert f"http://127.0.0.1:8000/inception/{token}" in shown
    hidden = nearspan_command("serve", folders["instance"], "--label-studio", "--token", "sesame").err
    assert "http://nearspan:TOKEN@127.0.0.1:8000/label-studio" in hidden


@pytest.mark.parametrize("weight", ["0", "-1", "inf", "nan", "much"])
def test_a_weight_that_is_none_is_refused(nearspan_command, folders, ran, weight):
    refused = nearspan_command("serve", folders["instance"], "--label-studio", f"--annotation-weight={weight}")
    assert refused.code != 0
    assert "above 0, or 'enough'" in " ".join(refused.err.split())
