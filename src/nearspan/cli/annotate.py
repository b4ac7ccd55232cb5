"""`nearspan annotate`: entities in text, for one line or for millions."""

from __future__ import annotations

import codecs
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from nearspan.cli.corpus import is_plain, plain_text, read_documents, show_problems, warn
from nearspan.cli.evaluate import Search, Vote, load
from nearspan.cli.terminal import discard_output, terminal
from nearspan.cli.train import Device
from nearspan.document import Document
from nearspan.errors import ConfigError
from nearspan.formats import write
from nearspan.formats.jsonl import json_line
from nearspan.io.atomic import write_file


def annotate(
    model: Annotated[Path, typer.Argument(help="A model folder.")],
    files: Annotated[
        list[str] | None,
        typer.Argument(help="Text files or corpora; `-` or nothing: lines of standard input, a text each."),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Where to write; standard output if not given.")] = None,
    to: Annotated[str, typer.Option(help="jsonl, conll or brat.")] = "jsonl",
    search: Search = "",
    vote: Vote = None,
    device: Device = "",
    format: Annotated[
        str | None,
        typer.Option(help="The files' format; `.txt` files are plain text, others are found from the content."),
    ] = None,
) -> None:
    """Find the entities of texts; a model for typing labels the entities that a corpus has anew.

    Example: echo 'Marie Curie worked in Paris.' | nearspan annotate runs/mine
    """
    if to not in ("jsonl", "conll", "brat"):
        raise ConfigError(f"--to takes jsonl, conll or brat, found {to!r}")
    if to != "jsonl" and out is None:
        raise ConfigError(f"--to {to} needs --out: only JSON lines go to standard output")
    if format and "-" in (files or ["-"]):
        raise ConfigError("--format is for files: on standard input each line is a text, whatever it looks like")
    _refuse_closed(files or ["-"], out)
    loaded = load(model, device, search, vote)
    if to == "conll" and loaded.network.fragment_linker is not None:
        warn(
            "this model can find discontinuous entities, which CoNLL columns cannot hold: if it finds one, nothing is "
            "written. --to jsonl and --to brat keep them"
        )
    documents = loaded.pipe(_documents(files or ["-"], format, typing=loaded.classifies_given_spans))
    if out is not None:
        console = terminal(stderr=True)
        counted = _counted(documents, console)
        if to == "jsonl":  # a line at a time, so that there may be millions
            write_file(out, (json_line(document) + "\n" for document in counted))
        else:
            show_problems(write(counted, out, to), console)
        return
    try:
        for document in documents:
            sys.stdout.buffer.write((json_line(document) + "\n").encode("utf-8"))
            sys.stdout.buffer.flush()
    except BrokenPipeError:  # `nearspan annotate ... | head` is no failure
        discard_output()


def _refuse_closed(files: list[str], out: Path | None) -> None:
    """Find out before a model is read that a stream which is needed is closed."""
    if "-" in files and sys.stdin is None:
        raise ConfigError("standard input is closed: name files to annotate, or pipe in lines of text")
    if out is None and sys.stdout is None:
        raise ConfigError("standard output is closed: say with --out where to write")


def _counted(documents: Iterable[Document], console: Console) -> Iterator[Document]:
    """The documents, with a line that says how far they are and how fast they go."""
    columns = (SpinnerColumn(), TextColumn("{task.completed:,} texts, {task.fields[entities]:,} entities"))
    with Progress(*columns, TimeElapsedColumn(), console=console) as bar:
        task, entities = bar.add_task("", total=None, entities=0), 0
        for document in documents:
            yield document
            entities += len(document.entities)
            bar.update(task, advance=1, entities=entities)


def _documents(files: list[str], format: str | None, *, typing: bool) -> Iterator[Document]:
    for name in files:
        plain = name == "-" or is_plain(Path(name), format)
        if typing and plain:
            source = "standard input" if name == "-" else name
            raise ConfigError(
                f"{source} is plain text, and this model was trained for typing: it labels spans that are given and "
                "finds none itself. Give it a corpus with entities, which it labels anew (with --format if it is a "
                ".txt file), or train the recipe with suggester.kind=all"
            )
        if name == "-":
            for number, raw in enumerate(sys.stdin.buffer, start=1):
                raw = raw.removeprefix(codecs.BOM_UTF8) if number == 1 else raw
                yield Document(_line(raw, number), id=f"stdin-{number}")
        elif plain:
            yield plain_text(Path(name))
        else:
            yield from read_documents([Path(name)], format, terminal(stderr=True))


def _line(raw: bytes, number: int) -> str:
    """A line of standard input; the stream goes on after one that is not UTF-8, but not in silence."""
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        warn(f"standard input: line {number} is not UTF-8 at its byte {error.start + 1}; read as U+FFFD")
        text = raw.decode("utf-8", errors="replace")
    return text.rstrip("\r\n")
