"""`nearspan train`: a recipe and a corpus to a model."""

from pathlib import Path
from typing import Annotated

import typer

from nearspan.cli import options
from nearspan.cli.terminal import terminal


def train(
    recipe: options.RecipeName,
    train: options.TrainCorpus,
    out: Annotated[Path, typer.Option(help="Folder for the model, its checkpoint and metrics.")],
    dev: Annotated[list[Path] | None, typer.Option("--dev", help="Development corpus; its best epoch is kept.")] = None,
    test: Annotated[list[Path] | None, typer.Option("--test", help="Test corpus, scored once at the end.")] = None,
    vectors: options.Vectors = "",
    encoder: options.EncoderName = "",
    settings: options.Settings = None,
    seed: Annotated[int, typer.Option(help="All chance comes from it.")] = 0,
    device: options.Device = "",
    resume: Annotated[bool, typer.Option("--resume", help="Go on with a run that was stopped.")] = False,
    track: Annotated[
        list[str] | None,
        typer.Option(help="Send the metrics to tensorboard, wandb or mlflow; may be given several times."),
    ] = None,
    synonyms: options.Synonyms = None,
    format: options.Format = None,
    columns: options.Columns = None,
) -> None:
    """Train a recipe and save the model with the best development F1.

    Example: nearspan train instance --train train.conll --dev dev.conll --out runs/mine --vectors glove.6B.100d.txt
    """
    from nearspan import training
    from nearspan.formats.synonyms import read as read_synonyms

    chosen = options.load_recipe(recipe, settings, vectors, encoder)
    console = terminal(stderr=True)
    documents = [options.read_documents(paths, format, columns) for paths in (train, dev, test)]
    try:
        run = training.train(
            chosen,
            *documents,
            out=out,
            seed=seed,
            device=device,
            resume=resume,
            callbacks=[training.ProgressBar(console)],
            track=track or (),
            synonyms=read_synonyms(synonyms) if synonyms else None,
        )
    except KeyboardInterrupt:
        if (out / training.CHECKPOINT).exists():
            how = f"stopped; the same command with --resume goes on from the checkpoint in {out}"
        else:
            how = "stopped before the first checkpoint; the same command without --resume begins anew"
        raise KeyboardInterrupt(how) from None
    if run.main:
        command = f"explain {out} 'some text'{' --span text' if run.model.classifies_given_spans else ''}"
        console.print(f"saved to {out}: try  nearspan {command}", markup=False, soft_wrap=True)
