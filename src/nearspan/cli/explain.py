"""`nearspan explain`: why a model says what it says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from nearspan.cli.evaluate import Search, load
from nearspan.cli.train import Device
from nearspan.document import Span
from nearspan.errors import ConfigError
from nearspan.evidence import Evidence, marked, render


def explain(
    model: Annotated[Path, typer.Argument(help="A model folder.")],
    text: Annotated[str, typer.Argument(help="The text to ask about.")],
    count: Annotated[int, typer.Option("-k", min=1, help="Training spans listed for each label.")] = 5,
    span: Annotated[str, typer.Option(help="Ask about these words of the text instead, predicted or not.")] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    search: Search = "",
    device: Device = "",
) -> None:
    """Show the training spans that each entity of a text rests on.

    Example: nearspan explain runs/mine 'Marie Curie worked in Paris.' -k 3
    """
    loaded = load(model, device, search)
    if span:
        start = text.find(span)
        if start < 0:
            raise ConfigError(f"--span {span!r} does not occur in the text")
        found = [loaded.neighbours(text, Span.of(start, start + len(span)), count)]
    else:
        found = loaded.explain(text, count)
    if as_json:
        typer.echo(json.dumps({"text": text, "evidence": [one.as_dict() for one in found]}, ensure_ascii=False))
    else:
        show(text, found, Console())


def show(text: str, found: list[Evidence], console: Console) -> None:
    """Print a text with its entities, then the evidence for each."""
    console.print(marked(text, [(one.span, one.label or "no entity") for one in found]))
    console.print()
    if not found:
        console.print("no entity found; ask about words of the text with --span")
    for one in found:
        console.print(render(one))
