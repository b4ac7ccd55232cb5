"""Ctrl-C: one short line and exit code 130, whatever a command is doing."""

import random
import signal
import subprocess
import sys
from pathlib import Path
from textwrap import indent

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
    assert not (tmp_path / "m" / "config.toml").exists()


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


MODULES = {"--help": 60, "check": 200, "annotate": 800, "train": 800}  # that a command imports at the least


@pytest.mark.parametrize("command", MODULES)
def test_any_moment_from_our_first_line_on(start, finish, folders, tmp_path: Path, command: str):
    training = ("instance", "--train", path("dev"), "--out", tmp_path / "m", "--device", "cpu")
    arguments = {"check": [path("dev")], "annotate": [folders["classifier"]], "train": training}.get(command, ())
    for modules in random.Random(command).sample(range(1, MODULES[command]), 3):
        for _ in range(5):  # on a busy machine a short command may end before the signal comes
            process = start(command, *arguments, python=IMPORTS)
            while not process.stderr.readline().endswith(b"| nearspan\n"):
                pass
            for _ in range(modules):
                process.stderr.readline()
            process.send_signal(signal.SIGINT)
            code, _, err = finish(process, b"Ada lives in Oslo\n")
            if code:
                break
        messages = [line for line in err.splitlines() if not line.startswith(TRACED)]
        assert (code, messages) == (130, ["stopped"]), modules


def command(body: str) -> list[str]:
    """Options of the interpreter that run a command of this body."""
    imports = "import signal, sys, nearspan.cli, nearspan.__main__ as entry"
    return ["-c", f"{imports}\ndef run():{indent(body, '    ')}\nnearspan.cli.main = run\nentry.main()"]


TAKES_LONG = "print('ready', flush=True)\nwhile True:\n    pass"
SWALLOWS = "import signal\ntry:\n    print('ready', flush=True)\n    signal.pause()\nexcept BaseException:\n    pass"
LIBRARIES = {
    "swallowed": """
while True:
    try:
        print("ready", flush=True)
        signal.pause()
    except BaseException:
        pass""",
    "swallowed in an import": """
sys.path.insert(0, sys.argv[1])
import swallows
while True:
    pass""",
    "an import that takes long": """
sys.path.insert(0, sys.argv[1])
import takes_long""",
    "in a destructor": """
class Handle:
    def __del__(self):
        print("ready", flush=True)
        while True:
            pass
Handle()
while True:
    pass""",
    "another error of it": """
try:
    print("ready", flush=True)
    signal.pause()
except KeyboardInterrupt:
    raise RuntimeError""",
    "tidying up fails": """
try:
    print("ready", flush=True)
    signal.pause()
finally:
    open("/no/such/folder/file")""",
}


@pytest.mark.parametrize("body", LIBRARIES.values(), ids=LIBRARIES)
def test_whatever_libraries_make_of_it(tmp_path: Path, body: str):
    (tmp_path / "swallows.py").write_text(SWALLOWS)
    (tmp_path / "takes_long.py").write_text(TAKES_LONG)
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    process = subprocess.Popen([sys.executable, *command(body), tmp_path], **pipes)
    assert interrupt(process, process.stdout, "ready") == (130, ["ready", "stopped"])


def test_what_tidies_up_may_take_its_time():
    body = """
try:
    print("ready", flush=True)
    signal.pause()
finally:
    for _ in range(5):
        signal.pause()
    print("tidy", file=sys.stderr, flush=True)"""
    process = subprocess.Popen([sys.executable, *command(body)], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert interrupt(process, process.stdout, "ready") == (130, ["ready", "tidy", "stopped"])
