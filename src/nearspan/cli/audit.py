"""`nearspan audit`: annotations that their neighbours contradict."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from nearspan.cli import options
from nearspan.cli.terminal import terminal
from nearspan.colours import LabelColours
from nearspan.io.atomic import write_file
from nearspan.io.outputs import check_outputs
from nearspan.io.printing import printable_json

if TYPE_CHECKING:
    from nearspan.report import LabelIssue

SHOWN = 20  # issues that a terminal gets if not told otherwise


def audit(
    model: options.ModelFolder,
    corpus: Annotated[list[Path], typer.Argument(help="Annotated documents, any format; the training corpus too.")],
    out: Annotated[Path | None, typer.Option(help="Write the list as JSON lines.")] = None,
    html: Annotated[Path | None, typer.Option(help="Write the list as a page.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON lines instead of a list to read.")] = False,
    most: Annotated[
        int | None, typer.Option("-n", min=1, help="Only the gravest so many; a terminal shows 20 if not told.")
    ] = None,
    count: Annotated[int, typer.Option("-k", min=1, help="Training spans listed for each side.")] = 3,
    device: options.Device = "",
    format: options.Format = None,
    columns: options.Columns = None,
    force: options.Force = False,
) -> None:
    """List annotations that their neighbours in the memory contradict.

    Spans that look like missing entities are listed too.

    Example: nearspan audit runs/mine train.conll --out issues.jsonl --html issues.html
    """
    from nearspan.model import Model
    from nearspan.report import audit as audit_corpus

    check_outputs([out, html], corpus, force=force)
    documents = options.read_documents(corpus, format, columns)
    loaded = Model.load(options.local_model(model), device)
    everything = bool(out or html or as_json)
    result = audit_corpus(loaded, documents, most=most if most or everything else SHOWN, count=count)
    if out is not None:
        result.write(out, force=force)
    if html is not None:
        write_file(html, [result.page(loaded.labels[1:], ", ".join(path.name for path in corpus))])
    if as_json:
        typer.echo(printable_json("".join(result.lines())), nl=False)
        return
    screen, colours = terminal(), LabelColours(loaded.labels)
    for issue in result.issues[: most or SHOWN]:
        screen.print(_render(issue, colours))
    kinds = ", ".join(f"{number:,} {kind}" for kind, number in result.kinds.items())
    screen.print(f"{result.total:,} label issues in {result.coverage}", highlight=False)
    if kinds:
        screen.print(f"listed: {kinds}", highlight=False)


def _render(issue: LabelIssue, colours: LabelColours) -> Text:
    from nearspan.explain.render import excerpt_of, in_context, label_text

    text = Text.assemble((f"{issue.severity:.3f} ", "bold"), (issue.kind, "magenta"), "  ")
    for word, entity in (("annotated", issue.annotated), ("suggested", issue.suggested)):
        if entity is not None:
            text.append(f"{word} ").append(entity.span.text(issue.document.text), "bold")
            text.append(" ").append_text(label_text(entity.label, colours)).append("  ")
    text.append(f"{issue.document.id}\n", "dim")
    text.append("  ").append_text(excerpt_of(issue.entity.span, issue.document.text)).append("\n")
    for word, group in (("against", issue.against), ("for", issue.support)):
        for near in group:
            text.append(f"    {word:7} {near.weight:.3f} ").append_text(label_text(near.label, colours)).append(" ")
            text.append_text(in_context(near)).append("\n")
    return text
