"""`nearspan explain`: why a model says what it says."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nearspan.cli import options
from nearspan.cli.terminal import echo, print_json, terminal
from nearspan.colours import LabelColours
from nearspan.document import Span
from nearspan.errors import ConfigError, EditError, NearspanError
from nearspan.io.atomic import write_file
from nearspan.io.outputs import check_outputs

if TYPE_CHECKING:
    from nearspan.explain import Evidence
    from nearspan.memory import Editor
    from nearspan.model import Model

BREAK = " ... "  # between the fragments of a discontinuous entity


def explain(
    model: options.ModelFolder,
    text: Annotated[str, typer.Argument(help="The text to ask about.")],
    count: Annotated[int, typer.Option("-k", min=1, help="Training spans listed for each label.")] = 5,
    span: Annotated[
        str, typer.Option(help="Ask about these words of the text instead, predicted or not; ` ... ` parts fragments.")
    ] = "",
    as_json: options.Json = False,
    html: Annotated[Path | None, typer.Option(help="Write a page that loads nothing to this file.")] = None,
    search: options.Search = "",
    interpolate: options.Interpolate = None,
    device: options.Device = "",
    force: options.Force = False,
) -> None:
    """Show the training spans that each entity of a text rests on.

    Example: nearspan explain runs/mine 'Marie Curie worked in Paris.' -k 3
    """
    if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
        raise ConfigError("the text is not UTF-8")  # bytes of the command line that could not be decoded
    check_outputs([html], force=force)
    loaded = options.load_model(model, device, search, interpolate)
    if loaded.classifies_given_spans and not span:
        raise ConfigError("this model labels spans that are given and finds none itself: ask with --span 'some words'")
    evidence = [explain_words(loaded, text, span, count)] if span else loaded.explain(text, count)
    if html is not None:
        from nearspan.report.rendering import explain_page

        write_file(html, [explain_page(text, evidence, loaded.labels[1:])])
    if as_json:
        print_json({"text": text, "evidence": [entity.to_dict() for entity in evidence]})
    elif html is not None:
        echo(str(html))
    else:
        show_evidence(text, evidence, loaded.labels)


def show_evidence(text: str, evidence: Sequence[Evidence], labels: Sequence[str]) -> None:
    """Print a text with its entities in the colours of a model's labels, then the evidence for each."""
    from nearspan.explain import mark_spans, render

    console, colours = terminal(), LabelColours(labels)
    console.print(mark_spans(text, [(entity.span, entity.label or "no entity") for entity in evidence], colours))
    console.print()
    if not evidence:
        console.print("no entity found; ask about words of the text with --span")
    for entity in evidence:
        console.print(render(entity, colours))


def explain_words(model: Model, text: str, words: str, count: int) -> Evidence:
    """Evidence for the first place of a text where words stand as whole words."""
    fragments = split_fragments(words)
    spans = find_spans(text, fragments)
    if not spans:
        raise ConfigError(f"--span {words!r} does not occur in the text")
    for span in spans[:-1]:
        with suppress(NearspanError):
            return model.explain_span(text, span, count)
    return model.explain_span(text, spans[-1], count)


def find_in_memory(editor: Editor, sentence: int, words: str, start: int) -> Span:
    """Where words stand in a sentence of a memory: at a character, or, below 0, the first place of whole words.

    The discontinuous entities that the memory holds come first, then words in a row, then words apart.
    """
    remembered = editor.sentence(sentence)
    text, fragments = remembered.text, split_fragments(words)
    spans = [
        entity.span
        for entity in remembered.entities
        if entity.span.discontinuous and [text[first:stop] for first, stop in entity.span.fragments] == fragments
    ]
    spans += find_spans(text, [words])
    spans += find_spans(text, fragments) if len(fragments) > 1 else []
    for span in spans:
        if (start < 0 or start == span.start) and editor.holds(sentence, span):
            return span
    where = f"at character {start}" if start >= 0 else "as whole words"
    raise EditError(f"{words!r} does not stand {where} in sentence {sentence}, which reads {text!r}")


def split_fragments(words: str) -> list[str]:
    """The fragments that words are given in.

    >>> split_fragments("pain in ... legs")
    ['pain in', 'legs']
    """
    fragments = words.split(BREAK)
    if not all(fragment.strip() for fragment in fragments):
        raise ConfigError(
            f"--span {words!r} lacks words: give those of an entity, with `{BREAK}` between its fragments"
        )
    return fragments


def find_spans(text: str, fragments: list[str]) -> list[Span]:
    """A span for each place of the first fragment from which all others follow."""
    starts = [match.start() for match in re.finditer(re.escape(fragments[0]), text)]
    return [span for start in starts if (span := span_at(text, start, fragments)) is not None]


def span_at(text: str, start: int, fragments: list[str]) -> Span | None:
    """The fragments one after the other, the first at a place, if they are there."""
    places = [(start, start + len(fragments[0]))]
    for fragment in fragments[1:]:
        after = places[-1][1]
        as_words = re.compile(rf"(?<!\w){re.escape(fragment)}(?!\w)").search(text, after)
        at = as_words.start() if as_words else text.find(fragment, after)
        if at < 0:
            return None
        places.append((at, at + len(fragment)))
    return Span(tuple(places))
