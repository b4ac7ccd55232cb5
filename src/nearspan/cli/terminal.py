"""The standard streams: consoles that print texts as they are, and what to do where output cannot be written."""

from __future__ import annotations

import os
import sys

from rich.console import Console


def terminal(*, stderr: bool = False, soft_wrap: bool = False) -> Console:
    """A console that leaves emoji names alone, as `a.conll:100:` and labels such as `:key:` are not meant as emoji."""
    return Console(stderr=stderr, soft_wrap=soft_wrap, emoji=False)


def discard_output() -> None:
    """Throw away what standard output still holds, as Python tries to write it at its end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def output_fails() -> bool:
    """Whether standard output cannot be written; what it still holds is then thrown away."""
    if sys.stdout is None:  # closed by who started the command
        return False
    try:
        sys.stdout.flush()
    except OSError:
        discard_output()
        return True
    return False
