"""`nearspan recipes`: what can be trained."""

from collections.abc import Iterator
from typing import Annotated, Any

import typer
from rich.console import Group
from rich.table import Column, Table
from rich.text import Text

from nearspan.cli.terminal import echo, terminal
from nearspan.errors import ConfigError
from nearspan.recipes import names, read, read_text


def recipes(
    name: Annotated[
        str, typer.Argument(help="Print the TOML file of this recipe.", autocompletion=lambda: names())
    ] = "",
    every: Annotated[
        bool, typer.Option("--all", help="Print all settings, also those that the file leaves at their defaults.")
    ] = False,
) -> None:
    """List the recipes with what they need and reach, or print one.

    Beside each stand our test F1 (accuracy where it says so), the paper's, and the time of training on one H200 that
    several runs shared. A recipe that ends in a corpus's name has the settings for that corpus.

    Example: nearspan recipes instance > mine.toml
    """
    if every and not name:
        raise ConfigError("--all prints the settings of one recipe: name it")
    if every:
        import tomli_w

        from nearspan.config import load

        echo(tomli_w.dumps(load(name).model_dump(exclude_none=True)), nl=False)
    elif name:
        echo(read_text(name), nl=False)
    else:
        terminal().print(_table())


def _table() -> Table:
    """A recipe a row: its name, and beside it what it is, what it reached and what it needs."""
    table = Table(Column(no_wrap=True), box=None, show_header=False, padding=(0, 2, 1, 0))
    for name in names():
        content = read(name)
        details = Text("; ".join([*_figures(content.get("reported", {})), *_needs(content)]), style="dim")
        table.add_row(Text(name, style="bold"), Group(content["about"], details))
    return table


def _figures(reported: dict[str, Any]) -> Iterator[str]:
    """Test F1 (or accuracy) on a corpus, the paper's beside it, and how long that took."""
    if reported:
        encoder = f" with {reported['encoder']}" if "encoder" in reported else ""
        yield f"{reported['corpus']} {reported['here']}{encoder}, paper {reported['paper']}"
    if "minutes" in reported:
        yield f"{reported['minutes']} min"


def _needs(content: dict[str, Any]) -> Iterator[str]:
    """What must be downloaded or given beside a corpus, and what may be."""
    encoder = content["encoder"]
    if "transformer" in encoder:
        yield f"encoder {encoder['transformer']['name']}"
    if "vectors" in encoder:
        yield "word vectors (optional)"
    if "generators" in content.get("losses", {}):
        yield "synonyms (optional)"
