"""`nearspan explain`: why a model says what it says."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nearspan.cli.options import Device, Interpolate, Json, ModelFolder, Search, load_model
from nearspan.cli.spans import explain_words
from nearspan.cli.terminal import terminal
from nearspan.colours import LabelColours
from nearspan.errors import ConfigError
from nearspan.io.atomic import write_file

if TYPE_CHECKING:
    from nearspan.explain import Evidence


def explain(
    model: ModelFolder,
    text: Annotated[str, typer.Argument(help="The text to ask about.")],
    count: Annotated[int, typer.Option("-k", min=1, help="Training spans listed for each label.")] = 5,
    span: Annotated[
        str, typer.Option(help="Ask about these words of the text instead, predicted or not; ` ... ` parts fragments.")
    ] = "",
    as_json: Json = False,
    html: Annotated[Path | None, typer.Option(help="Write a page that loads nothing to this file.")] = None,
    search: Search = "",
    interpolate: Interpolate = None,
    device: Device = "",
) -> None:
    """Show the training spans that each entity of a text rests on.

    Example: nearspan explain runs/mine 'Marie Curie worked in Paris.' -k 3
    """
    if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
        raise ConfigError("the text is not UTF-8")  # bytes of the command line that could not be decoded
    loaded = load_model(model, device, search, interpolate)
    if loaded.classifies_given_spans and not span:
        raise ConfigError("this model labels spans that are given and finds none itself: ask with --span 'some words'")
    evidence = [explain_words(loaded, text, span, count)] if span else loaded.explain(text, count)
    if html is not None:
        from nearspan.report.rendering import explain_page

        write_file(html, [explain_page(text, evidence, loaded.labels[1:])])
    if as_json:
        typer.echo(json.dumps({"text": text, "evidence": [one.to_dict() for one in evidence]}, ensure_ascii=False))
    elif html is not None:
        typer.echo(str(html))
    else:
        show_evidence(text, evidence, loaded.labels)


def show_evidence(text: str, evidence: Sequence[Evidence], labels: Sequence[str]) -> None:
    """Print a text with its entities in the colours of a model's labels, then the evidence for each."""
    from nearspan.explain import mark_spans, render

    console, colours = terminal(), LabelColours(labels)
    console.print(mark_spans(text, [(one.span, one.label or "no entity") for one in evidence], colours))
    console.print()
    if not evidence:
        console.print("no entity found; ask about words of the text with --span")
    for one in evidence:
        console.print(render(one, colours))
