"""The standard streams: consoles that print texts as they are, log messages, errors, output that cannot be written."""

from __future__ import annotations

import json
import logging
import os
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

import typer

from nearspan.errors import NearspanError, is_memory_full
from nearspan.io.paths import display_path
from nearspan.io.printing import printable, printable_json
from nearspan.progress import show_bars_on

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.table import Table

STYLES = {logging.WARNING: "yellow", logging.ERROR: "bold red"}

GPU_FULL = (
    "the GPU's memory is full. End what else uses it, lower a budget_mb (representation, head; a training goes on with "
    "--resume), or begin anew with a lower training.batch or suggester.max_width, or with --device cpu"
)

MEMORY_FULL = (
    "the computer's memory is full. End what else uses it, lower a budget_mb (representation, head; a training goes on "
    "with --resume), or begin anew with a lower training.batch or suggester.max_width"
)

_ARGUMENT = re.compile(r"`([a-z_]+)`")


@cache
def terminal(*, stderr: bool = False) -> Console:
    """The console of a stream, which shows no control characters of texts.

    Underlined words stand in «...» where a pipe or a file loses their style. It leaves emoji names alone:
    `a.conll:100:` and labels such as `:key:` are none.
    """
    from rich.console import Console
    from rich.segment import Segment

    class CleanConsole(Console):
        is_rendering = False  # a table renders its cells by the same method

        def print(self, *objects: Any, **options: Any) -> None:
            options.setdefault("crop", self.color_system is not None)  # «...» come after lines were broken
            super().print(*objects, **options)

        def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
            is_outermost, self.is_rendering = not self.is_rendering, True
            loses_style = is_outermost and self.color_system is None
            try:
                for text, style, control in super().render(renderable, options):
                    shown = text if control else printable(text)
                    is_marked = loses_style and style is not None and style.underline and text.strip()
                    yield Segment(f"«{shown}»" if is_marked else shown, style, control)
            finally:
                self.is_rendering = self.is_rendering and not is_outermost

    return CleanConsole(stderr=stderr, emoji=False)


def echo(text: str, *, err: bool = False, nl: bool = True) -> None:
    """Print a text as it is, but for control characters."""
    typer.echo(printable(text), err=err, nl=nl)


def number_table(*titles: str, **options: Any) -> Table:
    """A table of numbers with their names in the first column."""
    from rich.table import Column, Table

    name, *numbers = titles
    return Table(name, *(Column(title, justify="right") for title in numbers), **options)


def print_json(content: Any) -> None:
    """Print an object in one line."""
    typer.echo(printable_json(json.dumps(content, ensure_ascii=False)))


class ConsoleHandler(logging.Handler):
    """Shows log messages on standard error, above a progress bar if one is there."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print a message as it is, in the colour of its level."""
        style = STYLES.get(record.levelno, "dim")
        terminal(stderr=True).print(self.format(record), style=style, markup=False, highlight=False, soft_wrap=True)


def set_verbosity(verbose: bool, quiet: bool) -> None:
    """Show warnings and progress; with --verbose what happens too, with --quiet errors alone.

    Where standard error is no terminal and shows no progress bar, the epochs of a training and how far something long
    is are logged instead.
    """
    console = terminal(stderr=True)
    console.quiet = quiet
    logger = logging.getLogger("nearspan")
    logger.handlers = [handler for handler in logger.handlers if not isinstance(handler, ConsoleHandler)]
    logger.addHandler(ConsoleHandler())
    logger.setLevel(logging.ERROR if quiet else logging.INFO if verbose else logging.WARNING)
    show_bars_on(console if console.is_terminal and not quiet else None)
    logs_progress = not (quiet or console.is_terminal)
    for name in ("nearspan.training", "nearspan.progress"):
        logging.getLogger(name).setLevel(logging.INFO if logs_progress else logging.NOTSET)


@contextmanager
def name_options(options: Mapping[str, str]) -> Iterator[None]:
    """Put options in the place of the arguments that errors name, such as --resume for `resume`."""
    try:
        yield
    except NearspanError as error:
        message = _ARGUMENT.sub(lambda match: options.get(match[1], match[0]), str(error))
        if message == str(error):
            raise
        raise type(error)(message) from error


def message_of(error: Exception) -> str | None:
    """What went wrong, in one line; None for an error that is neither ours nor the system's."""
    torch = sys.modules.get("torch")  # where torch was not needed nothing is on a GPU
    if torch is not None and isinstance(error, torch.OutOfMemoryError):
        return GPU_FULL
    if is_memory_full(error):
        return MEMORY_FULL
    if not isinstance(error, OSError):
        return str(error) if isinstance(error, NearspanError) else None
    reason = error.strerror or str(error)
    if output_fails():
        return f"standard output cannot be written: {reason}"
    return reason if error.filename is None else f"{display_path(str(error.filename))}: {reason}"


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
