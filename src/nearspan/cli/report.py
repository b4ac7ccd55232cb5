"""`nearspan report`: a model's scores, confusions and errors with their evidence as one page."""

from fractions import Fraction
from pathlib import Path
from typing import Annotated

import typer

from nearspan.cli import options
from nearspan.cli.terminal import echo, terminal
from nearspan.errors import ConfigError

SMALLEST = Fraction(1, 1_000_000)  # share of a training set


def report(
    model: options.ModelFolder,
    corpus: Annotated[list[Path], typer.Argument(help="Gold documents, any format.")],
    out: Annotated[Path, typer.Option(help="Folder for report.html and report.json.")],
    compare: Annotated[str | None, typer.Option(help="A second model, shown side by side.")] = None,
    papers: Annotated[
        bool,
        typer.Option(
            "--papers", help="Also write papers.html: the papers' tables and figures (needs the extra nearspan[viz])."
        ),
    ] = False,
    train: Annotated[
        list[Path] | None, typer.Option("--train", help="With --papers: training corpus of the curves (needs --dev).")
    ] = None,
    dev: Annotated[
        list[Path] | None, typer.Option("--dev", help="With --papers: development corpus of the curves.")
    ] = None,
    sizes: Annotated[
        str | None,
        typer.Option(
            help="With --papers and --train: the data-size curve's shares of the training set, 1,1/2,1/4,1/8 if not "
            "given; none: no such curve."
        ),
    ] = None,
    occurrences: Annotated[
        str,
        typer.Option(
            help="With --papers and --train: numbers of occurrences of a word, such as 100,300,500: F1 and time "
            "against them, for models that recall training words."
        ),
    ] = "",
    seeds: Annotated[int, typer.Option(min=1, help="With --papers: trainings for each point of a curve.")] = 1,
    encoder: Annotated[
        str,
        typer.Option(
            help="With --papers and --train: the pretrained encoder, a folder or a hub id, of models that have one."
        ),
    ] = "",
    device: options.Device = "",
    format: options.Format = None,
    columns: options.Columns = None,
    force: options.Force = False,
) -> None:
    """Write a page with a model's scores, confusions and errors.

    Each error comes with the training spans behind it.

    Example: nearspan report runs/mine test.conll --out report --compare runs/classifier
    """
    from nearspan.report import report as write_report
    from nearspan.report.papers import check_curves
    from nearspan.report.report import check_files

    shares, counts = parse_sizes(sizes), parse_occurrences(occurrences)
    check_curves(papers, bool(train), bool(dev), shares, counts)
    check_files(out, papers, [*corpus, *(train or ()), *(dev or ())], force)
    gold, training, development = (options.read_documents(paths, format, columns) for paths in (corpus, train, dev))
    result = write_report(
        options.local_model(model),
        gold,
        out=out,
        corpus=", ".join(path.name for path in corpus),
        compare=options.local_model(compare) if compare is not None else None,
        papers=papers,
        train=training,
        dev=development,
        sizes=shares,
        occurrences=counts,
        seeds=seeds,
        encoder=encoder,
        force=force,
        device=device,
        console=terminal(stderr=True),
    )
    echo(str(result.page))


def parse_sizes(text: str | None) -> tuple[Fraction, ...] | None:
    """Shares of the training set, the largest first; None where nothing was said.

    >>> [str(size) for size in parse_sizes("1/8, 1, 0.5")]
    ['1', '1/2', '1/8']
    >>> parse_sizes("none")
    ()
    """
    if text is None or text == "none":
        return None if text is None else ()
    try:
        sizes = {Fraction(part.strip()) for part in text.split(",")}
    except (ValueError, ZeroDivisionError):
        raise ConfigError(f"--sizes takes shares such as 1,1/2,1/4, or none, found {text!r}") from None
    if not all(SMALLEST <= size <= 1 for size in sizes):
        raise ConfigError(f"--sizes takes shares from 1/{1 / SMALLEST} to 1, found {text!r}")
    return tuple(sorted(sizes, reverse=True))


def parse_occurrences(text: str) -> tuple[int, ...]:
    """Numbers of occurrences, the smallest first; none for an empty text.

    >>> parse_occurrences("500, 100"), parse_occurrences("")
    ((100, 500), ())
    """
    if not text:
        return ()
    try:
        return tuple(sorted({int(part) for part in text.split(",")}))
    except ValueError:
        raise ConfigError(f"--occurrences takes numbers such as 100,300,500, found {text!r}") from None
