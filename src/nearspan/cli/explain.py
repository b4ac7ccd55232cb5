"""`nearspan explain`: why a model says what it says."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from nearspan.cli.evaluate import Search, Vote, load
from nearspan.cli.terminal import terminal
from nearspan.cli.train import Device
from nearspan.colours import LabelColours
from nearspan.document import Span
from nearspan.errors import ConfigError, NearspanError
from nearspan.explain import Evidence, mark_spans, render
from nearspan.io.atomic import write_file
from nearspan.model import Model
from nearspan.report.rendering import explain_page


def explain(
    model: Annotated[Path, typer.Argument(help="A model folder.")],
    text: Annotated[str, typer.Argument(help="The text to ask about.")],
    count: Annotated[int, typer.Option("-k", min=1, help="Training spans listed for each label.")] = 5,
    span: Annotated[
        str, typer.Option(help="Ask about these words of the text instead, predicted or not; ` ... ` parts fragments.")
    ] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    html: Annotated[Path | None, typer.Option(help="Write a page that loads nothing to this file.")] = None,
    search: Search = "",
    vote: Vote = None,
    device: Device = "",
) -> None:
    """Show the training spans that each entity of a text rests on.

    Example: nearspan explain runs/mine 'Marie Curie worked in Paris.' -k 3
    """
    if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
        raise ConfigError("the text is not UTF-8")  # bytes of the command line that could not be decoded
    loaded = load(model, device, search, vote)
    if loaded.classifies_given_spans and not span:
        raise ConfigError("this model labels spans that are given and finds none itself: ask with --span 'some words'")
    found = [asked(loaded, text, span, count)] if span else loaded.explain(text, count)
    if html is not None:
        write_file(html, [explain_page(text, found, loaded.labels[1:])])
    if as_json:
        typer.echo(json.dumps({"text": text, "evidence": [one.to_dict() for one in found]}, ensure_ascii=False))
    elif html is not None:
        typer.echo(str(html))
    else:
        show(text, found, terminal(), LabelColours(loaded.labels))


def asked(model: Model, text: str, words: str, count: int) -> Evidence:
    """Evidence for the first place where the words stand as whole words; blanks around dots part fragments."""
    fragments = parted(words)
    places = [match.start() for match in re.finditer(re.escape(fragments[0]), text)]
    found = [span for start in places if (span := span_at(text, start, fragments)) is not None]
    if not found:
        raise ConfigError(f"--span {words!r} does not occur in the text")
    for span in found[:-1]:
        with suppress(NearspanError):
            return model.explain_span(text, span, count)
    return model.explain_span(text, found[-1], count)


def parted(words: str) -> list[str]:
    """The fragments that words are given in."""
    fragments = words.split(" ... ")
    if not all(fragment.strip() for fragment in fragments):
        raise ConfigError(f"--span {words!r} lacks words: give those of an entity, with ` ... ` between its fragments")
    return fragments


def span_at(text: str, start: int, fragments: list[str]) -> Span | None:
    """The fragments one after the other, the first at a place, if they are there."""
    places: list[tuple[int, int]] = []
    for fragment in fragments:
        at = start if not places else _next(text, fragment, places[-1][1])
        if at < 0:
            return None
        places.append((at, at + len(fragment)))
    return Span(tuple(places))


def _next(text: str, fragment: str, after: int) -> int:
    """Where a fragment is next, as whole words if it is anywhere; -1: nowhere."""
    whole = re.compile(rf"(?<!\w){re.escape(fragment)}(?!\w)").search(text, after)
    return whole.start() if whole else text.find(fragment, after)


def show(text: str, found: list[Evidence], console: Console, colours: LabelColours) -> None:
    """Print a text with its entities, then the evidence for each."""
    console.print(mark_spans(text, [(one.span, one.label or "no entity") for one in found], colours))
    console.print()
    if not found:
        console.print("no entity found; ask about words of the text with --span")
    for one in found:
        console.print(render(one, colours))
