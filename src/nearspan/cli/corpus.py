"""Reading corpora for a command, with their problems shown."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from nearspan.corpora import read
from nearspan.document import Document

SHOWN = 5


def read_documents(paths: Sequence[Path], format: str | None, console: Console) -> tuple[Document, ...]:
    """The documents of some files; what is wrong in them goes to the console."""
    if not paths:
        return ()
    corpus = read(list(paths), format)
    for problem in corpus.problems[:SHOWN]:
        console.print(str(problem), style="yellow", markup=False, highlight=False, soft_wrap=True)
    if len(corpus.problems) > SHOWN:
        rest = len(corpus.problems) - SHOWN
        console.print(f"and {rest:,} more problems: see  nearspan check {paths[0]}", style="yellow", highlight=False)
    return corpus.documents
