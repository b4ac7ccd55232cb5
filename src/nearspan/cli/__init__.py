"""The command line: one file a verb."""

from __future__ import annotations

import sys

import typer
from rich.console import Console

from nearspan import __version__
from nearspan.cli.annotate import annotate
from nearspan.cli.check import check
from nearspan.cli.convert import convert
from nearspan.cli.demo import demo
from nearspan.cli.evaluate import evaluate
from nearspan.cli.explain import explain
from nearspan.cli.recipes import recipes
from nearspan.cli.report import report
from nearspan.cli.train import train
from nearspan.errors import NearspanError

app = typer.Typer(
    name="nearspan",
    help="Named entity recognition that shows its evidence.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    rich_markup_mode="markdown",
)
for command in (demo, train, evaluate, annotate, explain, report, check, convert, recipes):
    app.command()(command)


@app.callback(invoke_without_command=True)
def version(show: bool = typer.Option(False, "--version", help="Print the version.", is_eager=True)) -> None:
    """Named entity recognition that shows its evidence: every entity with the training spans it rests on."""
    if show:
        typer.echo(__version__)
        raise typer.Exit


def main() -> None:
    """Run the command line; errors of ours become one message and exit code 2."""
    try:
        app()
    except NearspanError as error:
        Console(stderr=True, soft_wrap=True).print(f"[bold red]error:[/] {_plain(error)}", highlight=False)
        sys.exit(2)
    except KeyboardInterrupt:
        Console(stderr=True).print("stopped; a training run goes on with --resume")
        sys.exit(130)
    except BrokenPipeError:  # `nearspan annotate ... | head` is no failure
        sys.stderr.close()
        sys.exit(0)


def _plain(error: NearspanError) -> str:
    return str(error).replace("[", r"\[")
