"""`nearspan check`: what is in a corpus, and what is wrong with it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from nearspan.cli.corpus import ColumnsOption, FormatOption, label_columns
from nearspan.cli.terminal import terminal
from nearspan.formats import Problem, Statistics, read, statistics
from nearspan.formats import synonyms as names
from nearspan.formats.corpus import ProblemRecord
from nearspan.formats.synonyms import SynonymCoverage

_BAR = 40
_MOST_WIDTHS = 20


def check(
    paths: Annotated[list[Path], typer.Argument(help="Files, or folders of brat documents.")],
    format: FormatOption = None,
    columns: ColumnsOption = None,
    synonyms: Annotated[
        list[Path] | None,
        typer.Option(help="Count the entities that have synonyms in this file, or 'sample'; may be given again."),
    ] = None,
    synonyms_format: Annotated[
        str | None, typer.Option(help="tsv, obo, umls or wordnet; found from the content if not given.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of tables.")] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Exit with 1 if there are problems.")] = False,
) -> None:
    """Print the statistics of a corpus and every problem in it, with file and line.

    Example: nearspan check train.conll dev.conll
    """
    table = names.read(synonyms, synonyms_format) if synonyms else None
    found = statistics(read(paths, format, columns=label_columns(columns)), table)
    if as_json:
        typer.echo(json.dumps(found, ensure_ascii=True))
    else:
        _print(found)
    if strict and (found["problems"] or ("synonyms" in found and found["synonyms"]["problems"])):
        raise typer.Exit(1)


def _print(found: Statistics) -> None:
    console = terminal()
    table = Table(title=f"{found['format']} corpus", show_header=False)
    table.add_column("what")
    table.add_column("count", justify="right")
    docstarts = ""
    if found["docstarts"]:
        docstarts = f" (with {found['docstarts']:,} -DOCSTART- lines, as CoNLL-2003 counts them)"
    rows = {
        "documents": found["documents"],
        f"sentences{docstarts}": found["sentences"],
        "tokens": found["tokens"],
        "entities": found["entities"],
        "nested": found["nested"],
        "overlapping": found["overlapping"],
        "discontinuous": found["discontinuous"],
        "problems": len(found["problems"]),
    }
    for name, count in rows.items():
        table.add_row(name, f"{count:,}")
    console.print(table)
    _print_bars(console, "label", found["types"])
    _print_bars(console, "words in entity", _widths(found["widths"]))
    if "synonyms" in found:
        _print_synonyms(console, found["synonyms"])
        _print_problems(console, found["synonyms"]["problems"])
    _print_problems(console, found["problems"])


def _widths(widths: dict[int, int]) -> dict[str, int]:
    """Widths as names, the widest together where there are many."""
    bars = {str(width): count for width, count in widths.items() if width < _MOST_WIDTHS}
    if wide := sum(count for width, count in widths.items() if width >= _MOST_WIDTHS):
        bars[f"{_MOST_WIDTHS} or more"] = wide
    return bars


def _print_bars(console: Console, name: str, counts: dict[str, int]) -> None:
    if not counts:
        return
    table = Table(box=None, pad_edge=False)
    table.add_column(name)
    table.add_column("entities", justify="right")
    table.add_column("")
    most = max(counts.values())
    for label, count in counts.items():
        table.add_row(label, f"{count:,}", "█" * max(1, round(_BAR * count / most)))
    console.print()
    console.print(table, markup=False, highlight=False)


def _print_problems(console: Console, problems: list[ProblemRecord]) -> None:
    for each in problems:
        problem = Problem(each["kind"], each["message"], each["file"], each["line"])
        console.print(str(problem), markup=False, highlight=False, soft_wrap=True)


def _print_synonyms(console: Console, found: SynonymCoverage) -> None:
    """Entities and distinct texts by label, with how many of them have another name; then some that are unknown."""
    table = Table(box=None, pad_edge=False)
    table.add_column("label")
    for name in ("entities", "known", "covered", "", "texts", "known", "covered", ""):
        table.add_column(name, justify="right")
    for label, counts in (*found["labels"].items(), ("all labels", found)):
        entities = _shares(counts["entities"], counts["known"], counts["covered"])
        texts = _shares(counts["texts"], counts["known_texts"], counts["covered_texts"])
        table.add_row(label, *entities, *texts)
    console.print(f"\nsynonyms: {found['concepts']:,} concepts, {found['names']:,} names ({found['format']})")
    console.print(table, markup=False, highlight=False)
    for label, counts in found["labels"].items():
        if counts["unknown"]:
            more = ", ..." if counts["texts"] - counts["known_texts"] > len(counts["unknown"]) else ""
            line = f"unknown {label}: {', '.join(counts['unknown'])}{more}"
            console.print(line, markup=False, highlight=False, soft_wrap=True)


def _shares(whole: int, known: int, covered: int) -> tuple[str, str, str, str]:
    return f"{whole:,}", f"{known:,}", f"{covered:,}", f"{covered / whole:.0%}" if whole else ""
