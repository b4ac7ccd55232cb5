"""`nearspan recipes`: what can be trained."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from typing import Annotated, Any

import typer
from rich.table import Column, Table

from nearspan.cli.terminal import terminal
from nearspan.errors import ConfigError
from nearspan.recipes import find, names


def recipes(
    name: Annotated[
        str, typer.Argument(help="Print the TOML file of this recipe.", autocompletion=lambda: names())
    ] = "",
    every: Annotated[
        bool, typer.Option("--all", help="Print all settings, also those that the file leaves at their defaults.")
    ] = False,
) -> None:
    """List the recipes and what each needs, or print one.

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
        table = Table(Column("recipe", style="bold"), "what it is", "what it needs", box=None)
        for known in names():
            content = tomllib.loads(_read(known))
            table.add_row(known, content["about"], "; ".join(_needs(content)))
        terminal().print(table)


def _read(name: str) -> str:
    path = find(name)
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:  # ValueError: no UTF-8
        raise ConfigError(f"cannot read recipe {path}: {error}") from error


def _needs(content: dict[str, Any]) -> Iterator[str]:
    """What must be downloaded or given beside a corpus, and what may be."""
    encoder = content["encoder"]
    if "transformer" in encoder:
        yield encoder["transformer"]["name"]
    if "vectors" in encoder:
        yield "word vectors (optional)"
    if "generators" in content.get("losses", {}):
        yield "synonyms (optional)"
