"""Ctrl-C: one short line and exit code 130, whatever a command is doing."""

import signal
import subprocess
from pathlib import Path

import pytest

from nearspan.formats.sample import path

IMPORTS = ("-X", "importtime")  # a line on standard error for each module, as soon as it is imported
TRACED = "import time:"


def interrupt(process: subprocess.Popen, stream, until: str) -> tuple[int, list[str]]:
    """Send Ctrl-C when a line has come, and wait for the end: the exit code and the messages."""
    lines: list[str] = []
    for line in iter(stream.readline, b""):
        lines.append(line.decode().rstrip("\n"))
        if until in lines[-1]:
            break
    assert until in lines[-1], lines
    process.send_signal(signal.SIGINT)
    _, rest = process.communicate(timeout=120)
    lines += rest.decode().splitlines()
    return process.returncode, [line for line in lines if not line.startswith(TRACED)]


@pytest.mark.parametrize("module", ["logging", "typer.main", "nearspan.cli"])
def test_help_while_it_is_imported(start, module: str):
    process = start("--help", python=IMPORTS)
    assert interrupt(process, process.stderr, f" {module}") == (130, ["stopped"])


@pytest.mark.parametrize("module", ["numpy", "torch._C", "nearspan.config"])
def test_a_command_while_it_is_imported(start, tmp_path: Path, module: str):
    process = start("train", "instance", "--train", path("dev"), "--out", tmp_path / "m", python=IMPORTS)
    assert interrupt(process, process.stderr, f" {module}") == (130, ["stopped"])
    assert not (tmp_path / "m").exists()


def test_a_training(start, tmp_path: Path):
    process = start("train", "instance", "--train", path("dev"), "--out", tmp_path / "m", "--device", "cpu")
    code, messages = interrupt(process, process.stderr, "labels:")
    assert code == 130
    assert messages[-1].startswith("stopped")
    assert not any("Traceback" in line for line in messages)


def test_annotating(start, folders, tmp_path: Path):
    (tmp_path / "lines").write_bytes(b"Ada lives in Oslo\n" * 30_000)
    with (tmp_path / "lines").open("rb") as lines:
        process = start("annotate", folders["classifier"], "--device", "cpu", stdin=lines)
    code, (answer, *messages) = interrupt(process, process.stdout, "Ada")
    assert (code, messages) == (130, ["stopped"])
    assert answer.startswith("{")
