"""`nearspan annotate`: entities in text, for one line or for millions."""

import codecs
import logging
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from nearspan.cli import options
from nearspan.cli.ray import annotate_on_ray
from nearspan.cli.terminal import discard_output, name_options, terminal
from nearspan.document import Document
from nearspan.errors import ConfigError
from nearspan.formats import known_formats, write
from nearspan.formats.files import writable_format
from nearspan.formats.format import ending
from nearspan.formats.jsonl import json_line
from nearspan.formats.plain_text import is_folder_of_texts, is_plain_text, read_folder_of_texts, read_plain_text
from nearspan.io.atomic import descriptor, write_file
from nearspan.io.outputs import check_outputs
from nearspan.io.paths import exists, is_file, is_folder
from nearspan.io.printing import printable_json

logger = logging.getLogger(__name__)


def annotate(
    model: options.ModelFolder,
    files: Annotated[
        list[str] | None,
        typer.Argument(help="Text files or corpora; `-` or nothing: lines of standard input, a text each."),
    ] = None,
    out: Annotated[str | None, typer.Option(help="Where to write; standard output if not given.")] = None,
    to: Annotated[
        str | None,
        typer.Option(
            help="The format to write: jsonl, conll, brat, pubtator; found from the ending of --out if not given."
        ),
    ] = None,
    drop: options.Drop = False,
    flatten: options.Flatten = False,
    search: options.Search = "",
    interpolate: options.Interpolate = None,
    threshold: options.Thresholds = None,
    workers: options.Workers = None,
    ray: Annotated[
        str,
        typer.Option(
            help="Work on a Ray cluster, and write an output for each input to the folder --out. An address; `auto` is "
            "the cluster that runs here or that RAY_ADDRESS names, `local` a new one of this machine's cores.",
        ),
    ] = "",
    device: options.Device = "",
    precision: options.Precision = "auto",
    runtime: options.Runtime = "torch",
    format: Annotated[
        str | None,
        typer.Option(help="The files' format; `.txt` files are plain text, others are found from the content."),
    ] = None,
    force: options.Force = False,
) -> None:
    """Find the entities of texts.

    A model for span classification gives the entities that a corpus has new labels.

    Example: echo 'Marie Curie worked in Paris.' | nearspan annotate runs/mine

    Example: nearspan annotate runs/mine notes.txt --out notes.conll

    Example: nearspan annotate runs/mine 'in/*.parquet' --out out/ --ray auto
    """
    files = files or ["-"]
    if ray:
        if runtime != "torch":
            raise ConfigError("--ray computes with torch: leave out --runtime")
        if out is None or "-" in files or drop or flatten or (to or "jsonl") != "jsonl":
            raise ConfigError("--ray reads files or addresses and writes JSON lines to a folder: name both, with --out")
        annotate_on_ray(
            ray,
            options.load_model(model, "cpu", search, interpolate, threshold, precision),
            files,
            out,
            workers=workers,
            device=device,
            format=format,
            force=force,
        )
        return
    unfit = options.unfit(drop, flatten)
    path = None if out is None else Path(out)
    writable = sorted(name for name, known in known_formats().items() if known.write)
    if to is not None and to not in writable:
        raise ConfigError(f"--to takes a format that can be written, found {to!r}; known: {', '.join(writable)}")
    if out is None and (to or "jsonl") != "jsonl":
        raise ConfigError(f"--to {to} needs --out: only JSON lines go to standard output")
    if out is None and unfit != "refuse":
        raise ConfigError("--drop and --flatten need --out: JSON lines, which go to standard output, hold every entity")
    if format and "-" in files:
        raise ConfigError("--format is for files: on standard input each line is a text, whatever it looks like")
    if "-" in files and sys.stdin is None:
        raise ConfigError("standard input is closed: name files to annotate, or pipe in lines of text")
    if out is None and sys.stdout is None:
        raise ConfigError("standard output is closed: say with --out where to write")
    check_outputs([path], ["/dev/stdin" if name == "-" else name for name in files], force=force)
    is_stream = path is None or (to is None and _is_stream(path))
    with name_options({"format": "--to"}):
        target = known_formats()["jsonl"] if path is None or is_stream else writable_format(path, to)
    loaded = options.load_model(model, device, search, interpolate, threshold, precision, runtime)
    if not target.discontinuous and unfit == "refuse" and loaded.network.fragment_linker is not None:
        logger.warning(
            "this model can find discontinuous entities, which %s cannot hold: if it finds one, nothing is "
            "written. jsonl and brat keep them, --drop leaves them out and --flatten makes them contiguous",
            target.name,
        )
    annotated = loaded.pipe(_documents(files, format, spans_are_given=loaded.classifies_given_spans), workers=workers)
    if path is None:
        _print_lines(annotated)
        return
    if target.name == "jsonl" and unfit == "refuse" and ending(path) != ".json":
        # a line at a time, so that there may be millions
        write_file(path, (json_line(document) + "\n" for document in _with_progress(annotated)))
        return
    with name_options({"format": "--to", "unfit": "--drop or --flatten"}):
        problems = write(_with_progress(annotated), path, target.name, force=force, unfit=unfit)
    options.warn_of_problems(problems)


def _is_stream(path: Path) -> bool:
    """Whether a path leads to a pipe, a device or an open file such as /dev/stdout, whose name has no ending."""
    return descriptor(path) is not None or (exists(path) and not is_file(path) and not is_folder(path))


def _documents(files: list[str], format: str | None, *, spans_are_given: bool) -> Iterator[Document]:
    for name in files:
        is_folder = name != "-" and is_folder_of_texts(Path(name), format)
        plain = name == "-" or is_folder or is_plain_text(Path(name), format)
        if spans_are_given and plain:
            source = "standard input" if name == "-" else name
            raise ConfigError(
                f"{source} is plain text, and this model classifies spans that are given and finds none itself. "
                "Give it a corpus with entities, which it labels anew (with --format if it is a .txt file), or train "
                "the recipe with suggester.kind=all"
            )
        if name == "-":
            for number, line in enumerate(sys.stdin.buffer, start=1):
                line = line.removeprefix(codecs.BOM_UTF8) if number == 1 else line
                yield Document(_decode(line, number), id=f"stdin-{number}")
        elif is_folder:
            yield from read_folder_of_texts(Path(name))
        elif plain:
            yield read_plain_text(Path(name))
        else:
            with name_options({"format": "--format"}):  # whoever takes the documents may write them with --to
                yield from options.stream_documents([Path(name)], format)


def _decode(line: bytes, number: int) -> str:
    """A line of standard input as text; the stream goes on after one that is not UTF-8, but not in silence."""
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError as error:
        logger.warning("standard input: line %d is not UTF-8 at its byte %d; read as U+FFFD", number, error.start + 1)
        text = line.decode("utf-8", errors="replace")
    return text.rstrip("\r\n")


def _print_lines(documents: Iterable[Document]) -> None:
    try:
        for document in documents:
            sys.stdout.buffer.write((printable_json(json_line(document)) + "\n").encode("utf-8"))
            sys.stdout.buffer.flush()
    except BrokenPipeError:  # `nearspan annotate ... | head` is no failure
        discard_output()


def _with_progress(documents: Iterable[Document]) -> Iterator[Document]:
    """The documents, with a line that says how far they are and how fast they go."""
    columns = (SpinnerColumn(), TextColumn("{task.completed:,} texts, {task.fields[entities]:,} entities"))
    with Progress(*columns, TimeElapsedColumn(), console=terminal(stderr=True)) as bar:
        task, entities = bar.add_task("", total=None, entities=0), 0
        for document in documents:
            yield document
            entities += len(document.entities)
            bar.update(task, advance=1, entities=entities)
