"""Development F1 and training time against T, the most occurrences of a word that a model recalls.

Figure 3 of Luo et al., 2020. A model without the memory stands at T = 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean

from nearspan.config import Recipe
from nearspan.document import Document
from nearspan.errors import ConfigError
from nearspan.report.trainings import Point, Trainings, say


def parse_occurrences(text: str) -> tuple[int, ...]:
    """Numbers of occurrences, the smallest first; none for an empty text.

    >>> parse_occurrences("500, 100"), parse_occurrences("")
    ((100, 500), ())
    """
    if not text:
        return ()
    try:
        found = {int(part) for part in text.split(",")}
    except ValueError:
        raise ConfigError(f"--occurrences takes numbers such as 100,300,500, found {text!r}") from None
    return tuple(sorted(found))


def recalling(recipes: Mapping[str, Recipe]) -> dict[str, Recipe]:
    """Those with a memory of training words."""
    found = {name: recipe for name, recipe in recipes.items() if recipe.encoder.word_memory is not None}
    if not found:
        raise ConfigError(
            "a curve over the occurrences of a word needs a model that recalls training words (encoder.word_memory); "
            "leave --occurrences out"
        )
    return found


def occurrence_curve(
    recipes: Mapping[str, Recipe],
    documents: Sequence[Document],
    trainings: Trainings,
    *,
    most: Sequence[int],
    seeds: int = 1,
) -> list[Point]:
    """Train each recipe without its memory of training words, and with at most so many occurrences of a word."""
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
        points.append(Point(name, count, seed, trainings.outcome(recipe, documents, seed)))
    return points


def proportions(points: Sequence[Point], name: str) -> dict[float, list[float]]:
    """By T, the time of an epoch in parts of what it takes without the memory; one for each seed.

    The mean over all seeds is the whole, so that T = 0 shows how much times differ by themselves.
    """
    own = [(point.at, point.outcome.seconds / point.outcome.epochs) for point in points if point.name == name]
    base = fmean(seconds for count, seconds in own if not count)
    found: dict[float, list[float]] = {}
    for count, seconds in own:
        found.setdefault(count, []).append(seconds / base)
    return found
