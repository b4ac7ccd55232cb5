"""`nearspan vectors`: word vectors from your own text."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from pydantic import ValidationError
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from nearspan.cli import options
from nearspan.cli.terminal import echo, terminal
from nearspan.document import Document
from nearspan.errors import ConfigError, UnclearFormatError
from nearspan.io.outputs import check_outputs


def vectors(
    corpus: Annotated[list[Path], typer.Argument(help="Training texts: corpora or plain .txt, none of a test set.")],
    out: Annotated[Path, typer.Option(help="The text file to write, for encoder.vectors.file.")],
    size: Annotated[int, typer.Option(help="Numbers in a vector.")] = 300,
    window: Annotated[int, typer.Option(help="Words to each side that count as near.")] = 10,
    least: Annotated[int, typer.Option(help="How often a word must occur to have one.")] = 2,
    epochs: Annotated[int, typer.Option(help="Passes over all pairs of near words.")] = 25,
    x_max: Annotated[float, typer.Option(help="Pairs with this weight and more count alike.")] = 10.0,
    lower: Annotated[bool, typer.Option("--lower", help="Learn words in lower case.")] = False,
    characters: Annotated[bool, typer.Option("--characters", help="Each character of raw text is a word.")] = False,
    seed: Annotated[int, typer.Option(help="All chance comes from it.")] = 0,
    format: options.Format = None,
    columns: options.Columns = None,
    force: options.Force = False,
) -> None:
    """Learn word vectors from the text of a corpus, by GloVe.

    Annotation is not looked at. Give training text alone: vectors for the words of a test set would make its scores
    better than those of new text.

    Example: nearspan vectors train.conll --out vectors.txt
    """
    from nearspan.encoders.glove import GloveSettings, learn_vectors

    try:
        settings = GloveSettings(size=size, window=window, least=least, epochs=epochs, x_max=x_max, lower=lower)
    except ValidationError as error:
        first = error.errors()[0]
        option = str(first["loc"][0]).replace("_", "-")
        raise ConfigError(f"--{option} {first['input']}: {first['msg']}") from error
    check_outputs([out], corpus, force=force)
    documents = [document for path in corpus for document in _documents(path, format, columns)]
    parts = (TextColumn("epoch {task.completed:.0f}"), BarColumn(), TextColumn("{task.fields[loss]}"))
    with Progress(*parts, TimeElapsedColumn(), console=terminal(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=epochs, loss="counting")

        def watch(epoch: int, loss: float) -> None:
            bar.update(task, completed=epoch, loss=f"loss {loss:.4f}")

        learned = learn_vectors(
            documents, out, settings=settings, characters=characters, seed=seed, watch=watch, force=force
        )
    words, last = len(learned.words), learned.losses[-1]
    echo(f"{words:,} vectors of {size} numbers written to {out} (loss {last:.4f})")


def _documents(path: Path, format: str | None, columns: str | None) -> Sequence[Document]:
    """A corpus, which may end in .txt too; only what has no format is plain text."""
    from nearspan.formats.plain_text import is_plain_text, read_plain_text

    try:
        return options.read_documents([path], format, columns)
    except UnclearFormatError:
        if columns is not None or not is_plain_text(path, format):
            raise
        return [read_plain_text(path)]
