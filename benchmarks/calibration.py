"""How far a model's scores can be trusted: calibrated on a development set, measured on a test set.

    python benchmarks/calibration.py MODEL --dev dev.conll --test test.conll [--other ncbi=test.tsv ...] [--out x.json]

The models of the records are those that `benchmarks/first_ten_minutes.py CORPUS DATA --systems nearspan --keep FOLDER`
trains.

Records the calibration error (ECE, 15 bins) of predicted entities before and after, for what nearspan does (a
temperature with offsets for labels, for texts that the memory knows, and by the distance from its nearest entity), and
for temperature scaling, Platt scaling and isotonic regression; the ECE that scores would have by chance if entities
were right just as often as their scores say; what precision is measured where 0.90 and 0.95 are promised, and where
they are promised for the test data's own texts, whose labels are not looked at (`precision_for_texts`); and how well
strangers are told: the AUROC of the distance to the memory between predicted entities of the test set and those of
other corpora, and how many are marked. Texts are runs of ten sentences.
"""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import sys
from bisect import bisect_right
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

import nearspan
from nearspan.document import Document
from nearspan.model import Model
from nearspan.model.calibration import (
    EDGE,
    FOLDS,
    USUAL,
    Calibration,
    CalibrationFit,
    Circumstance,
    cross_validate,
    expected_calibration_error,
    score_entities,
)
from nearspan.model.thresholds import Scored, ThresholdChoice

TARGETS = (0.90, 0.95)
SENTENCES = 10  # of a text
Array = NDArray[np.float64]
Map = Callable[[Array], Array]


def main() -> None:
    """Measure one model and print, or add to a file, one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("--corpus", default="", help="the name of the corpus in the record")
    parser.add_argument("--dev", required=True)
    parser.add_argument("--test", required=True)
    parser.add_argument("--other", action="append", default=[], help="name=file of another domain")
    parser.add_argument("--out", type=Path, help="a JSON file of a list, to which the record is added")
    arguments = parser.parse_args()
    model = nearspan.load(arguments.model, device="cpu")
    others = dict(each.split("=", 1) for each in arguments.other)
    record = {"corpus": arguments.corpus, **measure(model, arguments.dev, arguments.test, others)}
    commit = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=False).stdout.strip()
    record |= {"command": ["python", *sys.argv], "commit": commit}
    record |= {"hardware": platform.machine(), "threads": torch.get_num_threads(), "torch": torch.__version__}
    if arguments.out is None:
        json.dump(record, sys.stdout, indent=1)
        return
    records = json.loads(arguments.out.read_text()) if arguments.out.exists() else []
    arguments.out.write_text(json.dumps([*records, record], indent=1) + "\n")


def measure(model: Model, dev: str, test: str, others: dict[str, str]) -> dict[str, Any]:
    """Calibrate on the one, measure once on the other."""
    fit = model.calibrate(dev)
    calibration, model.calibration = model.calibration, None
    assert calibration is not None
    gold = nearspan.read(test).documents
    predicted = predict(model, gold)
    raw, known = score_entities(gold, predicted), model.circumstances(predicted)
    cosines = cosines_of(model, predicted, known)
    scored = {"nearspan": CalibrationFit(calibration, raw, 0, known).after}
    scored |= {name: rescore(give(fit.before), raw) for name, give in METHODS.items()}
    record: dict[str, Any] = {
        "recipe": model.recipe.name,
        "epochs": model.recipe.training.epochs,
        "test": nearspan.score(gold, predicted).total.to_dict(),
        "dev_entities": len(fit.before),
        "calibration": {key: value for key, value in calibration.to_dict().items() if key != "least_cosine"},
        "new_to_memory": {"dev": share_of_new(fit.circumstances), "test": share_of_new(known)},
        "log_loss": {
            "dev, cross-validated": log_loss(cross_validate(fit.before, fit.circumstances)),
            "dev, temperature alone, cross-validated": log_loss(cross_validate_temperature(fit.before)),
            "test": log_loss(scored["nearspan"]),
            "test, temperature alone": log_loss(scored["temperature"]),
        },
        "dev_ece": {"before": fit.ece_before, "after, cross-validated": fit.ece_after},
        "test_ece": {"before": expected_calibration_error(raw)}
        | {name: expected_calibration_error(pairs) for name, pairs in scored.items()}
        | {"nearspan, by chance": chance_error(scored["nearspan"])},
        "precision": [promise(scored["nearspan"], count_gold(gold), fit.threshold_for(each)) for each in TARGETS],
    }
    model.calibration = calibration
    texts = predict(model, gold)
    record["precision_for_texts"] = [
        promise(scored["nearspan"], count_gold(gold), fit.threshold_for(each, texts)) for each in TARGETS
    ]
    model.calibration = None
    record["within_test"] = measure_halves(raw, known)
    if others:
        limit = calibration.least_cosine
        record["strangers"] = measure_strangers(model, cosines, limit if limit is not None else -1.0, others)
    return record


def count_gold(gold: Sequence[Document]) -> int:
    """How many entities there are."""
    return sum(len(set(document.entities)) for document in gold)


def chance_error(scored: Sequence[Scored], repetitions: int = 200) -> float:
    """The mean ECE of these scores if each entity were right with just the probability that its score says."""
    draw, scores = np.random.default_rng(0), [score for score, _ in scored]
    errors = [
        expected_calibration_error(list(zip(scores, (draw.random(len(scores)) < scores).tolist(), strict=True)))
        for _ in range(repetitions)
    ]
    return float(np.mean(errors))


def share_of_new(circumstances: Sequence[Circumstance]) -> float:
    """The share of the entities whose texts the memory does not know by their labels."""
    return sum(each.called != "same" for each in circumstances) / len(circumstances)


def log_loss(scored: Sequence[Scored]) -> float:
    """The mean log loss."""
    return -float(np.mean([np.log(score if right else 1 - score) for score, right in scored]))


def measure_halves(scored: Sequence[Scored], known: Sequence[Circumstance]) -> dict[str, Any]:
    """The same within the test set, fitted to every second entity and measured on the others: what drift costs."""
    halves = (scored[::2], known[::2]), (scored[1::2], known[1::2])
    after: list[Scored] = []
    kept: dict[float, list[bool]] = {target: [] for target in TARGETS}
    for fitted, measured in (halves, halves[::-1]):
        calibration = Calibration.fit(*fitted)
        fit = CalibrationFit(calibration, fitted[0], len(fitted[0]), fitted[1])
        rescored = CalibrationFit(calibration, measured[0], 0, measured[1]).after
        after += rescored
        for target, right in kept.items():
            right += [r for score, r in rescored if score >= fit.threshold_for(target).threshold]
    precision = {str(target): sum(right) / len(right) for target, right in kept.items()}
    return {"ece": expected_calibration_error(after), "precision": precision}


def promise(scored: Sequence[Scored], gold: int, choice: ThresholdChoice) -> dict[str, float]:
    """What a threshold promises, and what it keeps on other documents."""
    kept = [right for score, right in scored if score >= choice.threshold]
    full = [right for _, right in scored]
    return {
        "promised": choice.target,
        "threshold": choice.threshold,
        "dev_precision": choice.precision,
        "measured": sum(kept) / len(kept),
        "recall": sum(kept) / gold,
        "precision_without": sum(full) / len(full),
        "recall_without": sum(full) / gold,
    }


def measure_strangers(model: Model, home: list[Array], limit: float, others: dict[str, str]) -> dict[str, Any]:
    """The AUROC of distances between a test set and other corpora, and the shares that are marked."""
    record: dict[str, Any] = {"usual": USUAL, "least_cosine": limit, "test": marked(home, limit)}
    for name, file in others.items():
        predicted = predict(model, nearspan.read(file).documents)
        away = cosines_of(model, predicted, model.circumstances(predicted))
        record[name] = marked(away, limit) | {
            "auroc_entities": auroc(-np.concatenate(home), -np.concatenate(away)),
            "auroc_texts": auroc(*(np.array([far(text) for text in texts_of(side)]) for side in (home, away))),
        }
    return record


def far(cosines: Array) -> float:
    """How far the entities of a text are from the memory: the mean logarithm of 1 - cosine."""
    return float(np.log(1 + 1e-4 - cosines).mean())


def texts_of(sentences: Sequence[Array]) -> list[Array]:
    """The cosines of each text that has an entity."""
    runs = [np.concatenate(sentences[first : first + SENTENCES]) for first in range(0, len(sentences), SENTENCES)]
    return [run for run in runs if len(run)]


def marked(sentences: Sequence[Array], limit: float) -> dict[str, float]:
    """How many entities, and texts, are marked as strangers."""
    entities, texts = np.concatenate(sentences), texts_of(sentences)
    strange = [(text < limit).mean() > 0.25 for text in texts]
    return {
        "entities": len(entities),
        "marked_entities": float((entities < limit).mean()),
        "texts": len(texts),
        "marked_texts": float(np.mean(strange)),
    }


def predict(model: Model, documents: Sequence[Document]) -> list[Document]:
    """The documents with the entities that the model finds."""
    return list(model.pipe([document.with_entities(()) for document in documents]))


def cosines_of(model: Model, predicted: Sequence[Document], known: Sequence[Circumstance]) -> list[Array]:
    """Of each sentence the cosines of its entities with the memory's nearest one, where they are known."""
    cosines, of_entities = list[list[float]](), iter(known)
    for document in predicted:
        ends = [sentence.end for sentence in model.split(document)]
        of_sentences: list[list[float]] = [[] for _ in ends]
        for entity in document.entities:
            cosine = next(of_entities).cosine
            if cosine is not None:
                of_sentences[bisect_right(ends, entity.start)].append(cosine)
        cosines += of_sentences
    return [np.array(of_sentence, dtype=np.float64) for of_sentence in cosines]


def auroc(home: Array, away: Array) -> float:
    """How often a stranger is farther than one from home; equal ones count a half."""
    values, places = np.unique(np.concatenate([home, away]), return_inverse=True)
    counts = np.bincount(places, minlength=len(values))
    ranks = (counts.cumsum() - (counts - 1) / 2)[places]
    return float((ranks[len(home) :].sum() - len(away) * (len(away) + 1) / 2) / (len(home) * len(away)))


def rescore(change: Map, scored: Sequence[Scored]) -> list[Scored]:
    """Entities with other scores."""
    probabilities, right = zip(*scored, strict=True)
    return list(zip(change(np.array(probabilities, dtype=np.float64)).tolist(), right, strict=True))


def temperature(scored: Sequence[Scored]) -> Map:
    """sigmoid(logit(p) / T) with the least log loss: where its slope, which rises with 1 / T, is 0."""
    probabilities, right = (np.array(column, dtype=np.float64) for column in zip(*scored, strict=True))
    logits, low, high = logit(probabilities), 0.05, 10.0
    for _ in range(60):
        middle = (low + high) / 2
        slope = float((logits * (1 / (1 + np.exp(-middle * logits)) - right)).sum())
        low, high = (low, middle) if slope > 0 else (middle, high)
    return lambda p: 1 / (1 + np.exp(-middle * logit(p)))


def cross_validate_temperature(scored: Sequence[Scored]) -> list[Scored]:
    """The entities with the scores of temperatures that were fitted to the other folds."""
    held_out: list[Scored] = []
    for fold in range(FOLDS):
        rest = [pair for number, pair in enumerate(scored) if number % FOLDS != fold]
        held_out += rescore(temperature(rest), scored[fold::FOLDS])
    return held_out


def platt(scored: Sequence[Scored]) -> Map:
    """sigmoid(a logit(p) + b) with the least log loss, by Newton's method with steps that never lead up."""
    probabilities, right = (np.array(column, dtype=np.float64) for column in zip(*scored, strict=True))
    inputs = np.stack([logit(probabilities), np.ones(len(right))], axis=1)

    def loss(weights: Array) -> float:
        logits = inputs @ weights
        return float((np.logaddexp(0, logits) - right * logits).sum())

    weights = np.array([1.0, 0.0])
    for _ in range(50):
        shares = 1 / (1 + np.exp(-inputs @ weights))
        curvature = (inputs * (shares * (1 - shares))[:, None]).T @ inputs
        step = np.linalg.solve(curvature, inputs.T @ (shares - right))
        while loss(weights - step) > loss(weights) and np.abs(step).max() > EDGE:
            step = step / 2
        weights = weights - step
    return lambda p: 1 / (1 + np.exp(-weights[0] * logit(p) - weights[1]))


def isotonic(scored: Sequence[Scored]) -> Map:
    """The rising steps with the least squared error, by pooling adjacent violators."""
    blocks: list[list[float]] = []  # right, count, first probability
    for probability, right in sorted(scored):
        blocks.append([float(right), 1.0, probability])
        while len(blocks) > 1 and blocks[-2][0] * blocks[-1][1] >= blocks[-1][0] * blocks[-2][1]:
            hits, count, _ = blocks.pop()
            blocks[-1][0] += hits
            blocks[-1][1] += count
    starts, values = np.array([b[2] for b in blocks]), np.array([b[0] / b[1] for b in blocks])
    return lambda p: values[np.clip(np.searchsorted(starts, p, side="right") - 1, 0, None)]


def logit(probabilities: Array) -> Array:
    """Log odds, within bounds."""
    inside = probabilities.clip(EDGE, 1 - EDGE)
    return np.log(inside / (1 - inside))


METHODS: dict[str, Callable[[Sequence[Scored]], Map]] = {
    "temperature": temperature,
    "platt": platt,
    "isotonic": isotonic,
}

if __name__ == "__main__":
    main()
