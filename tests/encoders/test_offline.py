"""No command that takes a model folder asks the network for anything, whatever the folder names."""

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import tomli_w

import nearspan
from nearspan.errors import ConfigError
from nearspan.report import report

WITHOUT_NETWORK = """
import io, json, signal, socket, sys

asked, codes = [], {}

def refuse(*given, **named):
    asked.append(repr(given))
    raise OSError("there is no network")

socket.getaddrinfo = socket.gethostbyname = refuse
socket.socket.connect = socket.socket.connect_ex = socket.socket.sendto = refuse

from nearspan.cli import main
from nearspan.server import run as server

serve = server.run
server.run = lambda *given: serve(*given[:-1], lambda address: signal.raise_signal(signal.SIGINT))

commands, result = json.loads(sys.argv[1]), sys.argv[2]
for command in commands:
    sys.argv = ["nearspan", *command]
    sys.stdin = io.TextIOWrapper(io.BytesIO(b"Ada lives in Oslo"), encoding="utf-8")
    try:
        main()
        code = 0
    except SystemExit as end:
        code = end.code or 0
    codes[" ".join(command)] = code
with open(result, "w") as file:
    json.dump({"asked": asked, "codes": codes}, file)
"""


@pytest.fixture(scope="module")
def model(encoders, tiny, documents, tmp_path_factory) -> Path:
    """With a pretrained encoder and a memory; its config names an encoder on a hub."""
    folder = tmp_path_factory.mktemp("offline") / "m"
    settings = (f'encoder.transformer={{name="{encoders["bert"]}", overlap=4}}', "encoder.vectors=none")
    nearspan.train(tiny("instance", *settings), documents, documents, out=folder, device="cpu")
    config = tomllib.loads((folder / "config.toml").read_text())
    config["recipe"]["encoder"]["transformer"]["name"] = "attacker/encoder"
    (folder / "config.toml").write_text(tomli_w.dumps(config))
    nearspan.write(documents, folder.parent / "gold.jsonl")
    return folder


def test_no_command_that_takes_a_model_folder_asks_the_network(model: Path, tmp_path: Path):
    m, gold, text = str(model), str(model.parent / "gold.jsonl"), "Ada lives in Oslo"
    commands = [
        ["annotate", m],
        ["annotate", m, gold, "--out", str(tmp_path / "found.jsonl")],
        ["evaluate", m, gold],
        ["explain", m, text],
        ["explain", m, text, "--html", str(tmp_path / "evidence.html")],
        ["audit", m, gold],
        ["report", m, gold, "--out", str(tmp_path / "report"), "--papers"],
        ["memory", m, "list"],
        ["memory", m, "search", text, "--span", "Oslo"],
        ["memory", m, "add", "[Vienna](PLACE) is cold", "--document", "mine"],
        ["memory", m, "relabel", "--sentence", "0", "--span", "Oslo", "--label", "PERSON"],
        ["memory", m, "remove", "--document", "mine"],
        ["memory", m, "undo"],
        ["memory", m, "log"],
        ["memory", m, "build"],
        ["serve", m, "--port", "0"],
    ]
    curves = ["report", m, gold, "--out", str(tmp_path / "curves"), "--papers", "--train", gold, "--dev", gold]
    command = [sys.executable, "-c", WITHOUT_NETWORK, json.dumps([*commands, curves]), str(tmp_path / "result.json")]
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    result = json.loads((tmp_path / "result.json").read_text())
    assert not result["asked"]
    assert result["codes"] == {" ".join(command): 0 for command in commands} | {" ".join(curves): 2}, run.stderr
    assert "say which with --encoder (in the folder: 'attacker/encoder')" in run.stderr


def test_a_curve_loads_the_encoder_that_it_is_told(model: Path, encoders, documents, tmp_path: Path):
    curves = {"papers": True, "train": documents, "dev": documents, "sizes": (1,), "device": "cpu"}
    with pytest.raises(ConfigError, match="say which with `encoder`"):
        report(model, documents, out=tmp_path, **curves)
    made = report(model, documents, out=tmp_path, encoder=str(encoders["bert"]), **curves)
    assert [point.name for point in made.papers.sizes] == ["m"]


def test_an_encoder_that_no_curve_needs_is_refused(folders, documents, tmp_path: Path):
    with pytest.raises(ConfigError, match="leave it out"):
        report(folders["classifier"], documents, out=tmp_path, encoder="some/encoder", device="cpu")
