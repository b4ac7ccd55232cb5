"""`nearspan evaluate`: a model's scores on a corpus."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from nearspan.cli import options
from nearspan.cli.terminal import echo, number_table, print_json, terminal

if TYPE_CHECKING:
    from rich.table import Table

    from nearspan.evaluation import Evaluation

COUNTS = ("gold", "predicted", "correct")


def evaluate(
    model: options.ModelFolder,
    corpus: Annotated[list[Path], typer.Argument(help="Gold documents, any format.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of tables.")] = False,
    search: options.Search = "",
    interpolate: options.Interpolate = None,
    threshold: options.Thresholds = None,
    device: options.Device = "",
    precision: options.Precision = "auto",
    runtime: options.Runtime = "torch",
    format: options.Format = None,
    columns: options.Columns = None,
) -> None:
    """Score a model on a corpus, overall and by label.

    Only exact matches count. Entities that the model could not reach are counted too.
    A model that labels given spans is scored by its accuracy, beside that of the majority by string.
    With --precision bf16 or int8 the entities are counted that are other than in float32.

    Example: nearspan evaluate runs/mine test.conll
    """
    from nearspan.evaluation import evaluate

    documents = options.read_documents(corpus, format, columns)
    loaded = options.load_model(model, device, search, interpolate, threshold, precision, runtime)
    evaluation = evaluate(loaded, documents)
    exact = None
    if (name := loaded.network.precision) != "float32":
        exact = evaluate(loaded.set_precision("float32"), documents)
    if as_json:
        compared = exact and {"precision": name, "changed": evaluation.count_changed(exact), "float32": exact.value}
        print_json(evaluation.to_dict() | (compared or {}))
        return
    table = _classification_table if loaded.classifies_given_spans else _recognition_table
    terminal().print(table(evaluation))
    if evaluation.identifiers is not None:
        echo(str(evaluation.identifiers))
    if exact is not None:
        entities = sum(len(document.entities) for document in exact.predicted)
        echo(
            f"{name}: {evaluation.count_changed(exact):,} entities are other than in float32, which predicts "
            f"{entities:,} with {exact.measure} {100 * exact.value:.2f}"
        )


def _recognition_table(evaluation: Evaluation) -> Table:
    title = str(evaluation.coverage)
    table = number_table("label", "precision", "recall", "F1", *COUNTS, title=title, title_justify="left")
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
    columns = ("label", "accuracy", "majority by string", *COUNTS)
    table = number_table(*columns, title=f"{evaluation.coverage}\n{note}", title_justify="left")
    scores, baseline = evaluation.scores, evaluation.baseline
    for label, counts in scores.labels.items():
        majority = baseline.labels.get(label) if baseline else None
        share = f"{100 * majority.recall:.2f}" if majority else ""
        table.add_row(escape(label), f"{100 * counts.recall:.2f}", share, *_counts(counts.to_dict()))
    table.add_section()
    for name, key in (("all", "accuracy"), ("macro-F1 of labels", "classification_macro_f1")):
        values = (f"{100 * result.metrics()[key]:.2f}" if result else "" for result in (scores, baseline))
        table.add_row(name, *values, "", "", "", style="bold")
    return table


def _percents(row: dict[str, float]) -> list[str]:
    return [f"{100 * row[key]:.2f}" for key in ("precision", "recall", "f1")]


def _counts(row: Mapping[str, float]) -> list[str]:
    return [f"{row[key]:,}" for key in COUNTS]
