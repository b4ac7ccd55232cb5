"""`nearspan memory`: look into a model's memory, correct it, add to it, take from it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from nearspan.cli.corpus import ColumnsOption, FormatOption, read_documents
from nearspan.cli.evaluate import Search, Vote, chosen
from nearspan.cli.explain import asked, parted, span_at
from nearspan.cli.terminal import terminal
from nearspan.cli.train import Device
from nearspan.colours import LabelColours
from nearspan.document import Span
from nearspan.errors import ConfigError, EditError
from nearspan.explain import marked, printable, render
from nearspan.formats import markup
from nearspan.memory import Edit
from nearspan.memory.editor import Editor
from nearspan.memory.reweight import Weight
from nearspan.memory.sentences import SentenceView

memory = typer.Typer(
    help="Look into a model's memory, correct it, add to it, take from it. Predictions change at once.\n\n"
    "Example: `nearspan memory runs/mine add '[Vienna](PLACE) is cold'`",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
Sentence = Annotated[int, typer.Option("--sentence", help="The sentence's id, as `list` and `explain` show it.")]
StaticVectors = Annotated[str, typer.Option("--span", help="Words of the sentence; ` ... ` parts fragments.")]
Start = Annotated[int, typer.Option("--start", help="The character at which they begin, where they occur again.")]

Counts = Annotated[
    float | None,
    typer.Option(
        "--weight",
        help="As how many copies a sentence counts; not given: its spans count as often as it takes for the model to "
        "read it so.",
    ),
]


@memory.callback()
def model(
    context: typer.Context,
    model: Annotated[Path, typer.Argument(help="A model folder.")],
) -> None:
    """Hold the folder for the commands."""
    context.obj = model


@memory.command()
def build(
    context: typer.Context,
    corpus: Annotated[
        list[Path] | None, typer.Argument(help="Labelled documents, any format; none: what the memory holds now.")
    ] = None,
    as_json: Json = False,
    device: Device = "",
    format: FormatOption = None,
    columns: ColumnsOption = None,
) -> None:
    """Fill the memory anew from a corpus and begin an empty journal.

    Without a corpus the memory is written as its edits have left it: what was removed is then gone from its files too.

    Example: nearspan memory runs/mine build train.conll more.jsonl
    """
    editor = Editor.open(context.obj, device)
    documents = read_documents(corpus, format, terminal(stderr=True), columns) if corpus else None
    coverage = editor.build(documents)
    found = editor.model.memory
    sizes = {"sentences": len(found.sentences), "spans": len(found)} if found is not None else {}
    if as_json:
        _print(sizes | ({"coverage": coverage.to_dict()} if documents is not None else {}))
        return
    typer.echo(f"the memory holds {sizes['sentences']:,} sentences with {sizes['spans']:,} spans")
    if documents is not None:
        typer.echo(str(coverage))


@memory.command("list")
def list_(
    context: typer.Context,
    text: Annotated[str, typer.Option(help="Sentences with these characters, in any case.")] = "",
    label: Annotated[str, typer.Option(help="Sentences with an entity of this label.")] = "",
    document: Annotated[str, typer.Option(help="Sentences of the document with this id.")] = "",
    limit: Annotated[int, typer.Option(min=1, help="How many to show.")] = 20,
    offset: Annotated[int, typer.Option(min=0, help="How many to leave out first.")] = 0,
    as_json: Json = False,
) -> None:
    """Show the memory's sentences with their ids.

    Example: nearspan memory runs/mine list --text vienna --label PLACE
    """
    editor = Editor.open(context.obj, "cpu")
    found = editor.sentences(text, label, document, limit, offset)
    if as_json:
        _print({"sentences": [one.to_dict() for one in found]})
        return
    for one in found:
        terminal(soft_wrap=True).print(_shown(one, LabelColours(editor.model.labels)))


@memory.command()
def search(
    context: typer.Context,
    text: Annotated[str, typer.Argument(help="A text, which need not be in the memory.")],
    span: Annotated[str, typer.Option(help="Words of it.")],
    count: Annotated[int, typer.Option("-k", min=1, help="Spans listed for each label.")] = 5,
    as_json: Json = False,
    search: Search = "",
    vote: Vote = None,
    device: Device = "",
) -> None:
    """Show the memory's spans that are nearest to words of a text, with their sentences' ids.

    Example: nearspan memory runs/mine search 'She lives in Vienna.' --span Vienna
    """
    model = _opened(context, device, search, vote).model
    found = asked(model, text, span, count)
    if as_json:
        _print(found.to_dict())
    else:
        terminal().print(render(found, LabelColours(model.labels)))


@memory.command()
def add(
    context: typer.Context,
    text: Annotated[str, typer.Argument(help="A text with markup: `[Vienna](PLACE) is cold`.")] = "",
    corpus: Annotated[list[Path] | None, typer.Option(help="Or labelled documents, any format.")] = None,
    document: Annotated[str, typer.Option(help="An id for the text, by which it can be forgotten.")] = "",
    weight: Counts = None,
    as_json: Json = False,
    search: Search = "",
    vote: Vote = None,
    device: Device = "",
    format: FormatOption = None,
    columns: ColumnsOption = None,
) -> None:
    """Remember sentences with their entities, so that the model reads them so.

    `--search` and `--vote` are how the model will be asked.

    Example: `nearspan memory runs/mine add '[Vienna](PLACE) is cold' --document corrections`
    """
    if bool(text.strip()) == bool(corpus):
        raise ConfigError("give a text with markup, or --corpus FILE")
    if corpus and document:
        raise ConfigError("--document names a text; the documents of a corpus have ids of their own")
    documents = (
        read_documents(corpus, format, terminal(stderr=True), columns) if corpus else [markup.parse(text, document)]
    )
    editor = _opened(context, device, search, vote)
    counts: Weight = "enough" if weight is None else weight
    editor.check(documents, counts)
    _show([editor.add(one, counts) for one in documents], as_json)


@memory.command()
def relabel(
    context: typer.Context,
    sentence: Sentence,
    span: StaticVectors,
    label: Annotated[str, typer.Option(help="Their label from now on; '' makes them no entity.")],
    start: Start = -1,
    weight: Counts = None,
    as_json: Json = False,
    search: Search = "",
    vote: Vote = None,
    device: Device = "",
) -> None:
    """Give words of a remembered sentence another label, or make them no entity.

    `--search` and `--vote` are how the model will be asked.

    Example: nearspan memory runs/mine relabel --sentence 12 --span Paris --label PERSON
    """
    editor = _opened(context, device, search, vote)
    place = _place(editor, sentence, span, start)
    _show([editor.relabel(sentence, place, label, "enough" if weight is None else weight)], as_json)


@memory.command()
def remove(
    context: typer.Context,
    sentence: Annotated[int | None, typer.Option(help="The sentence's id, as `list` and `explain` show it.")] = None,
    span: Annotated[
        str | None, typer.Option(help="Only these words of the sentence: they say nothing any more.")
    ] = None,
    start: Start = -1,
    document: Annotated[str, typer.Option(help="Everything from the document with this id.")] = "",
    as_json: Json = False,
    device: Device = "",
) -> None:
    """Take a span, a sentence or all of a document out of the memory, with a receipt.

    Example: nearspan memory runs/mine remove --document letter-7
    """
    if (sentence is None) == (not document) or (document and span is not None):
        raise ConfigError("give --sentence ID, with --span WORDS or without, or --document ID")
    editor = Editor.open(context.obj, device)
    if sentence is None:
        _show([editor.forget(document)], as_json)
    else:
        place = _place(editor, sentence, span, start) if span is not None else None
        _show([editor.remove(sentence, place)], as_json)


@memory.command()
def undo(context: typer.Context, as_json: Json = False, device: Device = "") -> None:
    """Take back the last edit that still stands.

    Example: nearspan memory runs/mine undo
    """
    _show([Editor.open(context.obj, device).undo()], as_json)


@memory.command()
def log(context: typer.Context, as_json: Json = False) -> None:
    """Show all edits since the memory was built.

    Example: nearspan memory runs/mine log
    """
    edits = Editor.open(context.obj, "cpu").log()
    if as_json:
        _print({"edits": [edit.to_dict() for edit in edits]})
        return
    for edit in edits:
        typer.echo(f"{edit.number}  {edit.time}  {printable(edit.summary)}")


def _opened(context: typer.Context, device: str, search: str, vote: float | None) -> Editor:
    """The editor of a model that uses its memory as asked."""
    editor = Editor.open(context.obj, device)
    chosen(editor.model, search, vote)
    return editor


def _place(editor: Editor, sentence: int, words: str, start: int) -> Span:
    """Where words stand in a remembered sentence: at a character, or at the first place where they are whole words.

    Blanks around dots part the fragments of a discontinuous entity; those that the memory has come first.
    """
    one = editor.sentence(sentence)
    text, fragments = one.text, parted(words)
    broken = [entity.span for entity in one.entities if entity.span.discontinuous]
    known = [span for span in broken if [text[first:last] for first, last in span.fragments] == fragments]
    places = [match.start() for match in re.finditer(re.escape(words), text)]
    heads = [match.start() for match in re.finditer(re.escape(fragments[0]), text)] if len(fragments) > 1 else []
    apart = [span for place in heads if (span := span_at(text, place, fragments)) is not None]
    for span in [*known, *(Span.of(place, place + len(words)) for place in places), *apart]:
        if span.start == (start if start >= 0 else span.start) and editor.holds(sentence, span):
            return span
    where = f"at character {start}" if start >= 0 else "as whole words"
    raise EditError(f"{words!r} does not stand {where} in sentence {sentence}, which reads {text!r}")


def _show(edits: list[Edit], as_json: bool) -> None:
    if as_json:
        _print({"edits": [edit.to_dict() for edit in edits]})
        return
    for edit in edits:
        typer.echo(f"{edit.number}  {printable(edit.summary)}")
        for line in edit.receipt:
            typer.echo(f"   {printable(line)}")


def _shown(one: SentenceView, colours: LabelColours) -> Text:
    text = marked(
        one.text,
        [*((entity.span, entity.label) for entity in one.entities), *((span, "removed") for span in one.removed)],
        colours,
    )
    where = f"   {printable(one.document)}" + (f" ×{one.weight:g}" if one.weight != 1 else "")
    return Text.assemble((f"{one.id:>6}  ", "bold"), Text(" ").join(text.split("\n")), (where, "dim"))


def _print(content: dict[str, Any]) -> None:
    typer.echo(json.dumps(content, ensure_ascii=False))
