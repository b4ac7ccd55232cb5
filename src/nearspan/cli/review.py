"""`nearspan review`: the texts that teach a model most, to be answered in the terminal."""

import shlex
from pathlib import Path
from typing import Annotated

import typer

from nearspan.cli import options
from nearspan.cli.terminal import echo, name_options
from nearspan.errors import ConfigError
from nearspan.io.outputs import check_outputs


def review(
    model: options.ModelFolder,
    texts: Annotated[list[Path], typer.Argument(help="Texts to answer: plain text (.txt) or documents in any format.")],
    reviewer: Annotated[
        str, typer.Option(help="Your name, where several people review: a text is with one of them at a time.")
    ] = "reviewer",
    out: Annotated[
        Path | None, typer.Option(help="Write all answers to a file at the end, or to a new folder for brat.")
    ] = None,
    to: Annotated[str | None, typer.Option(help="The format of --out; found from its ending if not given.")] = None,
    lease: Annotated[float, typer.Option(help="For how many seconds a text is with you alone.")] = 600,
    drop: options.Drop = False,
    flatten: options.Flatten = False,
    force: options.Force = False,
    search: options.Search = "",
    interpolate: options.Interpolate = None,
    threshold: options.Thresholds = None,
    device: options.Device = "",
    format: options.Format = None,
    columns: options.Columns = None,
) -> None:
    """Answer the texts that teach a model most, one after the other.

    Each sentence comes with the entities that the model reads in it: accept them, or correct them first. The answer is
    in the memory before the next text is shown. Call it with the same texts again to go on. In the browser it is
    nearspan serve MODEL --review TEXTS.

    Example: nearspan review runs/mine letters.txt --out answers.jsonl
    """
    from nearspan.cli.dialogue import Dialogue
    from nearspan.formats.files import writable_format
    from nearspan.review import finish_swap

    check_outputs([out], texts, force=force)
    if out is None and (to or drop or flatten or force):
        raise ConfigError("--to, --drop, --flatten and --force are for the file that --out names")
    unfit = options.unfit(drop, flatten)
    with name_options({"format": "--to", "unfit": "--drop or --flatten"}):
        if out is not None:
            writable_format(out, to)
    documents = options.read_texts(texts, format, columns)
    finish_swap(Path(model))
    opened = options.load_model(model, device, search, interpolate, threshold).review(documents, lease=lease)
    opened.prepare()
    try:
        Dialogue(opened, reviewer, lambda model: options.apply_to(model, search, interpolate, threshold)).run()
    finally:
        opened.close()
    progress = opened.progress()
    echo(str(progress))
    if progress.training_due:
        echo(progress.training_due)
    if out is not None:
        with name_options({"format": "--to", "unfit": "--drop or --flatten"}):
            options.warn_of_problems(opened.export(out, to, force=force, unfit=unfit))
        echo(f"{len(opened.answers()):,} answers written to {out}")
    if progress.left:
        echo(f"To go on: nearspan review {shlex.join(map(str, (model, *texts)))}")
