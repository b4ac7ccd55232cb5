"""The report: a model's scores, errors, evidence and figures on a corpus, as one page."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

from rich.console import Console
from torch import Tensor

from nearspan.document import Document
from nearspan.errors import ConfigError, NearspanError
from nearspan.evaluation import false_positives
from nearspan.io.atomic import write_file
from nearspan.model import Model
from nearspan.report.coupling import coupling
from nearspan.report.failures import by_kind, failures
from nearspan.report.figures import require
from nearspan.report.findings import Findings, Retrieved, Space
from nearspan.report.generation import told_of
from nearspan.report.geometry import geometry
from nearspan.report.occurrences import occurrence_curve, recalling
from nearspan.report.outputs import Outputs
from nearspan.report.page import page
from nearspan.report.posteriors import posteriors
from nearspan.report.projection import principal, project
from nearspan.report.retrieval import agreement, neighbours, queries
from nearspan.report.sizes import SIZES, size_curve
from nearspan.report.subject import Named, Subject, named
from nearspan.report.trainings import Trainings, say
from nearspan.report.typed import TypingFindings
from nearspan.report.vectors import GoldSpan, gold_spans, negative_spans, reachable_spans, span_vectors
from nearspan.training.data import digest

PAGE, NUMBERS = "report.html", "report.json"
MOST_SPANS = 2000  # gold entities whose vectors are looked at, and as many spans that are none
MOST_QUERIES = 12
MOST_FAILURES = 30


@dataclass(frozen=True)
class Report:
    """What was found and the files it was written to."""

    findings: Findings | TypingFindings
    page: Path
    numbers: Path


def report(
    model: Model | Path | str,
    documents: Sequence[Document],
    *,
    out: Path | str,
    compare: Model | Path | str | None = None,
    train: Sequence[Document] = (),
    dev: Sequence[Document] = (),
    sizes: Sequence[Fraction] = SIZES,
    occurrences: Sequence[int] = (),
    seeds: int = 1,
    device: str = "",
    console: Console | None = None,
) -> Report:
    """Examine a model on gold documents and write `out/report.html` and `out/report.json`.

    With `compare` a second model stands beside it. With `train` and `dev` the recipes are trained on shares of
    `train` (`sizes`) for the data-size curve, and with `occurrences` those that recall training words are trained
    with at most so many of each word; a curve that was stopped goes on when it is called again.

        report("runs/instance", nearspan.read("test.jsonl").documents, out="report", compare="runs/classifier")
    """
    require()
    documents, train, dev = tuple(documents), tuple(train), tuple(dev)
    if not documents:
        raise ConfigError("there are no documents to report on")
    if bool(train) != bool(dev):
        raise ConfigError("a curve needs both --train and --dev")
    if occurrences and min(occurrences) < 1:
        raise ConfigError(f"--occurrences takes numbers above 0, found {min(occurrences)}")
    if occurrences and not train:
        raise ConfigError("the curve over the occurrences of a word needs --train and --dev")
    if train and not sizes and not occurrences:
        raise ConfigError("--train and --dev are for curves: give --sizes or --occurrences, or leave them out")
    folder = _made(Path(out))
    given = [model] if compare is None else [model, compare]
    models = [(None, one) if isinstance(one, Model) else (Path(one), Model.load(one, device)) for one in given]
    say(console, "scoring")
    called = named(models)
    if any(one.classifies_given_spans for _, one in models):
        return _typed(called, documents, folder, curve=bool(train))
    recipes = {name: one.recipe for name, one, _ in called}
    recalls = recalling(recipes) if occurrences else {}
    examined = [Subject.of(name, one, documents, losses) for name, one, losses in called]
    found = _findings(examined, documents, console)
    if train:
        trainings = Trainings(dev, folder, device, console)
        found = replace(
            found,
            sizes=size_curve(recipes, train, trainings, sizes=sizes, seeds=seeds),
            occurrences=occurrence_curve(recalls, train, trainings, most=occurrences, seeds=seeds),
        )
    write_file(folder / NUMBERS, [json.dumps(found.to_dict(), indent=1), "\n"])
    write_file(folder / PAGE, [page(found)])
    return Report(found, folder / PAGE, folder / NUMBERS)


def _typed(models: Sequence[Named], documents: Sequence[Document], folder: Path, *, curve: bool) -> Report:
    """The report on models that label given spans; it has no score of recognition."""
    if not all(model.classifies_given_spans for _, model, _ in models):
        raise ConfigError("one model labels given spans and the other finds entities: they cannot be compared")
    if curve:
        raise ConfigError(
            "curves are of recognition, and this model was trained for typing: leave --train and --dev out"
        )
    found = TypingFindings.of(models, documents, digest(documents), MOST_SPANS)
    write_file(folder / NUMBERS, [json.dumps(found.to_dict(), indent=1), "\n"])
    write_file(folder / PAGE, [found.page()])
    return Report(found, folder / PAGE, folder / NUMBERS)


def _findings(examined: list[Subject], documents: Sequence[Document], console: Console | None) -> Findings:
    """All but the curves."""
    placed = [gold_spans(subject.model, documents) for subject in examined]
    say(console, "explaining errors")
    errors = [by_kind(subject, reachable_spans(subject.model, documents)) for subject in examined]
    explained = failures(examined[0], errors[0], MOST_FAILURES)
    shared = [key for key in placed[0] if all(key in own for own in placed)]
    drawn = random.Random(0).sample(range(len(shared)), min(MOST_SPANS, len(shared)))
    keys = [shared[i] for i in sorted(drawn)]
    asked = queries(keys, MOST_QUERIES)
    number = {key: i for i, key in enumerate(keys)}
    rows = [number[key] for key in asked]
    widest = min(subject.model.network.max_width for subject in examined)  # the same pairs for all
    agreements, spaces, retrieved, outputs = [], [], [], []
    for subject, own in zip(examined, placed, strict=True):
        say(console, f"span vectors of {subject.name}: retrieval, likeness and pictures of {len(keys):,} spans")
        spans = [own[key] for key in keys]
        vectors = span_vectors(subject.model, spans)
        agreements.append(agreement(subject, spans, vectors))
        retrieved.append(neighbours(subject, [spans[i] for i in rows], vectors[rows]))
        outputs.append(Outputs.of(subject.model, spans))
        spaces.append(_space(subject.model, documents, spans, vectors, widest))
    generations = [
        told_of(subject.model, list(own.values())) if subject.model.network.generators is not None else None
        for subject, own in zip(examined, placed, strict=True)
    ]
    return Findings(
        examined,
        digest(documents),
        [{kind: len(found) for kind, found in own.items()} for own in errors],
        [false_positives(documents, subject.evaluation.predicted) for subject in examined],
        explained,
        [
            Retrieved(placed[0][key], [subject.said(*key) for subject in examined], [own[i] for own in retrieved])
            for i, key in enumerate(asked)
        ],
        agreements,
        [placed[0][key] for key in keys],
        spaces,
        outputs,
        generations,
    )


def _space(
    model: Model, documents: Sequence[Document], spans: Sequence[GoldSpan], vectors: Tensor, widest: int
) -> Space:
    """How the vectors [N, H] of gold spans lie among themselves and among others."""
    negatives = span_vectors(model, negative_spans(model, documents, widest, MOST_SPANS))
    points = vectors.cpu().numpy()
    projection = project(points)
    return Space(
        projection,
        principal(points),
        coupling(model, spans, widest),
        geometry(model, vectors, [span.entity.label for span in spans], negatives),
        posteriors(model, spans, projection),
    )


def _made(folder: Path) -> Path:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise NearspanError(f"cannot make the folder {folder}: {error}") from error
    return folder
