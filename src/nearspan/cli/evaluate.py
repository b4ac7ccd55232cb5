"""`nearspan evaluate`: a model's scores on a corpus."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from nearspan import evaluation
from nearspan.cli.corpus import ColumnsOption, FormatOption, read_documents
from nearspan.cli.terminal import terminal
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
    model = model.set_search(search) if search else model
    return model if vote is None else model.interpolate(vote)


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

    A model that labels given spans is scored by its accuracy, beside that of the majority by string.

    Example: nearspan evaluate runs/mine test.conll
    """
    console = terminal(stderr=True)
    documents = read_documents(corpus, format, console, columns)
    loaded = load(model, device, search, vote)
    found = evaluation.evaluate(loaded, documents)
    if as_json:
        typer.echo(json.dumps(found.to_dict(), ensure_ascii=False))
        return
    if isinstance(found.scores, evaluation.ClassificationScores):
        _print_accuracy(found.scores, found)
        return
    table = Table(title=str(found.coverage), title_justify="left")
    for column in ("label", "precision", "recall", "F1", "gold", "predicted", "correct"):
        table.add_column(column, justify="left" if column == "label" else "right")
    for label, row in sorted(found.scores.to_dict()["labels"].items()):
        table.add_row(escape(label), *_percents(row), *(f"{row[key]:,}" for key in ("gold", "predicted", "correct")))
    total = found.scores.to_dict()
    table.add_section()
    table.add_row("micro", *_percents(total), "", "", "", style="bold")
    table.add_row("macro", "", "", f"{100 * total['macro_f1']:.2f}", "", "", "")
    for name, shown in (("entities", "discontinuous"), ("sentences", "in sentences with discontinuous entities")):
        if name in found.discontinuous:
            row = found.discontinuous[name].total.to_dict()
            table.add_row(shown, *_percents(row), *(f"{row[key]:,}" for key in ("gold", "predicted", "correct")))
    terminal().print(table)


def _print_accuracy(scores: evaluation.ClassificationScores, found: evaluation.Evaluation) -> None:
    """Scores of given spans have a table of their own, which nobody can take for recognition."""
    note = "the entities are given and only their labels are predicted, so this is no score of recognition"
    table = Table(title=f"{found.coverage}\n{note}", title_justify="left")
    table.add_column("label")
    for column in ("accuracy", "majority by string", "gold", "predicted", "correct"):
        table.add_column(column, justify="right")
    base = found.baseline
    for label, counts in scores.labels.items():
        own = base.labels.get(label) if base else None
        numbers = (f"{count:,}" for count in (counts.gold, counts.predicted, counts.correct))
        table.add_row(escape(label), f"{100 * counts.recall:.2f}", f"{100 * own.recall:.2f}" if own else "", *numbers)
    table.add_section()
    both = [(one.accuracy, one.macro_f1) if one else None for one in (scores, base)]
    for name, place in (("all", 0), ("macro-F1 of labels", 1)):
        table.add_row(name, *(f"{100 * pair[place]:.2f}" if pair else "" for pair in both), "", "", "", style="bold")
    terminal().print(table)


def _percents(row: dict[str, float]) -> list[str]:
    return [f"{100 * row[key]:.2f}" for key in ("precision", "recall", "f1")]
