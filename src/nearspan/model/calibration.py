"""Calibration: from the probability that a model gives an entity to the share of such entities that are right.

A score s is right if of all entities with that score the share s is. The map is Platt's: temperature scaling with an
offset, sigmoid(slope * logit(p) + offset). It has two parameters and is rising, so that it changes neither which
entities are found nor their order, only what their scores say. Evidence stays exact: shares add up to p.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from nearspan.document import Document
from nearspan.errors import ConfigError, ModelError
from nearspan.model.thresholds import Scored, ThresholdChoice, choose_threshold

BINS = 15
FOLDS = 5
FEWEST = 20  # entities that a calibration is fitted to
EDGE = 1e-6  # probabilities nearer to 0 and 1 than this are taken to be at this distance
FLATTEST = 0.01  # a slope below it would put all scores on one value


@dataclass(frozen=True)
class Bin:
    """Entities whose scores lie between two edges: their mean score, and the share of them that is right."""

    low: float
    high: float
    count: int
    score: float
    precision: float


def reliability(scored: Sequence[Scored], bins: int = BINS) -> list[Bin]:
    """Predicted entities in bins of equal width, without the empty ones.

    >>> [(bin.count, bin.precision) for bin in reliability([(0.1, False), (0.9, True), (0.95, False)], bins=2)]
    [(1, 0.0), (2, 0.5)]
    """
    if not scored:
        return []
    scores, right = _columns(scored)
    places = np.minimum((scores * bins).astype(int), bins - 1)
    return [
        Bin(place / bins, (place + 1) / bins, len(rows), float(scores[rows].mean()), float(right[rows].mean()))
        for place in range(bins)
        if len(rows := np.flatnonzero(places == place))
    ]


def expected_calibration_error(scored: Sequence[Scored], bins: int = BINS) -> float:
    """ECE: how far the mean score of a bin is from the share that is right, as a mean over all entities.

    >>> round(expected_calibration_error([(0.9, True), (0.9, False)]), 3)
    0.4
    """
    parts = reliability(scored, bins)
    total = sum(part.count for part in parts)
    return sum(part.count * abs(part.score - part.precision) for part in parts) / total if total else 0.0


@dataclass(frozen=True)
class Calibration:
    """score = sigmoid(slope * logit(p) + offset).

    >>> Calibration(slope=0.5).score(0.9)
    0.75
    """

    slope: float = 1.0
    offset: float = 0.0
    least_cosine: float | None = None  # with the memory's nearest entity; an entity below it is a stranger

    def score(self, probability: float) -> float:
        """The score of an entity that has a probability."""
        return 1 / (1 + math.exp(-self.slope * _logit(probability) - self.offset))

    @classmethod
    def fit(cls, scored: Sequence[Scored]) -> Self:
        """The map with the least log loss on predicted entities, by Newton's method.

        Right counts as a little less than 1 and wrong as a little more than 0 (Platt, 1999), so that the slope stays
        finite where probabilities tell right from wrong without an error.
        """
        if len(scored) < FEWEST:
            raise ConfigError(
                f"scores are calibrated on {FEWEST} predicted entities at least, and there are {len(scored)}: "
                "give more documents"
            )
        probabilities, right = _columns(scored)
        hits = right.sum()
        targets = np.where(right > 0, (hits + 1) / (hits + 2), 1 / (len(right) - hits + 2))
        inputs = np.stack([np.array([_logit(p) for p in probabilities]), np.ones(len(right))], axis=1)  # [N, 2]
        weights = _newton(inputs, targets, np.array([1.0, 0.0]))
        if weights[0] < FLATTEST:  # they tell nothing: all scores become nearly the share that is right
            flat = FLATTEST * inputs[:, 0]
            return cls(FLATTEST, float(_newton(inputs[:, 1:], targets, np.zeros(1), flat)[0]))
        return cls(float(weights[0]), float(weights[1]))

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, record: Any) -> Self:
        """What `to_dict` made, or a ModelError."""
        record = record if isinstance(record, dict) else {}
        slope, offset, least = (record.get(name) for name in ("slope", "offset", "least_cosine"))
        if not (is_number(slope) and slope > 0 and is_number(offset) and (least is None or is_number(least))):
            raise ModelError(f"a calibration needs a slope above 0 and an offset, found {record!r}")
        return cls(slope, offset, least)


def cross_validate(scored: Sequence[Scored], folds: int = FOLDS) -> list[Scored]:
    """The entities with the scores that a calibration fitted to all other folds gives them."""
    held_out: list[Scored] = []
    for fold in range(folds):
        rest = [pair for number, pair in enumerate(scored) if number % folds != fold]
        calibration = Calibration.fit(rest)
        held_out += [(calibration.score(p), right) for p, right in scored[fold::folds]]
    return held_out


def is_number(value: Any) -> bool:
    """Whether a value of a JSON file is a finite number."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _newton(
    inputs: NDArray[np.float64], targets: NDArray[np.float64], start: NDArray[np.float64], fixed: Any = 0.0
) -> NDArray[np.float64]:
    """The weights [W] of a logistic regression of targets [N] on inputs [N, W], with a `fixed` part in the logits."""
    weights, loss = start, _log_loss(inputs @ start + fixed, targets)
    for _ in range(100):
        shares = 1 / (1 + np.exp(-(inputs @ weights + fixed)))
        gradient = inputs.T @ (shares - targets)
        curvature = (inputs * (shares * (1 - shares))[:, None]).T @ inputs + 1e-9 * np.eye(len(weights))
        step = np.linalg.solve(curvature, gradient)
        for size in _halves():
            candidate = weights - size * step
            after = _log_loss(inputs @ candidate + fixed, targets)
            if after <= loss:
                break
        else:
            return weights
        done = loss - after < 1e-12 * len(targets)
        weights, loss = candidate, after
        if done:
            break
    return weights


def _halves() -> Iterator[float]:
    return (0.5**power for power in range(20))


def _log_loss(logits: NDArray[np.float64], targets: NDArray[np.float64]) -> float:
    return float((np.logaddexp(0, logits) - targets * logits).sum())


def _logit(probability: float) -> float:
    inside = min(max(probability, EDGE), 1 - EDGE)
    return math.log(inside / (1 - inside))


def _columns(scored: Sequence[Scored]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    scores, right = zip(*scored, strict=True)
    return np.array(scores, dtype=np.float64), np.array(right, dtype=np.float64)


@dataclass(frozen=True)
class CalibrationFit:
    """How well scores fit some documents before and after a calibration, and the thresholds that follow from it.

    fit = model.calibrate("dev.conll")
    fit.ece_before, fit.ece_after
    model.set_threshold(fit.threshold_for(0.95).threshold)
    """

    calibration: Calibration
    before: Sequence[Scored]
    gold: int  # entities of the documents

    @property
    def after(self) -> list[Scored]:
        """The entities with their calibrated scores."""
        return [(self.calibration.score(probability), right) for probability, right in self.before]

    @cached_property
    def ece_before(self) -> float:
        """The calibration error of the probabilities."""
        return expected_calibration_error(self.before)

    @cached_property
    def ece_after(self) -> float:
        """The calibration error of scores that were fitted to other entities of the documents, by cross-validation."""
        return expected_calibration_error(cross_validate(self.before))

    def threshold_for(self, precision: float) -> ThresholdChoice:
        """The lowest threshold that keeps a precision on the documents."""
        return choose_threshold(self.after, self.gold, precision)

    def __repr__(self) -> str:
        errors = f"ECE {self.ece_before:.4f} before, {self.ece_after:.4f} after"
        return f"CalibrationFit({len(self.before):,} predicted entities, {errors})"


def score_entities(gold: Iterable[Document], predicted: Iterable[Document]) -> list[Scored]:
    """The scores of predicted entities, and whether each is right."""
    return [
        (entity.score or 0.0, entity in right)
        for document, annotated in zip(gold, predicted, strict=True)
        for right in [set(document.entities)]
        for entity in annotated.entities
    ]
