"""The options that several commands share, and the model and the documents that they ask for."""

from __future__ import annotations

import json
import logging
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nearspan.document import Document
from nearspan.errors import ConfigError, CorpusError
from nearspan.io.paths import display_path
from nearspan.recipes import names

if TYPE_CHECKING:
    from nearspan.config import Recipe
    from nearspan.formats import Problem
    from nearspan.formats.flatten import Unfit
    from nearspan.model import Model

logger = logging.getLogger(__name__)

SHOWN = 5  # problems of a corpus, before the rest is only counted

ModelFolder = Annotated[
    str, typer.Argument(help="A model folder, or the id of a model on the Hugging Face hub; ./user/model is a folder.")
]
RecipeName = Annotated[
    str, typer.Argument(help="A recipe's name (see `nearspan recipes`) or a TOML file.", autocompletion=lambda: names())
]
TrainCorpus = Annotated[
    list[Path], typer.Option("--train", help="Training corpus, any format; may be given several times.")
]
Device = Annotated[str, typer.Option("--device", help="cpu, cuda or cuda:1; a GPU is taken where there is one.")]
Precision = Annotated[
    str,
    typer.Option(
        "--precision",
        help="What a pretrained encoder computes in: float32, bf16 or int8; auto is the quickest way to what "
        "float32 gives.",
    ),
]
Runtime = Annotated[
    str,
    typer.Option(
        "--runtime",
        help="What computes the encoder and the span scores: torch, or onnx where `nearspan export --onnx` wrote them.",
    ),
]
Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        help="Found from the content if not given. conll, jsonl, brat, pubtator, indexed, "
        "datasets, parquet, ner-tags, "
        "spacy, spacy-json, "
        "prodigy, label-studio, label-studio-min, argilla, doccano, "
        "gliner, dygie, langextract, "
        "bioc, bioc-json, cas, cas-json, webanno, conllu, csv, tsv.",
    ),
]
Columns = Annotated[
    str | None, typer.Option("--columns", help="The label columns of a CoNLL file, from 0 or from the end: 1,2 or -1.")
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
Thresholds = Annotated[
    list[str] | None,
    typer.Option(
        "--threshold",
        help="Leave out entities with lower scores: 0.7, or by label PERSON=0.8; may be given several times. As saved "
        "if not given; 0 leaves out none.",
    ),
]
Workers = Annotated[
    int | None,
    typer.Option(
        "--workers", min=1, help="Processes that work, one core each; all cores if not given and worth their start."
    ),
]
Synonyms = Annotated[
    list[Path] | None,
    typer.Option(
        "--synonyms", help="Synonyms to learn to tell (joint-ib): a file, or 'sample'; may be given several times."
    ),
]
Settings = Annotated[
    list[str] | None, typer.Option("--set", help="Change a setting: part.key=value; may be given several times.")
]
Vectors = Annotated[str, typer.Option("--vectors", help="Word vectors, e.g. glove.6B.100d.txt: encoder.vectors.file.")]
EncoderName = Annotated[
    str, typer.Option("--encoder", help="A pretrained encoder: minilm, a folder or a hub id; encoder.transformer.name.")
]
Force = Annotated[bool, typer.Option("--force", help="Write over a file that is there.")]
Drop = Annotated[bool, typer.Option("--drop", help="Leave out discontinuous entities where the format has none.")]
Flatten = Annotated[
    bool,
    typer.Option(
        "--flatten", help="Keep the widest of entities that share words, and make discontinuous ones contiguous."
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


def load_recipe(name: str, settings: Sequence[str] | None, vectors: str, encoder: str) -> Recipe:
    """The recipe that the options ask for."""
    from nearspan import config

    return override_recipe(config.load(name), settings, vectors, encoder)


def override_recipe(recipe: Recipe, settings: Sequence[str] | None, vectors: str, encoder: str) -> Recipe:
    """A recipe with the settings of the options."""
    files = {"encoder.vectors.file": vectors, "encoder.transformer.name": encoder}
    named = [f"{key}={json.dumps(value)}" for key, value in files.items() if value]
    return recipe.override([*named, *(settings or ())])


def local_model(model: str) -> Path:
    """The folder of the model that a command was given, which may be one of the hub."""
    from nearspan.integrations.huggingface import local_folder

    return local_folder(model)


def load_model(
    name: str,
    device: str,
    search: str,
    interpolate: float | None,
    thresholds: Sequence[str] | None = None,
    precision: str = "auto",
    runtime: str = "torch",
) -> Model:
    """The model of a name, using its memory and leaving out entities as the options say."""
    import nearspan

    model = nearspan.load(local_model(name), device, precision=precision, runtime=runtime)
    logger.info("loaded %r to %s", model, model.device)
    return apply_to(model, search, interpolate, thresholds)


def apply_to(model: Model, search: str, interpolate: float | None, thresholds: Sequence[str] | None = None) -> Model:
    """A model that uses its memory and leaves out entities as the options say."""
    model = model.set_search(search) if search else model
    model = model if interpolate is None else model.interpolate(interpolate)
    return model.set_threshold(parse_thresholds(thresholds, model.labels[1:])) if thresholds else model


def parse_thresholds(thresholds: Sequence[str], labels: Sequence[str]) -> dict[str, float]:
    """The values of --threshold by label; a label's own counts before that of all.

    >>> parse_thresholds(["PER=0.8", "0.5"], ["PER", "LOC"])
    {'PER': 0.8, 'LOC': 0.5}
    """
    by_label: dict[str, float] = {}
    for text in thresholds:
        label, _, number = text.rpartition("=")
        try:
            by_label[label] = float(number)
        except ValueError:
            raise ConfigError(f"--threshold takes a score such as 0.7 or PERSON=0.8, found {text!r}") from None
    overall = by_label.pop("", None)
    return by_label if overall is None else dict.fromkeys(labels, overall) | by_label


def read_documents(
    paths: Sequence[Path] | None, format: str | None = None, columns: str | None = None
) -> tuple[Document, ...]:
    """The documents of files; what is wrong in them is shown as warnings."""
    return tuple(stream_documents(paths, format, columns)) if paths else ()


def stream_documents(
    paths: Sequence[Path], format: str | None = None, columns: str | None = None
) -> Iterator[Document]:
    """The same one after another; the warnings come at the end."""
    from nearspan.formats import stream

    documents = stream(list(paths), format, columns=label_columns(columns))
    yield from documents
    logger.info("read %s documents from %s", f"{documents.count:,}", ", ".join(map(display_path, paths)))
    warn_of_problems(documents.problems, f": see  nearspan check {shlex.join(map(str, paths))}")


def read_texts(paths: Sequence[Path], format: str | None = None, columns: str | None = None) -> list[Document]:
    """The documents of files, of which those of plain text are one each."""
    from nearspan.formats.plain_text import is_plain_text, read_plain_text

    documents: list[Document] = []
    for path in paths:
        documents += [read_plain_text(path)] if is_plain_text(path, format) else read_documents([path], format, columns)
    return documents


def read_corpora(
    places: Sequence[str] | None, format: str | None = None, columns: str | None = None
) -> dict[str, Sequence[Document]]:
    """The documents of files by the corpus that NAME=PATH says they are of; by "" where none says so."""
    named = [("", place) if Path(place).exists() else place.rpartition("=")[::2] for place in places or ()]
    names = list(dict.fromkeys(name for name, _ in named))
    if "" in names and len(names) > 1:
        raise ConfigError("some corpora are named (NAME=PATH) and others are not: name all of them, or none")
    corpora = {name: [Path(path) for other, path in named if other == name] for name in names}
    return {name: read_documents(paths, format, columns) for name, paths in corpora.items()}


def warn_of_problems(problems: Sequence[Problem], more: str = "") -> None:
    """Show the first few problems, and how many there are beside them."""
    for problem in problems[:SHOWN]:
        logger.warning("%s", problem)
    if len(problems) > SHOWN:
        logger.warning("and %s more problems%s", f"{len(problems) - SHOWN:,}", more)


def unfit(drop: bool, flatten: bool) -> Unfit:
    """What --drop and --flatten ask for."""
    if drop and flatten:
        raise ConfigError("--drop and --flatten exclude each other: entities are left out, or made flat")
    return "drop" if drop else "flatten" if flatten else "refuse"


def label_columns(columns: str | None) -> list[int] | None:
    """The value of --columns as numbers.

    >>> label_columns("1,-1")
    [1, -1]
    """
    if columns is None:
        return None
    try:
        return [int(column) for column in columns.split(",")]
    except ValueError:
        raise CorpusError(f"--columns takes numbers such as 1,2 or -1, found '{columns}'") from None
