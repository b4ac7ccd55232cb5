"""`nearspan evaluate`: a model's scores on a corpus."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.table import Table

from nearspan.cli.corpus import read_documents
from nearspan.cli.options import Columns, Device, Format, Interpolate, ModelFolder, Search, load_model
from nearspan.cli.terminal import terminal

if TYPE_CHECKING:
    from nearspan.evaluation import Evaluation

COUNTS = ("gold", "predicted", "correct")


def evaluate(
    model: ModelFolder,
    corpus: Annotated[list[Path], typer.Argument(help="Gold documents, any format.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of tables.")] = False,
    search: Search = "",
    interpolate: Interpolate = None,
    device: Device = "",
    format: Format = None,
    columns: Columns = None,
) -> None:
    """Score a model on a corpus, overall and by label.

    Only exact matches count. Entities that the model could not reach are counted too.
    A model that labels given spans is scored by its accuracy, beside that of the majority by string.

    Example: nearspan evaluate runs/mine test.conll
    """
    from nearspan.evaluation import evaluate

    documents = read_documents(corpus, format, columns)
    loaded = load_model(model, device, search, interpolate)
    evaluation = evaluate(loaded, documents)
    if as_json:
        typer.echo(json.dumps(evaluation.to_dict(), ensure_ascii=False))
    elif loaded.classifies_given_spans:
        terminal().print(_classification_table(evaluation))
    else:
        terminal().print(_recognition_table(evaluation))


def _recognition_table(evaluation: Evaluation) -> Table:
    table = Table(title=str(evaluation.coverage), title_justify="left")
    for column in ("label", "precision", "recall", "F1", *COUNTS):
        table.add_column(column, justify="left" if column == "label" else "right")
    total = evaluation.scores.to_dict()
    for label, row in sorted(total["labels"].items()):
        table.add_row(escape(label), *_percents(row), *_counts(row))
    table.add_section()
    table.add_row("micro", *_percents(total), "", "", "", style="bold")
    table.add_row("macro", "", "", f"{100 * total['macro_f1']:.2f}", "", "", "")
    for name, title in (("entities", "discontinuous"), ("sentences", "in sentences with discontinuous entities")):
        if name in evaluation.discontinuous:
            row = evaluation.discontinuous[name].total.to_dict()
            table.add_row(title, *_percents(row), *_counts(row))
    return table


def _classification_table(evaluation: Evaluation) -> Table:
    """Scores of given spans have a table of their own, which nobody can take for recognition."""
    note = "the entities are given and only their labels are predicted, so this is no score of recognition"
    table = Table(title=f"{evaluation.coverage}\n{note}", title_justify="left")
    table.add_column("label")
    for column in ("accuracy", "majority by string", *COUNTS):
        table.add_column(column, justify="right")
    scores, baseline = evaluation.scores, evaluation.baseline
    for label, counts in scores.labels.items():
        majority = baseline.labels.get(label) if baseline else None
        numbers = (f"{count:,}" for count in (counts.gold, counts.predicted, counts.correct))
        share = f"{100 * majority.recall:.2f}" if majority else ""
        table.add_row(escape(label), f"{100 * counts.recall:.2f}", share, *numbers)
    table.add_section()
    for name, key in (("all", "accuracy"), ("macro-F1 of labels", "classification_macro_f1")):
        values = [f"{100 * one.metrics()[key]:.2f}" if one else "" for one in (scores, baseline)]
        table.add_row(name, *values, "", "", "", style="bold")
    return table


def _percents(row: dict[str, float]) -> list[str]:
    return [f"{100 * row[key]:.2f}" for key in ("precision", "recall", "f1")]


def _counts(row: Mapping[str, float]) -> list[str]:
    return [f"{row[key]:,}" for key in COUNTS]
