"""The command line: one file a command, imported when the command is called, so that `nearspan --help` is quick."""

import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from nearspan import __version__
from nearspan.cli.terminal import echo, message_of, name_options, print_error, set_verbosity
from nearspan.errors import did_you_mean

STOPPED = 130  # the exit code after Ctrl-C: 128 and the signal's number

COMMANDS = {
    "demo": "Train a model on the bundled sample, score it and question it.",
    "train": "Train a recipe and save the model with the best development F1.",
    "tune": "Find the settings of a recipe that suit a corpus.",
    "evaluate": "Score a model on a corpus, overall and by label.",
    "calibrate": "Make a model's scores say how likely an entity is right.",
    "annotate": "Find the entities of texts.",
    "explain": "Show the training spans that each entity of a text rests on.",
    "memory": "Look into a model's memory, correct it, add to it, take from it.",
    "review": "Answer the texts that teach a model most, one after the other.",
    "serve": "Serve a model over HTTP, with a page to question and correct it.",
    "audit": "List annotations that their neighbours in the memory contradict.",
    "report": "Write a page with a model's scores, confusions and errors.",
    "export": "Write a model's encoder and span scores as ONNX graphs.",
    "push": "Publish a model on the Hugging Face hub.",
    "check": "Count what is in a corpus and list the problems in it.",
    "split": "Divide a corpus into training, development and test data.",
    "convert": "Write a corpus in another format.",
    "vectors": "Learn word vectors from the text of a corpus, by GloVe.",
    "recipes": "List the recipes with what they need and reach, or print one.",
}


class Command(TyperCommand):
    """A command whose errors name its options."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        options = {param.name: option for param in self.params for option in param.opts if option.startswith("-")}
        with name_options(options):
            return super().invoke(ctx)


class Commands(TyperGroup):
    """All commands. Ctrl-C ends them with a line that says so and exit code 130."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002
        """The names in the order of the help."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002
        """The command of a name; its file is imported now."""
        if cmd_name in COMMANDS and cmd_name not in self.commands:
            self.commands[cmd_name] = _load(cmd_name)
        return self.commands.get(cmd_name)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that is called, or an error with the nearest name."""
        if args[0] not in COMMANDS:
            ctx.fail(f"There is no command {args[0]!r}; {did_you_mean(args[0], COMMANDS)}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002
        """List the commands in the help."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        """Read the options before the command."""
        with _stopped_in_one_line():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: Any) -> Any:
        """Run the command that is called."""
        with _stopped_in_one_line():
            return super().invoke(ctx)


def _load(name: str) -> Any:
    """The command that a file defines: a function, or a group of them with an app of its own."""
    command = getattr(import_module(f"nearspan.cli.{name}"), name)
    if isinstance(command, typer.Typer):
        return typer.main.get_command(command)
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.command(name, cls=Command)(command)
    return typer.main.get_command(app)


@contextmanager
def _stopped_in_one_line() -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt as stop:
        echo(str(stop) or "stopped", err=True)
        raise typer.Exit(STOPPED) from None


app = typer.Typer(
    name="nearspan",
    cls=Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # panels and colours would take more time than all else that --help does
)


def _print_version(show: bool) -> None:
    if show:
        echo(__version__)
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
