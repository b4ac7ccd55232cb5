"""`nearspan report`: a model's scores, errors, evidence and figures as one page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nearspan.cli.corpus import read_documents
from nearspan.cli.options import Columns, Device, Format, ModelFolder
from nearspan.cli.terminal import terminal


def report(
    model: ModelFolder,
    corpus: Annotated[list[Path], typer.Argument(help="Gold documents, any format.")],
    out: Annotated[Path, typer.Option(help="Folder for report.html, report.json and the curves' points.")],
    compare: Annotated[Path | None, typer.Option(help="A second model folder, shown side by side.")] = None,
    train: Annotated[
        list[Path] | None, typer.Option("--train", help="Training corpus of the curves (needs --dev).")
    ] = None,
    dev: Annotated[list[Path] | None, typer.Option("--dev", help="Development corpus of the curves.")] = None,
    sizes: Annotated[
        str, typer.Option(help="The data-size curve's shares of the training set; none: no such curve.")
    ] = "1,1/2,1/4,1/8",
    occurrences: Annotated[
        str,
        typer.Option(
            help="Numbers of occurrences of a word, such as 100,300,500: adds F1 and time against them, "
            "for models that recall training words (needs --train)."
        ),
    ] = "",
    seeds: Annotated[int, typer.Option(min=1, help="Trainings for each point of a curve.")] = 1,
    device: Device = "",
    format: Format = None,
    columns: Columns = None,
) -> None:
    """Write a page with a model's scores, its errors and why.

    It also shows what spans are near, how their vectors lie, and more.

    Example: nearspan report runs/mine test.conll --out report --compare runs/classifier
    """
    from nearspan.report import report as write_report
    from nearspan.report.occurrences import parse_occurrences
    from nearspan.report.sizes import parse_sizes

    shares, recalled = parse_sizes(sizes), parse_occurrences(occurrences)
    documents, training, development = (read_documents(paths or [], format, columns) for paths in (corpus, train, dev))
    made = write_report(
        model,
        documents,
        out=out,
        compare=compare,
        train=training,
        dev=development,
        sizes=shares,
        occurrences=recalled,
        seeds=seeds,
        device=device,
        console=terminal(stderr=True),
    )
    typer.echo(str(made.page))
