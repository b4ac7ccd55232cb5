"""`nearspan audit`: annotations that their neighbours contradict."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from rich.text import Text

from nearspan.cli.corpus import read_documents
from nearspan.cli.options import Columns, Device, Format, ModelFolder
from nearspan.cli.terminal import terminal

if TYPE_CHECKING:
    from nearspan.report.label_issues import Doubt
    from nearspan.report.leave_one_out import Progress as Told

SHOWN = 20  # doubts that a terminal gets if not told otherwise


def audit(
    model: ModelFolder,
    corpus: Annotated[list[Path], typer.Argument(help="Annotated documents, any format; the training corpus too.")],
    out: Annotated[Path | None, typer.Option(help="Write the list as JSON lines.")] = None,
    html: Annotated[Path | None, typer.Option(help="Write the list as a page.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON lines instead of a list to read.")] = False,
    most: Annotated[
        int | None, typer.Option("-n", min=1, help="Only the gravest so many; a terminal shows 20 if not told.")
    ] = None,
    count: Annotated[int, typer.Option("-k", min=1, help="Training spans listed for each side.")] = 3,
    device: Device = "",
    format: Format = None,
    columns: Columns = None,
) -> None:
    """List annotations that their neighbours in the memory contradict.

    Spans that look like missing entities are listed too.

    Example: nearspan audit runs/mine train.conll --out doubts.jsonl --html doubts.html
    """
    from nearspan.io.atomic import write_file
    from nearspan.model import Model
    from nearspan.report import audit as audit_corpus
    from nearspan.report.audit_page import audit_page

    console = terminal(stderr=True)
    documents = read_documents(corpus, format, columns)
    loaded = Model.load(model, device)
    everything = bool(out or html or as_json)
    with _shown(console) as progress:
        found = audit_corpus(
            loaded, documents, most=most if most or everything else SHOWN, count=count, progress=progress
        )
    if out is not None:
        found.write(out)
    if html is not None:
        write_file(html, [audit_page(found, loaded.labels[1:])])
    if as_json:
        for line in found.lines():
            typer.echo(line, nl=False)
        return
    screen = terminal()
    for one in found.doubts[: most or SHOWN]:
        screen.print(_rendered(one))
    kinds = ", ".join(f"{number:,} {kind}" for kind, number in found.kinds.items())
    screen.print(f"{found.found:,} doubts in {found.coverage}", highlight=False)
    if kinds:
        screen.print(f"listed: {kinds}", highlight=False)


def _rendered(one: Doubt) -> Text:
    """A doubt in a few lines."""
    from nearspan.explain import printable
    from nearspan.explain.render import excerpt_of, in_context

    said = Text.assemble((f"{one.doubt:.3f} ", "bold"), (one.kind, "magenta"), "  ")
    for word, entity in (("annotated", one.annotated), ("suggested", one.suggested)):
        if entity is not None:
            said.append(f"{word} ").append(printable(entity.span.text(one.document.text)), "bold").append(
                f" {entity.label}", "cyan"
            )
            said.append("  ")
    said.append(printable(one.document.id) + "\n", "dim")
    said.append("  ").append_text(excerpt_of(one.entity.span, one.document.text)).append("\n")
    for word, some in (("against", one.against), ("for", one.backing)):
        for near in some:
            said.append(f"    {word:7} {near.weight:.3f} ").append(f"{near.label or 'no entity'} ", "cyan")
            said.append_text(in_context(near)).append("\n")
    return said


@contextmanager
def _shown(console: Console) -> Iterator[Told]:
    """A bar for each thing that takes long."""
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    tasks: dict[str, TaskID] = {}
    with Progress(*columns, console=console, transient=True) as bar:

        def told(what: str, done: int, whole: int) -> None:
            if what not in tasks:
                tasks[what] = bar.add_task(what, total=whole)
            bar.advance(tasks[what], done)

        yield told
