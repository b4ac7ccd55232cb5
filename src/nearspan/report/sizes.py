"""The data-size curve: development F1 on shares of the training set (figure 2 of Ouchi et al., 2020)."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from fractions import Fraction

from nearspan.config import Recipe
from nearspan.document import Document, Entity
from nearspan.errors import ConfigError
from nearspan.report.trainings import Point, Trainings, say
from nearspan.segment import split

SIZES = (Fraction(1), Fraction(1, 2), Fraction(1, 4), Fraction(1, 8))
SMALLEST = Fraction(1, 1_000_000)
FEW = 64  # documents; fewer are cut into sentences before shares of them are drawn


def parse_sizes(text: str) -> tuple[Fraction, ...]:
    """Shares of the training set, the largest first.

    >>> [str(size) for size in parse_sizes("1/8, 1, 0.5")]
    ['1', '1/2', '1/8']
    >>> parse_sizes("none")
    ()
    """
    if text == "none":
        return ()
    try:
        sizes = {Fraction(part.strip()) for part in text.split(",")}
    except (ValueError, ZeroDivisionError):
        raise ConfigError(f"--sizes takes shares such as 1,1/2,1/4, or none, found {text!r}") from None
    if not all(SMALLEST <= size <= 1 for size in sizes):
        raise ConfigError(f"--sizes takes shares from 1/{1 / SMALLEST} to 1, found {text!r}")
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
        shifted = tuple(Entity(entity.span.shift(-start), entity.label) for entity in own)
        words = tuple((a - start, b - start) for a, b in sentence.words)
        parts.append(Document(sentence.text, shifted, f"{document.id}:{sentence.index}", words, ((0, end - start),)))
    return parts


def size_curve(
    recipes: Mapping[str, Recipe],
    documents: Sequence[Document],
    trainings: Trainings,
    *,
    sizes: Sequence[Fraction] = SIZES,
    seeds: int = 1,
) -> list[Point]:
    """Train each recipe on each share of the documents; `recipes` by the name that the curve gives them."""
    todo = [
        (name, recipe, size, some, seed)
        for name, recipe in recipes.items()
        for size, some in zip(sizes, subsets(documents, sizes, recipe.characters_as_words), strict=True)
        for seed in range(seeds)
    ]
    points = []
    for number, (name, recipe, size, some, seed) in enumerate(todo, start=1):
        say(trainings.console, f"data-size curve {number}/{len(todo)}: {name} on {size} of the data, seed {seed}")
        points.append(Point(name, float(size), seed, trainings.outcome(recipe, some, seed)))
    return points
