"""`nearspan train`: a recipe and a corpus to a model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nearspan import config, training
from nearspan.cli.corpus import ColumnsOption, FormatOption, read_documents
from nearspan.cli.terminal import terminal
from nearspan.formats import synonyms as names
from nearspan.io.model_folder import CHECKPOINT

Device = Annotated[str, typer.Option(help="cpu, cuda or cuda:1; a GPU is taken where there is one.")]

Synonyms = Annotated[
    list[Path] | None,
    typer.Option(help="Synonyms to learn to tell (joint-ib): a file, or 'sample'; may be given several times."),
]


def train(
    recipe: Annotated[str, typer.Argument(help="A recipe's name (see `nearspan recipes`) or a TOML file.")],
    train: Annotated[
        list[Path], typer.Option("--train", help="Training corpus, any format; may be given several times.")
    ],
    out: Annotated[Path, typer.Option(help="Folder for the model, its checkpoint and metrics.")],
    dev: Annotated[list[Path] | None, typer.Option("--dev", help="Development corpus; its best epoch is kept.")] = None,
    test: Annotated[list[Path] | None, typer.Option("--test", help="Test corpus, scored once at the end.")] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", help="Change a setting: part.key=value; may be given several times."),
    ] = None,
    seed: Annotated[int, typer.Option(help="All chance comes from it.")] = 0,
    device: Device = "",
    resume: Annotated[bool, typer.Option("--resume", help="Go on with a run that was stopped.")] = False,
    track: Annotated[
        list[str] | None,
        typer.Option(help="Send the metrics to tensorboard, wandb or mlflow; may be given several times."),
    ] = None,
    synonyms: Synonyms = None,
    format: FormatOption = None,
    columns: ColumnsOption = None,
) -> None:
    """Train a recipe and save the model with the best development F1.

    Example: nearspan train instance --train train.conll --dev dev.conll --out runs/mine
    --set encoder.vectors.file=glove.6B.100d.txt
    """
    chosen = config.load(recipe).override(settings or [])
    console = terminal(stderr=True)
    documents = [read_documents(paths or [], format, console, columns) for paths in (train, dev, test)]
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
            synonyms=names.read(synonyms) if synonyms else None,
        )
    except KeyboardInterrupt:
        console.print(_stopped(out), markup=False)
        raise typer.Exit(130) from None
    if run.main:
        asked = f"explain {out} 'some text'{' --span text' if run.model.classifies_given_spans else ''}"
        console.print(f"saved to {out}: try  nearspan {asked}", markup=False)


def _stopped(out: Path) -> str:
    if (out / CHECKPOINT).exists():
        return f"stopped; the same command with --resume goes on from the checkpoint in {out}"
    return "stopped before the first checkpoint; the same command without --resume begins anew"
