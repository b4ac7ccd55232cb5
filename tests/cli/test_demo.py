"""`nearspan demo`: it may replace an earlier demo, and nothing else."""

import json
from pathlib import Path

import pytest

import nearspan

TINY = """
name = "tiny"
base = "instance-sample"
encoder = {vectors = {size = 4}, characters = {filters = 2}, bilstm = {size = 4}}
head = {neighbours = 2}
training = {epochs = 1, batch = 4}
"""


@pytest.fixture(autouse=True)
def sample(documents, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A dozen sentences in place of the bundled sample, and a tiny system."""
    data = tmp_path / "data.jsonl"
    nearspan.write(documents, data)
    (tmp_path / "tiny.toml").write_text(TINY)
    monkeypatch.setattr("nearspan.cli.demo.RECIPE", tmp_path / "tiny.toml")
    monkeypatch.setattr("nearspan.formats.sample.path", lambda _: data)
    return data


def test_a_demo_is_replaced_and_what_is_not_its_own_stays(nearspan_command, tmp_path: Path):
    out = tmp_path / "demo"
    assert nearspan_command("-q", "demo", "--out", out, "--seed", "1").code == 0
    (out / "notes.txt").write_text("mine")
    (out / "vocabularies" / "mine.json").write_text("[]")
    ran = nearspan_command("demo", "--out", out, "--seed", "2")
    assert ran.code == 0, ran.err
    assert json.loads((out / "result.json").read_text())["seed"] == 2
    assert (out / "notes.txt").read_text() == "mine"
    assert (out / "vocabularies" / "mine.json").exists()


def test_the_encoder_of_a_demo_that_is_replaced_goes_first(nearspan_command, tmp_path: Path):
    out = tmp_path / "demo"
    assert nearspan_command("-q", "demo", "--out", out).code == 0
    (out / "encoder").mkdir()
    (out / "encoder" / "config.json").write_text("{}")
    (out / "encoder" / "mine.txt").write_text("mine")
    config = (out / "config.toml").read_text()
    (out / "config.toml").write_text(config.replace("[model.files]\n", '[model.files]\n"encoder/config.json" = "0"\n'))
    assert nearspan_command("-q", "demo", "--out", out).code == 0
    assert [file.name for file in (out / "encoder").iterdir()] == ["mine.txt"]


def test_a_demo_that_was_stopped_goes_on(nearspan_command, tmp_path: Path):
    assert nearspan_command("demo", "--out", tmp_path / "m").code == 0
    (tmp_path / "m" / "config.toml").unlink()
    (tmp_path / "m" / "result.json").unlink()
    assert nearspan_command("demo", "--out", tmp_path / "m", "--seed", "1").code == 2  # another run
    assert nearspan_command("demo", "--out", tmp_path / "m").code == 0
    assert (tmp_path / "m" / "config.toml").exists()


@pytest.mark.parametrize(
    "record",
    [
        "{}",
        "[]",
        "no JSON",
        json.dumps({"command": ["nearspan", "train"], "data": "0"}),
        json.dumps({"command": ["nearspan", "demo"], "data": "0"}),
        json.dumps({"command": ["nearspan", 1], "data": "0"}),
    ],
)
def test_a_folder_that_is_no_demo_is_left_as_it_is(nearspan_command, tmp_path: Path, record: str):
    (tmp_path / "result.json").write_text(record)
    (tmp_path / "precious.txt").write_text("x")
    ran = nearspan_command("demo", "--out", tmp_path)
    assert ran.code == 2
    assert "already holds a model or a run" in ran.err
    assert (tmp_path / "result.json").read_text() == record
    assert (tmp_path / "precious.txt").read_text() == "x"


def test_a_training_is_no_demo(nearspan_command, sample: Path, tmp_path: Path):
    common = ("--train", sample, "--out", tmp_path / "m", "--device", "cpu")
    assert nearspan_command("train", tmp_path / "tiny.toml", *common).code == 0
    before = (tmp_path / "m" / "model.safetensors").read_bytes()
    ran = nearspan_command("demo", "--out", tmp_path / "m")
    assert ran.code == 2
    assert "already holds a model or a run" in ran.err
    assert (tmp_path / "m" / "model.safetensors").read_bytes() == before


def test_a_demo_that_is_stopped_while_it_replaces_another_can_be_run_again(
    nearspan_command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    out, unlink, left = tmp_path / "demo", Path.unlink, [0]
    assert nearspan_command("demo", "--out", out).code == 0

    def stopping(self: Path, missing_ok: bool = False) -> None:
        left[0] -= 1
        if left[0] < 0:
            raise OSError("stopped")
        unlink(self, missing_ok)

    for count in range(1, 9):
        with monkeypatch.context() as patched:
            left[0] = count
            patched.setattr(Path, "unlink", stopping)
            assert nearspan_command("demo", "--out", out).code == 2
        assert (out / "result.json").exists()  # what tells that the rest is a demo's
    assert nearspan_command("demo", "--out", out).code == 0
