"""`nearspan check`: what is in a corpus, and what is wrong with it."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Column, Table

from nearspan.cli import options
from nearspan.cli.terminal import echo, name_options, number_table, terminal
from nearspan.formats import Problem, Statistics, statistics, stream
from nearspan.formats.corpus import ProblemRecord
from nearspan.formats.synonyms import SynonymCoverage
from nearspan.formats.synonyms import read as read_synonyms

BAR = 40  # characters of the longest bar
MOST_PROBLEMS = 20  # listed, unless all are asked for
MOST_WIDTHS = 20  # widths with a bar of their own


def check(
    paths: Annotated[list[Path], typer.Argument(help="Files, or folders of brat documents.")],
    format: options.Format = None,
    columns: options.Columns = None,
    synonyms: Annotated[
        list[Path] | None,
        typer.Option(help="Count the entities that have synonyms in this file, or 'sample'; may be given again."),
    ] = None,
    synonyms_format: Annotated[
        str | None, typer.Option(help="tsv, obo, umls or wordnet; found from the content if not given.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of tables.")] = False,
    show_all: Annotated[
        bool, typer.Option("--all", help=f"List all problems, not the first {MOST_PROBLEMS}; --json has them always.")
    ] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Exit with 1 if there are any problems.")] = False,
) -> None:
    """Count what is in a corpus and list the problems in it.

    Problems come with file and line. The exit code is 1 if annotations could not be read.

    Example: nearspan check train.conll dev.conll
    """
    with name_options({"format": "--synonyms-format"}):
        table = read_synonyms(synonyms, synonyms_format) if synonyms else None
    counts = statistics(stream(paths, format, columns=options.label_columns(columns)), table)
    problems = [*(counts["synonyms"]["problems"] if "synonyms" in counts else ()), *counts["problems"]]
    if as_json:
        typer.echo(json.dumps(counts, ensure_ascii=True))
    else:
        _print(counts)
        _print_problems(problems if show_all else problems[:MOST_PROBLEMS], len(problems))
    if counts["lost"] or (strict and problems):
        raise typer.Exit(1)


def _print(counts: Statistics) -> None:
    console = terminal()
    table = number_table("what", "count", title=f"{counts['format']} corpus", show_header=False)
    docstarts = f" (with {counts['docstarts']:,} -DOCSTART- lines, as CoNLL-2003 counts them)"
    table.add_row("documents", f"{counts['documents']:,}")
    table.add_row("sentences" + docstarts * bool(counts["docstarts"]), f"{counts['sentences']:,}")
    for name in ("tokens", "entities", "nested", "overlapping", "discontinuous"):
        table.add_row(name, f"{counts[name]:,}")
    table.add_row("problems", f"{len(counts['problems']):,}")
    if counts["lost"]:
        table.add_row("annotations that could not be read", f"{counts['lost']:,}")
    console.print(table)
    _print_bars(console, "label", counts["types"])
    widths = {str(width): count for width, count in counts["widths"].items() if width < MOST_WIDTHS}
    if wide := sum(count for width, count in counts["widths"].items() if width >= MOST_WIDTHS):
        widths[f"{MOST_WIDTHS} or more"] = wide
    _print_bars(console, "words in entity", widths)
    if "synonyms" in counts:
        _print_synonyms(console, counts["synonyms"])


def _print_problems(problems: Sequence[ProblemRecord], total: int) -> None:
    """The problems a line each, and how many there are beside them."""
    for problem in problems:
        line = Problem(problem["kind"], problem["message"], problem["file"], problem["line"])
        terminal().print(str(line), markup=False, highlight=False, soft_wrap=True)
    if total > len(problems):
        echo(f"and {total - len(problems):,} more problems: --all lists them")


def _print_bars(console: Console, name: str, counts: dict[str, int]) -> None:
    if not counts:
        return
    table = Table(name, Column("entities", justify="right"), "", box=None, pad_edge=False)
    most = max(counts.values())
    for label, count in counts.items():
        table.add_row(label, f"{count:,}", "█" * max(1, round(BAR * count / most)))
    console.print()
    console.print(table, markup=False, highlight=False)


def _print_synonyms(console: Console, coverage: SynonymCoverage) -> None:
    """Entities and distinct texts by label, with how many of them have another name; then some that are unknown."""
    columns = ("known", "covered", "")
    table = number_table("label", "entities", *columns, "texts", *columns, box=None, pad_edge=False)
    for label, counts in (*coverage["labels"].items(), ("all labels", coverage)):
        entities = _shares(counts["entities"], counts["known"], counts["covered"])
        texts = _shares(counts["texts"], counts["known_texts"], counts["covered_texts"])
        table.add_row(label, *entities, *texts)
    console.print(f"\nsynonyms: {coverage['concepts']:,} concepts, {coverage['names']:,} names ({coverage['format']})")
    console.print(table, markup=False, highlight=False)
    for label, counts in coverage["labels"].items():
        if counts["unknown"]:
            more = ", ..." if counts["texts"] - counts["known_texts"] > len(counts["unknown"]) else ""
            line = f"unknown {label}: {', '.join(counts['unknown'])}{more}"
            console.print(line, markup=False, highlight=False, soft_wrap=True)


def _shares(total: int, known: int, covered: int) -> tuple[str, str, str, str]:
    return f"{total:,}", f"{known:,}", f"{covered:,}", f"{covered / total:.0%}" if total else ""
