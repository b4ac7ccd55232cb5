"""--verbose and --quiet: how much a command says beside its results."""

from pathlib import Path

import pytest

import nearspan

SETTINGS = ("encoder.vectors.size=4", "encoder.characters.filters=2", "encoder.bilstm.size=4", "training.epochs=1")


@pytest.fixture
def train(nearspan_command, documents, tmp_path: Path):
    nearspan.write(documents, tmp_path / "train.jsonl")
    settings = [part for setting in SETTINGS for part in ("--set", setting)]

    def run(*options: str):
        corpus = ("--train", tmp_path / "train.jsonl", "--device", "cpu")
        return nearspan_command(*options, "train", "classifier", *corpus, "--out", tmp_path / "m", *settings)

    return run


@pytest.mark.parametrize("options", [[], ["--verbose"]])
def test_off_a_terminal_each_epoch_is_a_line(train, options: list[str]):
    ran = train(*options)
    assert ran.err.count("epoch 1/1: loss") == 1
    assert ("read 12 documents from " in ran.err) == bool(options)
    assert "saved to" in ran.err


def test_a_quiet_training_says_nothing(train):
    ran = train("-q")
    assert (ran.code, ran.out, ran.err) == (0, "", "")


def test_warnings_are_shown_once_unless_the_command_is_quiet(nearspan_command, folders, tmp_path: Path):
    (tmp_path / "a.txt").write_text("")
    annotate = ("annotate", folders["classifier"], tmp_path / "a.txt", "--device", "cpu")
    for _ in range(2):
        assert nearspan_command(*annotate).err.count("a.txt is empty") == 1
    ran = nearspan_command("--quiet", *annotate)
    assert ran.err == ""
    assert ran.out.startswith("{")


def test_errors_are_shown_however_quiet_a_command_is(nearspan_command, tmp_path: Path):
    ran = nearspan_command("-q", "check", tmp_path / "absent")
    assert ran.code == 2
    assert "error: " in ran.err
