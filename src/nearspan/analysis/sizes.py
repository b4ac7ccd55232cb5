"""The data-size curve: development F1 on shares of the training set (figure 2 of Ouchi et al., 2020)."""

from __future__ import annotations

import hashlib
import json
import math
import random
import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import Path

from rich.console import Console

from nearspan.corpora.atomic import write_file
from nearspan.document import Document, Entity
from nearspan.errors import ConfigError, NearspanError
from nearspan.evaluation import Evaluation
from nearspan.recipes import Recipe
from nearspan.text import split
from nearspan.training import CHECKPOINT, Watch, train
from nearspan.training.data import digest

SIZES = (Fraction(1), Fraction(1, 2), Fraction(1, 4), Fraction(1, 8))
FOLDER = "curve"
FEW = 64  # documents; fewer are cut into sentences before shares of them are drawn


@dataclass(frozen=True, slots=True)
class Point:
    """One training on a share of the data."""

    name: str  # of the model
    share: float
    sentences: int
    seed: int
    f1: float
    precision: float
    recall: float


def parse_sizes(text: str) -> tuple[Fraction, ...]:
    """Shares of the training set, the largest first.

    >>> [str(size) for size in parse_sizes("1/8, 1, 0.5")]
    ['1', '1/2', '1/8']
    """
    try:
        sizes = {Fraction(part.strip()) for part in text.split(",")}
    except (ValueError, ZeroDivisionError):
        raise ConfigError(f"--sizes takes shares such as 1,1/2,1/4, found {text!r}") from None
    if not all(0 < size <= 1 for size in sizes):
        raise ConfigError(f"--sizes takes shares above 0 and up to 1, found {text!r}")
    return tuple(sorted(sizes, reverse=True))


def subsets(documents: Sequence[Document], sizes: Sequence[Fraction], characters: bool = False) -> list[list[Document]]:
    """For each share some of the documents, the smaller inside the larger, always the same ones.

    >>> half, quarter = subsets([Document(str(n)) for n in range(100)], [Fraction(1, 2), Fraction(1, 4)])
    >>> len(half), len(quarter), set(quarter) <= set(half)
    (50, 25, True)
    """
    units = list(documents) if len(documents) >= FEW else [one for each in documents for one in cut(each, characters)]
    order = random.Random(0).sample(range(len(units)), len(units))
    return [
        list(documents) if size == 1 else [units[i] for i in sorted(order[: math.ceil(size * len(units))])]
        for size in sizes
    ]


def cut(document: Document, characters: bool = False) -> list[Document]:
    """A document as one document for each sentence; an entity that crosses sentences is in none of them.

    >>> whole = Document("Ann left. Bo came.", (Entity.of(0, 3, "PER"), Entity.of(10, 12, "PER")))
    >>> [(part.text, part.entities[0].start) for part in cut(whole)]
    [('Ann left.', 0), ('Bo came.', 0)]
    """
    parts = []
    for sentence in split(document, characters=characters):
        start, end = sentence.start, sentence.end
        own = (entity for entity in document.entities if start <= entity.start and entity.end <= end)
        shifted = tuple(Entity(entity.span.shifted(-start), entity.label) for entity in own)
        words = tuple((a - start, b - start) for a, b in sentence.words)
        parts.append(Document(sentence.text, shifted, f"{document.id}:{sentence.index}", words, ((0, end - start),)))
    return parts


def curve(
    recipes: dict[str, Recipe],
    documents: Sequence[Document],
    dev: Sequence[Document],
    out: Path,
    *,
    sizes: Sequence[Fraction] = SIZES,
    seeds: int = 1,
    device: str = "",
    console: Console | None = None,
) -> list[Point]:
    """Train each recipe on each share of the documents; `recipes` by the name that the curve gives them.

    Points are kept in `out/curve` as they are done. Called again after a stop, those are read from there
    and a training that was under way goes on from its checkpoint.
    """
    todo = [
        (name, recipe, size, some, seed)
        for name, recipe in recipes.items()
        for size, some in zip(sizes, subsets(documents, sizes, recipe.characters_as_words), strict=True)
        for seed in range(seeds)
    ]
    folder = out / FOLDER
    points = []
    for number, (name, recipe, size, some, seed) in enumerate(todo, start=1):
        if console is not None:
            what = f"data-size curve {number}/{len(todo)}: {name} on {size} of the data, seed {seed}"
            console.print(what, style="dim", markup=False, highlight=False)
        points.append(_point(name, recipe, size, some, dev, seed, folder, device, console))
    return points


def _point(
    name: str,
    recipe: Recipe,
    size: Fraction,
    documents: Sequence[Document],
    dev: Sequence[Document],
    seed: int,
    folder: Path,
    device: str,
    console: Console | None,
) -> Point:
    """A point from the folder, or else from a training."""
    what = f"{recipe.model_dump_json()}\0{digest(documents)}\0{digest(dev)}\0{seed}"
    key = hashlib.sha256(what.encode()).hexdigest()[:16]
    kept, run_folder = folder / f"{key}.json", folder / key
    try:
        found = json.loads(kept.read_text(encoding="utf-8"))
        return Point(**{**found, "name": name, "share": float(size)})
    except FileNotFoundError:
        pass
    except (OSError, ValueError, TypeError) as error:
        raise NearspanError(f"{kept} cannot be read: {error}; delete it to train this point again") from error
    resume = (run_folder / CHECKPOINT).is_file()
    run = train(recipe, documents, dev, out=run_folder, seed=seed, device=device, resume=resume, watch=Watch(console))
    if not isinstance(run.dev, Evaluation):
        raise ConfigError("the data-size curve needs development documents and a recipe whose task is recognition")
    scores = run.dev.scores
    sentences = len(run.model.memory.sentences) if run.model.memory is not None else 0
    point = Point(name, float(size), sentences, seed, scores.f1, scores.precision, scores.recall)
    write_file(kept, [json.dumps(asdict(point))])
    shutil.rmtree(run_folder, ignore_errors=True)  # the number is kept; a model for each point would fill the disk
    return point
