"""Processes of our own that work for this one: they answer one message after the other.

A child is started as a new Python, with the paths of this one but without its main module: a script needs no
`if __name__ == "__main__"` to use several cores. Messages are pickled, and go through the child's standard input and
output; they come from this program and from nowhere else. A child computes with one thread, leaves signals to its
parent and ends with it.
"""

from __future__ import annotations

import importlib
import os
import pickle
import signal
import subprocess
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.spawn import get_executable
from threading import Lock
from typing import IO, Any

from nearspan.errors import NearspanError

_ONE_THREAD = {
    **dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"),
    "TOKENIZERS_PARALLELISM": "false",
}
_START = "import sys; sys.path[:] = {path!r}; from nearspan.processes import main; main({target!r})"


class ProcessDied(NearspanError):
    """A child has ended without an answer: it was killed, ran out of memory or crashed."""


class ChildError(NearspanError):
    """An error in a child that cannot be sent as it is."""


class Child:
    """A process in which `target`, as `module:class`, is made once and then called with the arguments of each message.

        with Child("nearspan.model.workers:Annotator", path) as annotator:
            annotator.ask(documents)

    It starts at once, in the background: the first `ask` waits for it.
    """

    def __init__(self, target: str, *arguments: Any) -> None:
        code = _START.format(path=sys.path, target=target)
        self._process = subprocess.Popen(
            [os.fsdecode(get_executable()), "-c", code],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **_ONE_THREAD},
            process_group=0,  # Ctrl-C is for the parent, however early it comes
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._to: IO[bytes] = self._process.stdin
        self._from: IO[bytes] = self._process.stdout
        self._mutex = Lock()
        self._is_ready = False
        self._send(arguments)

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._process.pid

    def wait_until_ready(self) -> None:
        """Wait until the target is made; raise what went wrong there."""
        with self._mutex:
            self._finish_start()

    def ask(self, *arguments: Any) -> Any:
        """Call the target and wait for what it returns; what it raises is raised here."""
        with self._mutex:
            self._finish_start()
            self._send(arguments)
            return self._receive()

    def close(self) -> None:
        """End the process at once, whatever it is doing."""
        self._process.kill()
        for stream in (self._to, self._from):
            with suppress(OSError):  # what could not be sent any more
                stream.close()
        self._process.wait()

    def __enter__(self) -> Child:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _finish_start(self) -> None:
        if not self._is_ready:
            self._receive()
            self._is_ready = True

    def _send(self, message: tuple[Any, ...]) -> None:
        content = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)  # whole: what cannot be pickled leaves no half message
        with suppress(OSError, ValueError):  # it has ended, or was closed: `_receive` says how
            self._to.write(content)
            self._to.flush()

    def _receive(self) -> Any:
        try:
            is_answer, content = pickle.load(self._from)
        except (EOFError, OSError, ValueError, pickle.UnpicklingError):
            code = self._process.wait()
            raise ProcessDied(f"a worker process has ended {_how(code)}") from None
        if is_answer:
            return content
        raise content


def _how(code: int) -> str:
    """How a process has ended, by its exit code.

    >>> _how(-9), _how(3)
    ('(SIGKILL: killed, perhaps because memory was full)', '(exit code 3)')
    """
    if code >= 0:
        return f"(exit code {code})"
    name = signal.Signals(-code).name
    return f"({name}: killed, perhaps because memory was full)" if name == "SIGKILL" else f"({name})"


def main(target: str) -> None:
    """Make the target of the first message, and answer all others, until the parent closes its end."""
    for number in (signal.SIGINT, signal.SIGTERM):  # the parent says when it ends
        signal.signal(number, signal.SIG_IGN)
    to, source = os.fdopen(os.dup(1), "wb"), os.fdopen(os.dup(0), "rb")
    os.dup2(2, 1)  # what a library prints is no answer
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    module, _, name = target.partition(":")
    work: Callable[..., Any] | None = None
    try:
        while True:
            try:
                arguments = pickle.load(source)
            except EOFError:
                return
            try:
                if work is None:
                    work = getattr(importlib.import_module(module), name)(*arguments)
                    content = None
                else:
                    content = work(*arguments)
                answer = pickle.dumps((True, content), pickle.HIGHEST_PROTOCOL)
            except Exception as error:
                answer = _pickle_error(error)
            to.write(answer)
            to.flush()
    except BrokenPipeError:  # the parent has gone
        os._exit(1)


def _pickle_error(error: Exception) -> bytes:
    """An error with its traceback as a note; one of our own where it cannot be sent."""
    error.add_note("in a worker process:\n" + "".join(traceback.format_exception(error)))
    try:
        content = pickle.dumps((False, error), pickle.HIGHEST_PROTOCOL)
        pickle.loads(content)
    except Exception:
        stand_in = ChildError(f"{type(error).__name__}: {error}")
        stand_in.__notes__ = error.__notes__
        return pickle.dumps((False, stand_in), pickle.HIGHEST_PROTOCOL)
    return content
