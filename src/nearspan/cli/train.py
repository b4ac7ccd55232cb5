"""`nearspan train`: a recipe and a corpus to a model."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nearspan.cli import options
from nearspan.cli.terminal import terminal
from nearspan.document import Document
from nearspan.errors import ConfigError
from nearspan.recipes import names

if TYPE_CHECKING:
    from nearspan.model import Model

EXAMPLES, LONGEST = 50, 120  # documents and sentences that are looked at for an example, and its most characters


def train(
    out: Annotated[Path, typer.Option(help="Folder for the model, its checkpoint and metrics.")],
    recipe: Annotated[
        str,
        typer.Argument(
            help="A recipe's name (see `nearspan recipes`) or a TOML file; `start`, or that of --from, if not given.",
            autocompletion=lambda: names(),
        ),
    ] = "",
    train: Annotated[
        list[str] | None,
        typer.Option(
            "--train",
            help="Training corpus, any format; may be given several times. NAME=PATH: a corpus with labels of its own.",
        ),
    ] = None,
    from_model: Annotated[
        str | None,
        typer.Option(
            "--from", help="Begin with this model: its weights, its memory and all edits; --train may be left out."
        ),
    ] = None,
    replace_memory: Annotated[
        bool,
        typer.Option("--replace-memory", help="Of --from the weights alone: memory and labels are of --train."),
    ] = False,
    dev: Annotated[list[str] | None, typer.Option("--dev", help="Development corpus; its best epoch is kept.")] = None,
    test: Annotated[list[str] | None, typer.Option("--test", help="Test corpus, scored once at the end.")] = None,
    minutes: Annotated[
        float | None,
        typer.Option(
            min=0, help="Take as many epochs as fit; as the recipe says if not given, 10 for `start`; 0: all."
        ),
    ] = None,
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

    Without a recipe it is `start`: ten minutes, and a tenth of the training data is held out where no --dev is given.

    Example: nearspan train --train train.conll --out runs/mine

    With --from, training goes on with a model: what is new is learned, and its memory is rehearsed, so that nothing is
    forgotten. Without --train the edits of its memory are learned.

    Example: nearspan train --from runs/mine --train new.conll --out runs/better

    Example: nearspan train instance --train train.conll --dev dev.conll --out runs/mine --vectors glove.6B.100d.txt
    """
    from nearspan import training
    from nearspan.formats.synonyms import read as read_synonyms
    from nearspan.shares import end_together

    if not train and from_model is None:
        raise ConfigError("give --train, or --from to train the edits of a model's memory")
    start = None if from_model is None else options.local_model(from_model)
    chosen = options.override_recipe(training.starting_recipe(recipe, start), settings, vectors, encoder)
    console = terminal(stderr=True)
    documents = [options.read_corpora(paths, format, columns) for paths in (train, dev, test)]
    try:
        run = training.train(
            chosen,
            *documents,
            out=out,
            from_model=start,
            replace_memory=replace_memory,
            minutes=minutes,
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
        console.print(f"saved to {out}. What next:", markup=False, highlight=False, soft_wrap=True)
        corpus = Path((test or dev or ["CORPUS"])[0])
        for command in _next_commands(out, corpus, run.model, chain(*map(training.all_documents, reversed(documents)))):
            console.print(f"  nearspan {command}", markup=False, highlight=False, soft_wrap=True)
    end_together()


def _next_commands(out: Path, corpus: Path, model: Model, documents: Iterable[Document]) -> list[str]:
    """What to do with a new model: score it, question it on a sentence of the corpus, open the page."""
    folder = shlex.quote(str(out))
    text, entity = _example(model, documents)
    asked = f" --span {shlex.quote(entity)}" if model.classifies_given_spans else ""
    return [
        f"evaluate {folder} {shlex.quote(str(corpus))}",
        f"explain {folder} {shlex.quote(text)}{asked}",
        f"serve {folder}",
    ]


def _example(model: Model, documents: Iterable[Document]) -> tuple[str, str]:
    """The first short sentence with an entity, and the entity."""
    for document in islice(documents, EXAMPLES):
        for sentence in islice(model.split(document), EXAMPLES):
            if len(sentence.text) <= LONGEST:
                for entity in document.entities:
                    if sentence.start <= entity.start and entity.end <= sentence.end:
                        return " ".join(sentence.text.split()), entity.text
    return "some text", "text"
