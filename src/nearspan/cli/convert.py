"""`nearspan convert`: a corpus in another format."""

from pathlib import Path
from typing import Annotated

import typer

from nearspan.cli import options
from nearspan.cli.terminal import echo, name_options
from nearspan.formats import stream, write
from nearspan.io.atomic import descriptor
from nearspan.io.outputs import check_outputs


def convert(
    source: Annotated[Path, typer.Argument(metavar="SRC", help="A file, or a folder of brat documents.")],
    target: Annotated[Path, typer.Argument(metavar="DST", help="The file to write, or a new folder for brat.")],
    from_format: Annotated[
        str | None, typer.Option("--from", help="The format of SRC; found from its content if not given.")
    ] = None,
    to_format: Annotated[
        str | None, typer.Option("--to", help="The format of DST; found from its ending if not given.")
    ] = None,
    columns: options.Columns = None,
    labels: Annotated[str, typer.Option(help="Keep the entities of these labels alone: PER,LOC.")] = "",
    drop: options.Drop = False,
    flatten: options.Flatten = False,
    force: options.Force = False,
) -> None:
    """Write a corpus in another format.

    What could not be read or kept is listed on standard error. An entity that DST cannot hold is an error, unless
    --drop or --flatten says what becomes of it.

    Example: nearspan convert news.conll news.jsonl
    """
    check_outputs([target], [source], force=force)
    unfit = options.unfit(drop, flatten)
    with name_options({"format": "--from"}):
        documents = stream(source, from_format, columns=options.label_columns(columns))
    if labels:
        documents = documents.with_labels(label.strip() for label in labels.split(","))
    with name_options({"format": "--to", "unfit": "--drop or --flatten"}):
        changes = write(documents, target, to_format, force=force, unfit=unfit)
    for problem in (*documents.problems, *changes):
        echo(str(problem), err=True)
    is_stream = descriptor(target) is not None  # the corpus itself may be in standard output
    entities = documents.entity_count - sum(change.lost for change in changes)
    echo(f"{documents.count:,} documents with {entities:,} entities written to {target}", err=is_stream)
