"""Curves of other trainings of a recipe: on shares of the training set (figure 2 of Ouchi et al., 2020), and with at
most T occurrences of a word to recall (figure 3 of Luo et al., 2020)."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from fractions import Fraction
from statistics import fmean

from nearspan.config import Recipe
from nearspan.document import Document, Entity
from nearspan.errors import ConfigError
from nearspan.report.papers.trainings import CurvePoint, Trainings
from nearspan.report.progress import say
from nearspan.segment import split

SIZES = (Fraction(1), Fraction(1, 2), Fraction(1, 4), Fraction(1, 8))
FEW = 64  # documents; fewer are cut into sentences before shares of them are drawn


def check_curves(
    papers: bool, train: bool, dev: bool, sizes: Sequence[Fraction] | None, occurrences: Sequence[int]
) -> None:
    """Refuse arguments of the curves that do not go together."""
    given = {"train": train, "dev": dev, "sizes": sizes is not None, "occurrences": bool(occurrences)}
    if not papers and any(given.values()):
        names = ", ".join(f"`{name}`" for name, present in given.items() if present)
        raise ConfigError(f"{names}: for the curves of the papers, which come with `papers`: add it")
    if train != dev:
        raise ConfigError("a curve needs both `train` and `dev`")
    if occurrences and min(occurrences) < 1:
        raise ConfigError(f"`occurrences` takes numbers above 0, found {min(occurrences)}")
    if (sizes or occurrences) and not train:
        raise ConfigError("a curve needs `train` and `dev`")
    if train and sizes is not None and not sizes and not occurrences:
        raise ConfigError("`train` and `dev` are for curves: give `sizes` or `occurrences`, or leave them out")


def subsets(documents: Sequence[Document], sizes: Sequence[Fraction], characters: bool = False) -> list[list[Document]]:
    """For each share some of the documents, the smaller inside the larger, always the same ones.

    >>> half, quarter = subsets([Document(str(n)) for n in range(100)], [Fraction(1, 2), Fraction(1, 4)])
    >>> len(half), len(quarter), set(quarter) <= set(half)
    (50, 25, True)
    """
    few = len(documents) < FEW
    units = [part for document in documents for part in cut(document, characters)] if few else list(documents)
    order = random.Random(0).sample(range(len(units)), len(units))
    return [
        list(documents) if size == 1 else [units[i] for i in sorted(order[: math.ceil(size * len(units))])]
        for size in sizes
    ]


def cut(document: Document, characters: bool = False) -> list[Document]:
    """A document as one document for each sentence; an entity that crosses sentences is in none of them.

    >>> document = Document("Ann left. Bo came.", (Entity.of(0, 3, "PER"), Entity.of(10, 12, "PER")))
    >>> [(part.text, part.entities[0].start) for part in cut(document)]
    [('Ann left.', 0), ('Bo came.', 0)]
    """
    parts = []
    for sentence in split(document, characters=characters):
        start, end = sentence.start, sentence.end
        inside = (entity for entity in document.entities if start <= entity.start and entity.end <= end)
        entities = tuple(Entity(entity.span.shift(-start), entity.label) for entity in inside)
        words = tuple((a - start, b - start) for a, b in sentence.words)
        parts.append(Document(sentence.text, entities, f"{document.id}:{sentence.index}", words, ((0, end - start),)))
    return parts


def size_curve(
    recipes: Mapping[str, Recipe],
    documents: Sequence[Document],
    trainings: Trainings,
    *,
    sizes: Sequence[Fraction] = SIZES,
    seeds: int = 1,
) -> list[CurvePoint]:
    """Train each recipe on each share of the documents; `recipes` by the name that the curve gives them."""
    todo = [
        (name, recipe, size, subset, seed)
        for name, recipe in recipes.items()
        for size, subset in zip(sizes, subsets(documents, sizes, recipe.characters_as_words), strict=True)
        for seed in range(seeds)
    ]
    points = []
    for number, (name, recipe, size, subset, seed) in enumerate(todo, start=1):
        say(trainings.console, f"data-size curve {number}/{len(todo)}: {name} on {size} of the data, seed {seed}")
        points.append(CurvePoint(name, float(size), seed, trainings.outcome(recipe, subset, seed)))
    return points


def with_word_memory(recipes: Mapping[str, Recipe]) -> dict[str, Recipe]:
    """The recipes that recall training words; an error where there is none."""
    recalling = {name: recipe for name, recipe in recipes.items() if recipe.encoder.word_memory is not None}
    if not recalling:
        raise ConfigError(
            "a curve over the occurrences of a word needs a model that recalls training words (encoder.word_memory), "
            "and this report has none: leave the occurrences out"
        )
    return recalling


def occurrence_curve(
    recipes: Mapping[str, Recipe],
    documents: Sequence[Document],
    trainings: Trainings,
    *,
    most: Sequence[int],
    seeds: int = 1,
) -> list[CurvePoint]:
    """Train each recipe without its memory of training words, T = 0, and with at most so many occurrences of a word."""
    todo = [
        (
            name,
            recipe.override([f"encoder.word_memory.most={count}" if count else "encoder.word_memory=none"]),
            count,
            seed,
        )
        for name, recipe in recipes.items()
        for seed in range(seeds)
        for count in (0, *most)
    ]
    points = []
    for number, (name, recipe, count, seed) in enumerate(todo, start=1):
        what = f"with at most {count:,} occurrences of a word" if count else "without its memory of words"
        say(trainings.console, f"memory curve {number}/{len(todo)}: {name} {what}, seed {seed}")
        points.append(CurvePoint(name, count, seed, trainings.outcome(recipe, documents, seed)))
    return points


def epoch_times(points: Sequence[CurvePoint], name: str) -> dict[float, list[float]]:
    """By T, the time of an epoch relative to one without the memory; one for each seed.

    The mean over all seeds is 1, so that T = 0 shows how much times differ by themselves.
    """
    measured = [(point.at, point.outcome.seconds / point.outcome.epochs) for point in points if point.name == name]
    base = fmean(seconds for count, seconds in measured if not count)
    times: dict[float, list[float]] = {}
    for count, seconds in measured:
        times.setdefault(count, []).append(seconds / base)
    return times
