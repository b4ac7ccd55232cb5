"""Curves of other trainings of a recipe: on shares of the training set (figure 2 of Ouchi et al., 2020), and with at
most T occurrences of a word to recall (figure 3 of Luo et al., 2020); what each training scores, and their pictures."""

import hashlib
import json
import math
import random
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import Path
from statistics import fmean
from typing import Any

from rich.console import Console

from nearspan.config import Recipe
from nearspan.device import usable_device
from nearspan.document import Document, Entity
from nearspan.errors import ConfigError, NearspanError
from nearspan.io.atomic import write_file
from nearspan.report.papers.figures import Series, lines, mean_and_deviation
from nearspan.report.progress import say
from nearspan.segment import split
from nearspan.training import CHECKPOINT, ProgressBar, train
from nearspan.training.data import digest

FOLDER = "curve"  # where outcomes are kept
SIZES = (Fraction(1), Fraction(1, 2), Fraction(1, 4), Fraction(1, 8))
FEW = 64  # documents; fewer are cut into sentences before shares of them are drawn
FAR = 20  # numbers so many times another are drawn on a logarithmic scale, or the small ones would be one


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a training scores on the development set, and what it took."""

    sentences: int  # that it learned from
    f1: float
    precision: float
    recall: float
    epochs: int
    seconds: float  # development scoring included


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """One training of a curve."""

    name: str  # of the model
    at: float  # where on the curve it is
    seed: int
    outcome: Outcome

    def to_dict(self, at: str) -> dict[str, Any]:
        """For JSON; `at` is what the place on the curve is called."""
        return {"name": self.name, at: self.at, "seed": self.seed, **asdict(self.outcome)}


@dataclass(frozen=True)
class Trainings:
    """Trains, and keeps the outcomes in a folder.

    After a stop, a training that was done is read from there and one that was under way goes on from its checkpoint.
    """

    dev: Sequence[Document]
    out: Path
    device: str = ""
    console: Console | None = None
    seeds: int = 1  # trainings for each point of a curve

    def outcome(self, recipe: Recipe, documents: Sequence[Document], seed: int) -> Outcome:
        """An outcome from the folder, or else from a training; times of another kind of device are not taken."""
        device = usable_device(self.device).type
        what = f"{recipe.model_dump_json()}\0{digest(documents)}\0{digest(self.dev)}\0{seed}\0{device}"
        key = hashlib.sha256(what.encode()).hexdigest()[:16]
        path, folder = self.out / FOLDER / f"{key}.json", self.out / FOLDER / key
        try:
            return Outcome(**json.loads(path.read_text(encoding="utf-8")))
        except FileNotFoundError:
            pass
        except (OSError, ValueError, TypeError) as error:
            raise NearspanError(f"{path} cannot be read: {error}; delete it to train this point again") from error
        outcome = self._train(recipe, documents, seed, folder)
        write_file(path, [json.dumps(asdict(outcome))])
        shutil.rmtree(folder, ignore_errors=True)  # the numbers are kept; a model for each point would fill the disk
        return outcome

    def _train(self, recipe: Recipe, documents: Sequence[Document], seed: int, folder: Path) -> Outcome:
        resume, callbacks = (folder / CHECKPOINT).is_file(), [ProgressBar(self.console)]
        run = train(
            recipe, documents, self.dev, out=folder, device=self.device, seed=seed, resume=resume, callbacks=callbacks
        )
        if run.dev is None or run.model.classifies_given_spans:
            raise ConfigError("a curve needs development documents and a recipe that finds entities")
        scores = run.dev.scores
        sentences = sum(len(run.model.split(document)) for document in documents)  # a memory may hold fewer
        return Outcome(sentences, scores.f1, scores.precision, scores.recall, run.epochs, round(run.seconds, 3))


def check_curves(
    papers: bool, train: bool, dev: bool, sizes: Sequence[Fraction] | None, occurrences: Sequence[int]
) -> None:
    """Refuse arguments of the curves that do not go together."""
    present = {"train": train, "dev": dev, "sizes": sizes is not None, "occurrences": bool(occurrences)}
    if not papers and any(present.values()):
        names = ", ".join(f"`{name}`" for name, is_given in present.items() if is_given)
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
    units = list(documents)
    if len(units) < FEW:
        units = [part for document in documents for part in split_sentences(document, characters)]
    order = random.Random(0).sample(range(len(units)), len(units))
    return [
        list(documents) if size == 1 else [units[i] for i in sorted(order[: math.ceil(size * len(units))])]
        for size in sizes
    ]


def split_sentences(document: Document, characters: bool = False) -> list[Document]:
    """A document as one document for each sentence; an entity that crosses sentences is in none of them.

    >>> document = Document("Ann left. Bo came.", (Entity.of(0, 3, "PER"), Entity.of(10, 12, "PER")))
    >>> [(part.text, part.entities[0].start) for part in split_sentences(document)]
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
    recipes: Mapping[str, Recipe], documents: Sequence[Document], trainings: Trainings, sizes: Sequence[Fraction]
) -> list[CurvePoint]:
    """Train each recipe on each share of the documents; `recipes` by the name that the curve gives them."""
    todo = [
        (name, recipe, float(size), subset, f"on {size} of the data", seed)
        for name, recipe in recipes.items()
        for size, subset in zip(sizes, subsets(documents, sizes, recipe.characters_as_words), strict=True)
        for seed in range(trainings.seeds)
    ]
    return _train_points("data-size curve", todo, trainings)


def with_word_memory(recipes: Mapping[str, Recipe]) -> dict[str, Recipe]:
    """The recipes that recall training words; an error where there is none."""
    recalling = {name: recipe for name, recipe in recipes.items() if recipe.encoder.word_memory is not None}
    if not recalling:
        raise ConfigError(
            "a curve over the occurrences of a word needs a model that recalls training words (encoder.word_memory), "
            "and this report has none: leave the occurrences out"
        )
    return recalling


def name_encoder(recipes: Mapping[str, Recipe], encoder: str) -> dict[str, Recipe]:
    """The recipes with this pretrained encoder, where they have one: what a model's folder names is not loaded."""
    settings = {name: recipe.encoder.transformer for name, recipe in recipes.items()}
    written = {name: transformer.name for name, transformer in settings.items() if transformer is not None}
    if written and not encoder:
        raise ConfigError(
            f"a curve trains {', '.join(written)} again from a pretrained encoder, and what a model's folder names is "
            f"not loaded unasked: say which with `encoder` (in the folder: {', '.join(map(repr, written.values()))})"
        )
    if encoder and not written:
        raise ConfigError("`encoder` is for curves of models with a pretrained encoder: leave it out")
    change = [f"encoder.transformer.name={json.dumps(encoder)}"]
    return {name: recipe.override(change) if name in written else recipe for name, recipe in recipes.items()}


def occurrence_curve(
    recipes: Mapping[str, Recipe], documents: Sequence[Document], trainings: Trainings, most: Sequence[int]
) -> list[CurvePoint]:
    """Train each recipe without its memory of training words, T = 0, and with at most so many occurrences of a word."""
    variants = {0: ("encoder.word_memory=none", "without its memory of words")} | {
        count: (f"encoder.word_memory.most={count}", f"with at most {count:,} occurrences of a word") for count in most
    }
    todo = [
        (name, recipe.override([setting]), count, documents, what, seed)
        for name, recipe in recipes.items()
        for seed in range(trainings.seeds)
        for count, (setting, what) in variants.items()
    ]
    return _train_points("memory curve", todo, trainings)


def _train_points(
    title: str, todo: Sequence[tuple[str, Recipe, float, Sequence[Document], str, int]], trainings: Trainings
) -> list[CurvePoint]:
    """The points by name, recipe, place on the curve, documents, what is said of it, and seed."""
    points = []
    for number, (name, recipe, at, documents, what, seed) in enumerate(todo, start=1):
        say(trainings.console, f"{title} {number}/{len(todo)}: {name} {what}, seed {seed}")
        points.append(CurvePoint(name, at, seed, trainings.outcome(recipe, documents, seed)))
    return points


def epoch_times(points: Sequence[CurvePoint], name: str) -> dict[float, list[float]]:
    """By T, the time of an epoch relative to one without the memory; one for each seed.

    The mean over all seeds is 1, so that T = 0 shows how much times differ by themselves.
    """
    times = _series(points, name, lambda outcome: outcome.seconds / outcome.epochs)
    base = fmean(times[0])
    return {count: [seconds / base for seconds in measured] for count, measured in times.items()}


def size_figure(points: Sequence[CurvePoint], names: Sequence[str]) -> dict[str, Any]:
    """The data-size curve of models by their names, as a picture and as rows of a table."""
    sentences = {point.at: point.outcome.sentences for point in points}
    series = [_f1(points, name) for name in names]
    ticks = {share: share_text(share) for share in sorted(sentences)}
    axes = ("share of the training set", "development F1")
    return {
        "figure": lines(dict(enumerate(series)), "curve", axes, ticks, log=True),
        "rows": [
            [share_text(share), f"{sentences[share]:,}", *(_plus_minus(measured[share]) for measured in series)]
            for share in sorted(sentences, reverse=True)
        ],
    }


def occurrence_figures(points: Sequence[CurvePoint], names: Sequence[str]) -> dict[str, Any]:
    """F1 and time against the most occurrences of a word that are recalled, of those models that recall any."""
    recalling = {point.name for point in points}
    numbers = [number for number, name in enumerate(names) if name in recalling]
    f1 = {number: _f1(points, names[number]) for number in numbers}
    times = {number: epoch_times(points, names[number]) for number in numbers}
    counts = sorted({point.at for point in points})
    ticks = {count: f"{count:,.0f}" for count in counts if count}
    base = {number: fmean(series[0]) for number, series in f1.items()}
    axis, log = "T, the most occurrences of a word", max(ticks) > FAR * min(ticks)
    measured = [series for number in numbers for series in (f1[number], times[number])]
    first = {numbers[0]: 1.0}
    return {
        "numbers": numbers,
        "figures": [
            lines(_with_memory(f1), "recalled", (axis, "development F1"), ticks, log=log, levels=base),
            lines(_with_memory(times), "recalling", (axis, "time of an epoch"), ticks, log=log, levels=first),
        ],
        "rows": [
            [ticks.get(count, "no memory"), *(_plus_minus(series[count]) for series in measured)] for count in counts
        ],
    }


def _series(points: Sequence[CurvePoint], name: str, measure: Callable[[Outcome], float]) -> dict[float, list[float]]:
    """What is measured of a model, by where it is on the curve."""
    series: dict[float, list[float]] = {}
    for point in points:
        if point.name == name:
            series.setdefault(point.at, []).append(measure(point.outcome))
    return series


def _f1(points: Sequence[CurvePoint], name: str) -> dict[float, list[float]]:
    return _series(points, name, lambda outcome: 100 * outcome.f1)


def _with_memory(measured: Mapping[int, Series]) -> dict[int, Series]:
    return {number: {at: values for at, values in series.items() if at} for number, series in measured.items()}


def _plus_minus(values: Sequence[float]) -> str:
    mean, deviation = mean_and_deviation(values)
    return f"{mean:.2f} ± {deviation:.2f}" if deviation else f"{mean:.2f}"


def share_text(share: float) -> str:
    """A share as people write it.

    >>> share_text(0.125), share_text(1.0), share_text(0.3)
    ('1/8', '1', '0.3')
    """
    parts = 1 / share
    return f"{share:.2g}" if abs(parts - round(parts)) > 1e-6 else f"1/{round(parts)}" if round(parts) > 1 else "1"
