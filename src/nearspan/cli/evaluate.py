"""`nearspan evaluate`: a model's scores on a corpus."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from nearspan import evaluation
from nearspan.cli.corpus import ColumnsOption, FormatOption, read_documents
from nearspan.cli.train import Device
from nearspan.model import Model

Search = Annotated[
    str,
    typer.Option(help="How the instance head uses its memory: `nearest` sentences, or the `whole` of it."),
]


Vote = Annotated[
    float | None,
    typer.Option(min=0, max=1, help="The memory's share in what a head with weights decides; as saved if not given."),
]


def load(model: Path, device: str, search: str, vote: float | None) -> Model:
    """The model of a folder, using its memory as asked."""
    return chosen(Model.load(model, device), search, vote)


def chosen(model: Model, search: str, vote: float | None) -> Model:
    """A model that uses its memory as asked."""
    model = model.search(search) if search else model
    return model if vote is None else model.vote(vote)


def evaluate(
    model: Annotated[Path, typer.Argument(help="A model folder.")],
    corpus: Annotated[list[Path], typer.Argument(help="Gold documents, any format.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of tables.")] = False,
    search: Search = "",
    vote: Vote = None,
    device: Device = "",
    format: FormatOption = None,
    columns: ColumnsOption = None,
) -> None:
    """Score a model on a corpus: exact matches, overall and by label, and what it could not reach.

    Example: nearspan evaluate runs/mine test.conll
    """
    console = Console(stderr=True)
    documents = read_documents(corpus, format, console, columns)
    found = evaluation.evaluate(load(model, device, search, vote), documents)
    if as_json:
        typer.echo(json.dumps(found.as_dict(), ensure_ascii=False))
        return
    table = Table(title=str(found.coverage), title_justify="left")
    for column in ("label", "precision", "recall", "F1", "gold", "predicted", "correct"):
        table.add_column(column, justify="left" if column == "label" else "right")
    for label, row in sorted(found.scores.as_dict()["labels"].items()):
        table.add_row(escape(label), *_percents(row), *(f"{row[key]:,}" for key in ("gold", "predicted", "correct")))
    total = found.scores.as_dict()
    table.add_section()
    table.add_row("micro", *_percents(total), "", "", "", style="bold")
    table.add_row("macro", "", "", f"{100 * total['macro_f1']:.2f}", "", "", "")
    for name, shown in (("entities", "discontinuous"), ("sentences", "in sentences with discontinuous entities")):
        if name in found.discontinuous:
            row = found.discontinuous[name].total.as_dict()
            table.add_row(shown, *_percents(row), *(f"{row[key]:,}" for key in ("gold", "predicted", "correct")))
    Console().print(table)


def _percents(row: dict[str, float]) -> list[str]:
    return [f"{100 * row[key]:.2f}" for key in ("precision", "recall", "f1")]
