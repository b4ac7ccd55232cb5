"""Reading corpora for a command, with their problems shown."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from nearspan.corpora import Problem, read
from nearspan.document import Document

SHOWN = 5


def read_documents(paths: Sequence[Path], format: str | None, console: Console) -> tuple[Document, ...]:
    """The documents of some files; what is wrong in them goes to the console."""
    if not paths:
        return ()
    corpus = read(list(paths), format)
    show_problems(corpus.problems, console, f": see  nearspan check {paths[0]}")
    return corpus.documents


def show_problems(problems: Sequence[Problem], console: Console, more: str = "") -> None:
    """The first few problems, and how many there are beside them."""
    for problem in problems[:SHOWN]:
        console.print(str(problem), style="yellow", markup=False, highlight=False, soft_wrap=True)
    if len(problems) > SHOWN:
        rest = f"and {len(problems) - SHOWN:,} more problems{more}"
        console.print(rest, style="yellow", markup=False, highlight=False, soft_wrap=True)
