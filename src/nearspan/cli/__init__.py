"""The command line: one file a verb."""

from __future__ import annotations

import io
import sys
from contextlib import suppress

import torch
import typer
from rich.text import Text

from nearspan import __version__
from nearspan.cli.annotate import annotate
from nearspan.cli.audit import audit
from nearspan.cli.check import check
from nearspan.cli.convert import convert
from nearspan.cli.demo import demo
from nearspan.cli.evaluate import evaluate
from nearspan.cli.explain import explain
from nearspan.cli.memory import memory
from nearspan.cli.recipes import recipes
from nearspan.cli.report import report
from nearspan.cli.serve import serve
from nearspan.cli.terminal import output_fails, terminal
from nearspan.cli.train import train
from nearspan.cli.tune import tune
from nearspan.cli.vectors import vectors
from nearspan.errors import NearspanError
from nearspan.io.paths import display_path

FULL = (
    "the GPU's memory is full. End what else uses it, lower a budget_mb (representation, head; a training goes on with "
    "--resume), or begin anew with a lower training.batch or suggester.max_width, or with --device cpu"
)

app = typer.Typer(
    name="nearspan",
    help="Named entity recognition that shows its evidence.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    rich_markup_mode="markdown",
)
COMMANDS = (demo, train, tune, evaluate, annotate, explain, serve, audit, report, check, convert, vectors, recipes)
for command in COMMANDS:
    app.command()(command)
app.add_typer(memory, name="memory")


@app.callback(invoke_without_command=True)
def version(show: bool = typer.Option(False, "--version", help="Print the version.", is_eager=True)) -> None:
    """Named entity recognition that shows its evidence: every entity with the training spans it rests on."""
    if show:
        typer.echo(__version__)
        raise typer.Exit


def main() -> None:
    """Run the command line; errors of ours and of the system become one message and exit code 2."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal that cannot show a character shows a question mark
            stream.reconfigure(errors="replace")
    try:
        app()
    except (NearspanError, torch.OutOfMemoryError, OSError) as error:
        message = Text.assemble(("error: ", "bold red"), _said(error))  # a Text: no markup
        with suppress(OSError):  # standard error may be on a full disk too
            terminal(stderr=True, soft_wrap=True).print(message, highlight=False)
        sys.exit(2)


def _said(error: Exception) -> str:
    """What is wrong, in one line."""
    if isinstance(error, torch.OutOfMemoryError):
        return FULL
    if not isinstance(error, OSError):
        return str(error)
    reason = error.strerror or str(error)
    if output_fails():
        return f"standard output cannot be written: {reason}"
    return reason if error.filename is None else f"{display_path(str(error.filename))}: {reason}"
