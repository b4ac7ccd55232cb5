"""The options that several commands share, and the model that they ask for."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nearspan.recipes import names

if TYPE_CHECKING:
    from nearspan.model import Model

ModelFolder = Annotated[Path, typer.Argument(help="A model folder.")]

RecipeName = Annotated[
    str,
    typer.Argument(help="A recipe's name (see `nearspan recipes`) or a TOML file.", autocompletion=lambda: names()),
]

TrainCorpus = Annotated[
    list[Path], typer.Option("--train", help="Training corpus, any format; may be given several times.")
]

Device = Annotated[str, typer.Option("--device", help="cpu, cuda or cuda:1; a GPU is taken where there is one.")]

Format = Annotated[
    str | None,
    typer.Option("--format", help="conll, jsonl, brat, pubtator or indexed; found from the content if not given."),
]

Columns = Annotated[
    str | None,
    typer.Option("--columns", help="The label columns of a CoNLL file, from 0 or from the end: 1,2 or -1."),
]

Search = Annotated[
    str,
    typer.Option("--search", help="How the instance head uses its memory: `nearest` sentences, or the `whole` of it."),
]

Interpolate = Annotated[
    float | None,
    typer.Option(
        "--interpolate",
        min=0,
        max=1,
        help="The memory's weight (lambda) beside a head with weights of its own; as saved if not given.",
    ),
]

Synonyms = Annotated[
    list[Path] | None,
    typer.Option(
        "--synonyms", help="Synonyms to learn to tell (joint-ib): a file, or 'sample'; may be given several times."
    ),
]

Settings = Annotated[
    list[str] | None,
    typer.Option("--set", help="Change a setting: part.key=value; may be given several times."),
]

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


def load_model(folder: Path, device: str, search: str, interpolate: float | None) -> Model:
    """The model of a folder, using its memory as the options say."""
    from nearspan.model import Model

    return apply_options(Model.load(folder, device), search, interpolate)


def apply_options(model: Model, search: str, interpolate: float | None) -> Model:
    """A model that uses its memory as the options say."""
    model = model.set_search(search) if search else model
    return model if interpolate is None else model.interpolate(interpolate)
