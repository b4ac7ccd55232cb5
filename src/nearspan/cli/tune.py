"""`nearspan tune`: the settings of a recipe that suit a corpus."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nearspan import config, training
from nearspan.cli.corpus import ColumnsOption, FormatOption, read_documents
from nearspan.cli.terminal import terminal
from nearspan.cli.train import Device, Synonyms
from nearspan.formats import synonyms as names


def tune(
    recipe: Annotated[str, typer.Argument(help="A recipe's name (see `nearspan recipes`) or a TOML file.")],
    train: Annotated[
        list[Path], typer.Option("--train", help="Training corpus, any format; may be given several times.")
    ],
    dev: Annotated[list[Path], typer.Option("--dev", help="Development corpus; the trials are scored on it.")],
    out: Annotated[Path, typer.Option(help="Folder for best.toml, trials.jsonl and the study.")],
    search: Annotated[
        list[str] | None,
        typer.Option(
            "--search",
            help="What to try: part.key=LOW..HIGH, LOW..HIGH:log, LOW..HIGH:STEP or a|b|c; may be given several times.",
        ),
    ] = None,
    space: Annotated[Path | None, typer.Option(help="A TOML file of what to try; --search goes before it.")] = None,
    trials: Annotated[int, typer.Option(min=1, help="Trials in all, with those before a --resume.")] = 20,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", help="Change a setting for all trials: part.key=value; may be given several times."),
    ] = None,
    seed: Annotated[int, typer.Option(help="All chance comes from it; every trial is trained with it.")] = 0,
    device: Device = "",
    resume: Annotated[bool, typer.Option("--resume", help="Go on with a tuning that was stopped.")] = False,
    synonyms: Synonyms = None,
    format: FormatOption = None,
    columns: ColumnsOption = None,
) -> None:
    """Try settings of a recipe and write those with the best development F1 as a recipe, DIR/best.toml.

    Example: nearspan tune instance --train train.conll --dev dev.conll --out tuned --trials 30
    --search training.learning_rate=1e-4..1e-2:log --search 'training.batch=8|16|32'
    """
    chosen = config.load(recipe).override(settings or [])
    wanted = training.Space.read(space) if space is not None else training.Space(())
    wanted = (wanted | training.Space.parse(search or [])).checked(chosen)
    console = terminal(stderr=True)
    documents = [read_documents(paths, format, console, columns) for paths in (train, dev)]
    try:
        training.tune(
            chosen,
            *documents,
            space=wanted,
            out=out,
            trials=trials,
            seed=seed,
            device=device,
            resume=resume,
            console=console,
            synonyms=names.read(synonyms) if synonyms else None,
        )
    except KeyboardInterrupt:
        stopped = f"stopped; the same command with --resume goes on with the study in {out}"
        console.print(stopped, markup=False, soft_wrap=True)
        raise typer.Exit(130) from None
    console.print(f"try  nearspan train {out / 'best.toml'}  with the same corpora", markup=False, soft_wrap=True)
