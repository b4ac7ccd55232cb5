"""Commands as processes of their own."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import nearspan

SOURCE = Path(nearspan.__file__).parents[1]


@pytest.fixture
def start() -> Callable[..., subprocess.Popen]:
    """Start a command with pipes to it; `python` are options of the interpreter, `environment` is added to ours."""

    def run(*arguments: str | Path, python=(), environment=(), **options) -> subprocess.Popen:
        settings = {"PYTHONPATH": str(SOURCE), "OMP_NUM_THREADS": "1", "COLUMNS": "200", "PYTHONUNBUFFERED": ""}
        command = [sys.executable, *python, "-m", "nearspan", *map(str, arguments)]
        pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        return subprocess.Popen(command, env={**os.environ, **settings, **dict(environment)}, **{**pipes, **options})

    return run


@pytest.fixture
def finish() -> Callable[..., tuple[int, str, str]]:
    """Give a process its input and wait for its end: the exit code and what it wrote."""

    def end(process: subprocess.Popen, stdin: bytes = b"") -> tuple[int, str, str]:
        out, err = process.communicate(stdin, timeout=120)
        return process.returncode, out.decode(), err.decode()

    return end
