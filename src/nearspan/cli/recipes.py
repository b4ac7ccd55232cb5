"""`nearspan recipes`: what can be trained."""

from __future__ import annotations

from typing import Annotated

import tomli_w
import typer
from rich.table import Table

from nearspan import config as known
from nearspan import recipes as recipes_
from nearspan.cli.terminal import terminal


def recipes(
    name: Annotated[str, typer.Argument(help="Show all settings of this recipe, as TOML.")] = "",
) -> None:
    """List the recipes, or show one whole.

    Example: nearspan recipes instance > mine.toml
    """
    if name:
        typer.echo(tomli_w.dumps(known.load(name).model_dump(exclude_none=True)))
        return
    table = Table(box=None)
    table.add_column("recipe", style="bold")
    table.add_column("what it is")
    for one in recipes_.names():
        table.add_row(one, known.load(one).about)
    terminal().print(table)
