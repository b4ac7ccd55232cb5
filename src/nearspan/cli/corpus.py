"""Reading corpora for a command, with their problems shown."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from nearspan.cli.terminal import terminal
from nearspan.document import Document
from nearspan.errors import CorpusError
from nearspan.formats import Problem, read
from nearspan.io.paths import display_path

FormatOption = Annotated[
    str | None,
    typer.Option("--format", help="conll, jsonl, brat, pubtator or indexed; found from the content if not given."),
]
ColumnsOption = Annotated[
    str | None,
    typer.Option("--columns", help="The label columns of a CoNLL file, from 0 or from the end: 1,2 or -1."),
]

SHOWN = 5


def read_documents(
    paths: Sequence[Path], format: str | None, console: Console, columns: str | None = None
) -> tuple[Document, ...]:
    """The documents of some files; what is wrong in them goes to the console."""
    if not paths:
        return ()
    corpus = read(list(paths), format, columns=label_columns(columns))
    show_problems(corpus.problems, console, f": see  nearspan check {shlex.join(map(str, paths))}")
    return corpus.documents


def show_problems(problems: Sequence[Problem], console: Console, more: str = "") -> None:
    """The first few problems, and how many there are beside them."""
    for problem in problems[:SHOWN]:
        console.print(str(problem), style="yellow", markup=False, highlight=False, soft_wrap=True)
    if len(problems) > SHOWN:
        rest = f"and {len(problems) - SHOWN:,} more problems{more}"
        console.print(rest, style="yellow", markup=False, highlight=False, soft_wrap=True)


def label_columns(columns: str | None) -> list[int] | None:
    """`--columns` as numbers.

    >>> label_columns("1,-1")
    [1, -1]
    """
    if columns is None:
        return None
    try:
        return [int(column) for column in columns.split(",")]
    except ValueError:
        raise CorpusError(f"--columns takes numbers such as 1,2 or -1, found '{columns}'") from None


def is_plain(path: Path, format: str | None) -> bool:
    """Whether a file is taken for plain text: one that ends in .txt, unless a format is named."""
    return format is None and path.suffix.lower() == ".txt"


def plain_text(path: Path) -> Document:
    """A file of plain text as one document."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise CorpusError(f"{display_path(path)} is not UTF-8 at byte {error.start}: convert it first") from error
    except OSError as error:
        raise CorpusError(f"cannot read {display_path(path)}: {error.strerror}") from error
    if not text.strip():
        warn(f"{display_path(path)} is empty")
    return Document(text, id=display_path(path.stem))


def warn(problem: str) -> None:
    """Say what is odd, and go on."""
    terminal(stderr=True).print(problem, style="yellow", markup=False, highlight=False, soft_wrap=True)
