"""`nearspan recipes`: what can be trained."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

import typer
from rich.table import Column, Table

from nearspan.cli.terminal import terminal
from nearspan.errors import ConfigError
from nearspan.recipes import find, names, read


def recipes(
    name: Annotated[
        str, typer.Argument(help="Print the TOML file of this recipe.", autocompletion=lambda: names())
    ] = "",
    every: Annotated[
        bool, typer.Option("--all", help="Print all settings, also those that the file leaves at their defaults.")
    ] = False,
) -> None:
    """List the recipes with what they need and reach, or print one.

    Beside each stand the paper's test F1, ours and the time of training on one H200 that several runs shared. A recipe
    that ends in a corpus's name has the settings for that corpus.

    Example: nearspan recipes instance > mine.toml
    """
    if every and not name:
        raise ConfigError("--all prints the settings of one recipe: name it")
    if every:
        import tomli_w

        from nearspan.config import load

        typer.echo(tomli_w.dumps(load(name).model_dump(exclude_none=True)), nl=False)
    elif name:
        typer.echo(_read(name), nl=False)
    else:
        terminal().print(_table())


def _read(name: str) -> str:
    path = find(name)
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:  # ValueError: no UTF-8
        raise ConfigError(f"cannot read recipe {path}: {error}") from error


def _table() -> Table:
    table = Table(
        Column("recipe", style="bold", no_wrap=True),
        "what it is",
        "what it needs",
        "corpus",
        "paper",
        "here",
        Column("training", justify="right"),
        box=None,
    )
    for name in names():
        content = read(name)
        reported = content.get("reported", {})
        minutes = f"{reported['minutes']} min" if "minutes" in reported else ""
        figures = (str(reported.get(key, "")) for key in ("corpus", "paper", "here"))
        table.add_row(name, content["about"], "; ".join(_needs(content)), *figures, minutes)
    return table


def _needs(content: dict[str, Any]) -> Iterator[str]:
    """What must be downloaded or given beside a corpus, and what may be."""
    encoder = content["encoder"]
    if "transformer" in encoder:
        yield encoder["transformer"]["name"]
    if "vectors" in encoder:
        yield "word vectors (optional)"
    if "generators" in content.get("losses", {}):
        yield "synonyms (optional)"
