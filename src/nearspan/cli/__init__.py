"""The command line: one file a command."""

from __future__ import annotations

import io
import sys
from contextlib import suppress
from typing import Annotated

import typer

from nearspan import __version__
from nearspan.cli.commands import Commands
from nearspan.cli.errors import message_of
from nearspan.cli.terminal import print_error, set_verbosity

app = typer.Typer(
    name="nearspan",
    cls=Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # panels and colours would take more time than all else that --help does
)


def _print_version(show: bool) -> None:
    if show:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def nearspan(
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Say what is read, loaded and done.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show errors alone: no warnings, no progress.")] = False,
    version: Annotated[  # noqa: ARG001
        bool, typer.Option("--version", help="Print the version.", is_eager=True, callback=_print_version)
    ] = False,
) -> None:
    """Named entity recognition that shows its evidence: every entity with the training spans it rests on.

    Example: nearspan demo
    """
    set_verbosity(verbose, quiet)


def main() -> None:
    """Run the command line; errors of ours and of the system become one message and exit code 2."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal that cannot show a character shows a question mark
            stream.reconfigure(errors="replace")
    try:
        app(prog_name="nearspan")
    except Exception as error:
        message = message_of(error)
        if message is None:
            raise
        with suppress(OSError):  # standard error may be on a full disk too
            print_error(message)
        sys.exit(2)
