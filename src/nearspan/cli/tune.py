"""`nearspan tune`: the settings of a recipe that suit a corpus."""

from pathlib import Path
from typing import Annotated

import typer

from nearspan.cli import options
from nearspan.cli.terminal import name_options, terminal


def tune(
    recipe: options.RecipeName,
    train: options.TrainCorpus,
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
    vectors: options.Vectors = "",
    encoder: options.EncoderName = "",
    settings: options.Settings = None,
    seed: Annotated[int, typer.Option(help="All chance comes from it; every trial is trained with it.")] = 0,
    device: options.Device = "",
    resume: Annotated[bool, typer.Option("--resume", help="Go on with a tuning that was stopped.")] = False,
    synonyms: options.Synonyms = None,
    format: options.Format = None,
    columns: options.Columns = None,
) -> None:
    """Find the settings of a recipe that suit a corpus.

    The settings with the best development F1 are written as a recipe, best.toml in the folder.

    Example: nearspan tune instance --train train.conll --dev dev.conll --out tuned --trials 30
    --search training.learning_rate=1e-4..1e-2:log --search 'training.batch=8|16|32'
    """
    from nearspan import training
    from nearspan.formats.synonyms import read as read_synonyms

    chosen = options.load_recipe(recipe, settings, vectors, encoder)
    in_file = training.Space.of(space or {})
    with name_options({"space": "--search"}):
        searched = (in_file | training.Space.parse(search or [])).for_recipe(chosen)
    console = terminal(stderr=True)
    documents = [options.read_documents(paths, format, columns) for paths in (train, dev)]
    try:
        training.tune(
            chosen,
            *documents,
            space=searched,
            out=out,
            trials=trials,
            seed=seed,
            device=device,
            resume=resume,
            console=console,
            synonyms=read_synonyms(synonyms) if synonyms else None,
        )
    except KeyboardInterrupt:
        how = f"stopped; the same command with --resume goes on with the study in {out}"
        raise KeyboardInterrupt(how) from None
    console.print(f"try  nearspan train {out / 'best.toml'}  with the same corpora", markup=False, soft_wrap=True)
