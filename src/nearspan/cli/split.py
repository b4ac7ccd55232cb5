"""`nearspan split`: a corpus as training, development and test data."""

from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

from nearspan.cli import options
from nearspan.cli.terminal import echo, name_options, number_table, terminal
from nearspan.errors import ConfigError
from nearspan.formats import Corpus, known_formats, read, write
from nearspan.formats.files import writable_format
from nearspan.formats.split import PARTS, Unit
from nearspan.formats.split import split as divide
from nearspan.io.outputs import check_outputs
from nearspan.segment import split as split_sentences


def split(
    source: Annotated[Path, typer.Argument(metavar="SRC", help="A file, or a folder of brat documents.")],
    parts: Annotated[
        list[str] | None,
        typer.Argument(
            help="The files to write with the share or the number of documents in each: train=0.8 dev.jsonl=200. One "
            "without a size takes the rest. [default: train=0.8 dev=0.1 test=0.1]",
            metavar="[FILE=SIZE]...",
            show_default=False,
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="What chance begins with; the same seed gives the same parts.")] = 0,
    by: Annotated[
        Unit | None,
        typer.Option(help="What is kept whole; documents if not given, unless there are fewer than ten."),
    ] = None,
    format: options.Format = None,
    columns: options.Columns = None,
    force: options.Force = False,
) -> None:
    """Divide a corpus into training, development and test data.

    Each part has each label as often as its size lets expect, rare ones included. A file whose name has no ending gets
    SRC's, others the format of their ending.

    Example: nearspan split corpus.conll data/train=0.8 data/dev=0.1 data/test=0.1
    """
    sizes = dict(map(_size, parts)) if parts else dict(PARTS)
    corpus = read(source, format, columns=options.label_columns(columns))
    targets = {name: _target(name, source, corpus) for name in sizes}
    check_outputs([path for path, _ in targets.values()], [source], force=force)
    for path, to in targets.values():
        writable_format(path, to)
    with name_options({"parts": "the parts"}):
        divided = divide(corpus, sizes, seed=seed, by=by)
    for problem in corpus.problems:
        echo(str(problem), err=True)
    for name, part in divided.items():
        path, to = targets[name]
        options.warn_of_problems(write(part, path, to, force=force))
    _print({str(targets[name][0]): part for name, part in divided.items()})


def _size(part: str) -> tuple[str, float | None]:
    """The name and the size of a part as it is given.

    >>> _size("train=0.8"), _size("rest.jsonl")
    (('train', 0.8), ('rest.jsonl', None))
    """
    name, equals, size = part.rpartition("=")
    if not equals:
        return part, None
    try:
        return name, float(size)
    except ValueError:
        raise ConfigError(f"{part!r} is no part: give FILE=SIZE, such as train=0.8 or dev=200") from None


def _target(name: str, source: Path, corpus: Corpus) -> tuple[Path, str | None]:
    """Where a part is written, and in which format if its own ending does not say."""
    path = Path(name)
    if path.suffix:
        return path, None
    ending = "" if known_formats()[corpus.format].folder else source.suffix
    return path.with_name(path.name + ending), corpus.format


def _print(parts: dict[str, Corpus]) -> None:
    """How many documents, sentences, entities and labels each part has."""
    counts = [Counter(entity.label for document in part for entity in document.entities) for part in parts.values()]
    table = number_table("", *parts, box=None, pad_edge=False)
    table.add_row("documents", *(f"{len(part):,}" for part in parts.values()))
    sentences = (sum(len(split_sentences(document)) for document in part) for part in parts.values())
    table.add_row("sentences", *(f"{count:,}" for count in sentences))
    table.add_row("entities", *(f"{part.entity_count:,}" for part in parts.values()))
    total = sum(counts, Counter[str]())
    for label, _ in total.most_common():
        table.add_row(label, *(f"{count[label]:,}" for count in counts))
    terminal().print(table, markup=False, highlight=False)
    if absent := [label for label in total if not all(count[label] for count in counts)]:
        echo(f"not in every part: {', '.join(absent)}")
