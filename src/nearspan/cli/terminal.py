"""The standard streams: consoles that print texts as they are, log messages, and output that cannot be written."""

from __future__ import annotations

import logging
import os
import sys
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

STYLES = {logging.WARNING: "yellow", logging.ERROR: "bold red"}


@cache
def terminal(*, stderr: bool = False) -> Console:
    """The console of a stream. It leaves emoji names alone: `a.conll:100:` and labels such as `:key:` are none."""
    from rich.console import Console

    return Console(stderr=stderr, emoji=False)


class ConsoleHandler(logging.Handler):
    """Shows log messages on standard error, above a progress bar if one is there."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print a message as it is, in the colour of its level."""
        style = STYLES.get(record.levelno, "dim")
        terminal(stderr=True).print(self.format(record), style=style, markup=False, highlight=False, soft_wrap=True)


def set_verbosity(verbose: bool, quiet: bool) -> None:
    """Show warnings and progress; with --verbose what happens too, with --quiet errors alone."""
    terminal(stderr=True).quiet = quiet
    logger = logging.getLogger("nearspan")
    logger.handlers = [handler for handler in logger.handlers if not isinstance(handler, ConsoleHandler)]
    logger.addHandler(ConsoleHandler())
    logger.setLevel(logging.ERROR if quiet else logging.INFO if verbose else logging.WARNING)


def print_error(message: str) -> None:
    """Print an error as it is, however quiet the command is to be."""
    from rich.text import Text

    console = terminal(stderr=True)
    console.quiet = False
    console.print(Text.assemble(("error: ", "bold red"), message), highlight=False, soft_wrap=True)


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
