"""`nearspan memory`: look into a model's memory, correct it, add to it, take from it."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.text import Text

from nearspan.cli import Command, options
from nearspan.cli.explain import explain_words, find_in_memory
from nearspan.cli.terminal import echo, print_json, terminal
from nearspan.colours import LabelColours
from nearspan.errors import ConfigError

if TYPE_CHECKING:
    from nearspan.document import Document
    from nearspan.memory import Edit, Editor, SentenceView

memory = typer.Typer(name="memory", add_completion=False, no_args_is_help=True, rich_markup_mode=None)

SentenceId = Annotated[int, typer.Option("--sentence", help="The sentence's id, as `list` and `explain` show it.")]
Start = Annotated[int, typer.Option("--start", help="The character at which they begin, where they occur again.")]
Weight = Annotated[
    float | None,
    typer.Option(
        "--weight",
        help="As how many copies a sentence counts; not given: its spans count as often as it takes for the model to "
        "read it so.",
    ),
]


NewLabels = Annotated[
    bool,
    typer.Option(
        " /--no-new-labels", help="Refuse labels that the model does not have; otherwise it has them from now on."
    ),
]
PreviewOnly = Annotated[
    bool, typer.Option("--preview", help="Change nothing: show what it would change in held-out sentences.")
]
HeldOut = Annotated[
    list[Path] | None, typer.Option("--held-out", help="With --preview: labelled documents to look at instead.")
]


@memory.callback()
def model(context: typer.Context, model: options.ModelFolder) -> None:
    """Look into a model's memory, correct it, add to it, take from it.

    Predictions change at once; nothing is trained.

    Example: nearspan memory runs/mine add '[Vienna](PLACE) is cold'
    """
    context.obj = model


@memory.command(cls=Command)
def build(
    context: typer.Context,
    corpus: Annotated[
        list[Path] | None, typer.Argument(help="Labelled documents, any format; none: what the memory holds now.")
    ] = None,
    labels_from: Annotated[
        list[Path] | None,
        typer.Option(help="Documents whose labels take the place of the model's; for heads without weights for them."),
    ] = None,
    new_labels: NewLabels = True,
    as_json: options.Json = False,
    device: options.Device = "",
    format: options.Format = None,
    columns: options.Columns = None,
) -> None:
    """Fill the memory anew from a corpus and begin an empty journal.

    Without a corpus the memory is written as its edits have left it: what was removed is then gone from its files too.

    Example: nearspan memory runs/mine build train.conll more.jsonl

    Example: nearspan memory runs/mine build politics.conll --labels-from politics.conll
    """
    editor = _open(context, device)
    documents, others = (
        options.read_documents(files, format, columns) if files else None for files in (corpus, labels_from)
    )
    coverage = editor.build(documents, labels_from=others, new_labels=new_labels)
    datastore = editor.model.datastore
    sizes = {"sentences": len(datastore.sentences), "spans": len(datastore)} if datastore is not None else {}
    if as_json:
        print_json(sizes | ({"coverage": coverage.to_dict()} if documents is not None else {}))
        return
    echo(f"the memory holds {sizes['sentences']:,} sentences with {sizes['spans']:,} spans")
    if documents is not None:
        echo(str(coverage))


@memory.command("list", cls=Command)
def list_(
    context: typer.Context,
    text: Annotated[str, typer.Option(help="Sentences with these characters, in any case.")] = "",
    label: Annotated[str, typer.Option(help="Sentences with an entity of this label.")] = "",
    document: Annotated[str, typer.Option(help="Sentences of the document with this id.")] = "",
    limit: Annotated[int, typer.Option(min=1, help="How many to show.")] = 20,
    offset: Annotated[int, typer.Option(min=0, help="How many to leave out first.")] = 0,
    as_json: options.Json = False,
) -> None:
    """Show the memory's sentences with their ids.

    Example: nearspan memory runs/mine list --text vienna --label PLACE
    """
    editor = _open(context, "cpu")
    sentences = editor.sentences(text, label, document, limit, offset)
    if as_json:
        due = {"training_due": editor.training_due} if editor.training_due else {}
        print_json({"sentences": [sentence.to_dict() for sentence in sentences]} | due)
        return
    colours = LabelColours(editor.model.labels)
    for sentence in sentences:
        terminal().print(_render(sentence, colours), soft_wrap=True)
    _echo_training_due(editor)


@memory.command(cls=Command)
def search(
    context: typer.Context,
    text: Annotated[str, typer.Argument(help="A text, which need not be in the memory.")],
    span: Annotated[str, typer.Option(help="Words of it.")],
    count: Annotated[int, typer.Option("-k", min=1, help="Spans listed for each label.")] = 5,
    as_json: options.Json = False,
    search: options.Search = "",
    interpolate: options.Interpolate = None,
    device: options.Device = "",
) -> None:
    """Show the memory's spans that are nearest to words of a text, with their sentences' ids.

    Example: nearspan memory runs/mine search 'She lives in Vienna.' --span Vienna
    """
    from nearspan.explain import render

    model = _open(context, device, search, interpolate).model
    evidence = explain_words(model, text, span, count)
    if as_json:
        print_json(evidence.to_dict())
    else:
        terminal().print(render(evidence, LabelColours(model.labels)))


@memory.command(cls=Command)
def add(
    context: typer.Context,
    text: Annotated[str, typer.Argument(help="A text with markup: `[Vienna](PLACE) is cold`.")] = "",
    corpus: Annotated[list[Path] | None, typer.Option(help="Or labelled documents, any format.")] = None,
    document: Annotated[str, typer.Option(help="An id for the text, by which it can be forgotten.")] = "",
    weight: Weight = None,
    entity_weight: Annotated[
        float, typer.Option(help="How many times more its entities count than what is none; the sentence counts once.")
    ] = 1.0,
    new_labels: NewLabels = True,
    preview: PreviewOnly = False,
    held_out: HeldOut = None,
    as_json: options.Json = False,
    search: options.Search = "",
    interpolate: options.Interpolate = None,
    device: options.Device = "",
    format: options.Format = None,
    columns: options.Columns = None,
) -> None:
    """Remember sentences with their entities, so that the model reads them so.

    Mark the entities of a text with their labels. What is not marked is remembered as no entity. A label that the
    model does not have is one of its labels from now on. Nested and discontinuous entities, whose fragments have a
    number, are marked as in the examples. Weights are found by trying the model out, as --search and --interpolate
    have it.

    Example: nearspan memory runs/mine add '[Vienna](PLACE) is cold' --document corrections

    Example: nearspan memory runs/mine add 'The [University of [Oslo](PLACE)](ORG) opened.'

    Example: nearspan memory runs/mine add '[pain in](SYMPTOM#1) arms and [legs](SYMPTOM#1)'

    Example: nearspan memory runs/mine add 'She may leave in May.' --weight 3

    Example: nearspan memory runs/mine add --corpus corrected.conll
    """
    from nearspan.formats.markup import parse

    if bool(text.strip()) == bool(corpus):
        raise ConfigError("give a text with markup, or --corpus FILE")
    if corpus and document:
        raise ConfigError("--document names a text; the documents of a corpus have ids of their own")
    _check_held_out(preview, held_out)
    documents = options.read_documents(corpus, format, columns) if corpus else [parse(text, document)]
    editor = _open(context, device, search, interpolate)
    unsaid: float | Literal["enough"] = "enough" if entity_weight == 1 else 1.0
    copies = unsaid if weight is None else weight
    editor.check(documents, copies, new_labels=new_labels)
    from nearspan.memory import Editor

    edits = [
        partial(Editor.add, document=each, weight=copies, entity_weight=entity_weight, new_labels=new_labels)
        for each in documents
    ]
    _run(editor, edits, preview, options.read_documents(held_out, format, columns), as_json)


@memory.command(cls=Command)
def relabel(
    context: typer.Context,
    sentence: SentenceId,
    span: Annotated[str, typer.Option("--span", help="Words of the sentence; ` ... ` parts fragments.")],
    label: Annotated[str, typer.Option(help="Their label from now on; '' makes them no entity.")],
    identifier: Annotated[str, typer.Option(help="The identifier of their concept from now on.")] = "",
    start: Start = -1,
    weight: Weight = None,
    new_labels: NewLabels = True,
    preview: PreviewOnly = False,
    held_out: HeldOut = None,
    as_json: options.Json = False,
    search: options.Search = "",
    interpolate: options.Interpolate = None,
    device: options.Device = "",
    format: options.Format = None,
    columns: options.Columns = None,
) -> None:
    """Give words of a remembered sentence another label, or make them no entity.

    --search and --interpolate are how the model will be asked.

    Example: nearspan memory runs/mine relabel --sentence 12 --span Paris --label PERSON

    Example: nearspan memory runs/mine relabel --sentence 12 --span Paris --label PERSON --preview

    Example: nearspan memory runs/mine relabel --sentence 12 --span Paris --label PLACE --identifier Q90
    """
    _check_held_out(preview, held_out, format, columns)
    editor = _open(context, device, search, interpolate)
    place = find_in_memory(editor, sentence, span, start)
    copies: float | Literal["enough"] = "enough" if weight is None else weight
    documents = options.read_documents(held_out, format, columns)
    _run(
        editor,
        [lambda memory: memory.relabel(sentence, place, label, copies, identifier=identifier, new_labels=new_labels)],
        preview,
        documents,
        as_json,
    )


@memory.command(cls=Command)
def remove(
    context: typer.Context,
    sentence: Annotated[int | None, typer.Option(help="The sentence's id, as `list` and `explain` show it.")] = None,
    span: Annotated[
        str | None, typer.Option(help="Only these words of the sentence: they say nothing any more.")
    ] = None,
    start: Start = -1,
    document: Annotated[str, typer.Option(help="Everything from the document with this id.")] = "",
    preview: PreviewOnly = False,
    held_out: HeldOut = None,
    as_json: options.Json = False,
    device: options.Device = "",
    format: options.Format = None,
    columns: options.Columns = None,
) -> None:
    """Take a span, a sentence or all of a document out of the memory, with a receipt.

    Example: nearspan memory runs/mine remove --document letter-7
    """
    if (sentence is None) == (not document) or (document and span is not None):
        raise ConfigError("give --sentence ID, with --span WORDS or without, or --document ID")
    _check_held_out(preview, held_out, format, columns)
    documents = options.read_documents(held_out, format, columns)
    editor = _open(context, device)
    if sentence is None:
        _run(editor, [lambda memory: memory.forget(document)], preview, documents, as_json)
        return
    place = find_in_memory(editor, sentence, span, start) if span is not None else None
    _run(editor, [lambda memory: memory.remove(sentence, place)], preview, documents, as_json)


@memory.command(cls=Command)
def undo(context: typer.Context, as_json: options.Json = False, device: options.Device = "") -> None:
    """Take back the last edit that still stands.

    Example: nearspan memory runs/mine undo
    """
    _show([_open(context, device).undo()], as_json)


@memory.command(cls=Command)
def log(context: typer.Context, as_json: options.Json = False) -> None:
    """Show all edits since the memory was built.

    Example: nearspan memory runs/mine log
    """
    edits = _open(context, "cpu").log()
    if as_json:
        print_json({"edits": [edit.to_dict() for edit in edits]})
        return
    for edit in edits:
        echo(f"{edit.number}  {edit.time}  {edit.summary}")


@memory.command(cls=Command)
def repair(
    context: typer.Context,
    lose_edits: Annotated[bool, typer.Option("--lose-edits", help="Do it: keep the edits before the damage.")] = False,
    as_json: options.Json = False,
) -> None:
    """Say what is damaged in the journal of edits, and what can be kept.

    Nothing is changed without --lose-edits. What lost edits had removed or forgotten is in the memory again.

    Example: nearspan memory runs/mine repair
    """
    from nearspan.memory import repair_journal

    report = repair_journal(options.local_model(context.obj), lose_edits)
    if as_json:
        print_json({"report": report})
        return
    for line in report:
        echo(line)


def _open(context: typer.Context, device: str, search: str = "", interpolate: float | None = None) -> Editor:
    """The editor of the folder; its model uses the memory as the options say."""
    from nearspan.memory import Editor

    editor = Editor.open(options.local_model(context.obj), device)
    options.apply_to(editor.model, search, interpolate)
    return editor


def _echo_training_due(editor: Editor, receipt: Sequence[str] = ()) -> None:
    """Say that training is due, unless a receipt has said it just now, and by which command."""
    if editor.training_due:
        if editor.training_due not in receipt:
            echo(editor.training_due)
        echo(f"   nearspan train --from {shlex.quote(str(editor.folder))} --out NEW")


def _run(
    editor: Editor,
    edits: Sequence[Callable[[Editor], Edit]],
    preview: bool,
    held_out: Sequence[Document],
    as_json: bool,
) -> None:
    """Make edits, or show what each by itself would change."""
    if not preview:
        made = [make(editor) for make in edits]
        _show(made, as_json)
        if not as_json:
            _echo_training_due(editor, made[-1].receipt)
        return
    previews = [editor.preview(make, held_out or None) for make in edits]
    if as_json:
        print_json({"previews": [each.to_dict() for each in previews]})
        return
    for each in previews:
        echo(f"would {each.edit.summary}")
        for line in each.edit.receipt:
            echo(f"   {line}")
        echo(f"   {each}")
        for change in each.changes:
            echo(f"   {change}")
    echo("nothing is changed: leave out --preview to do it")


def _check_held_out(preview: bool, held_out: list[Path] | None, *read_so: str | None) -> None:
    """Refuse documents to look at where nothing is looked at, and ways to read them where there are none."""
    if held_out and not preview:
        raise ConfigError("--held-out is for --preview")
    if any(read_so) and not held_out:
        raise ConfigError("--format and --columns are for the files of --held-out")


def _show(edits: list[Edit], as_json: bool) -> None:
    if as_json:
        print_json({"edits": [edit.to_dict() for edit in edits]})
        return
    for edit in edits:
        echo(f"{edit.number}  {edit.summary}")
        for line in edit.receipt:
            echo(f"   {line}")


def _render(sentence: SentenceView, colours: LabelColours) -> Text:
    """A sentence in one line: its id, its text with labels, its document and its weight."""
    from nearspan.explain import mark_spans

    labels = [(entity.span, entity.label) for entity in sentence.entities]
    text = mark_spans(sentence.text, [*labels, *((span, "removed") for span in sentence.removed)], colours)
    source = f"   {sentence.document}" + (f" ×{sentence.weight:g}" if sentence.weight not in (0, 1) else "")
    source += ", for its corrected words" if not sentence.weight else ""
    source += f" entities ×{sentence.entity_weight:g}" if sentence.entity_weight != 1 else ""
    return Text.assemble((f"{sentence.id:>6}  ", "bold"), Text(" ").join(text.split("\n")), (source, "dim"))
