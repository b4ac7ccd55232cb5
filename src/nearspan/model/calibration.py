"""Calibration: from the probability that a model gives an entity to the share of such entities that are right.

A score s is right if of all entities with that score the share s is. The map is temperature scaling (Guo et al., 2017)
of the one decision that matters, whether this span with this label is right. It has one parameter and is rising, so
that it changes neither which entities are found nor their order, only what their scores say. Evidence stays exact:
shares add up to the probability p. `benchmarks/calibration.py` compares it with Platt scaling and isotonic regression.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from nearspan.document import Document
from nearspan.errors import ModelError
from nearspan.model.thresholds import Scored, ThresholdChoice, choose_threshold

BINS = 15
FOLDS = 5
FEWEST = 50  # entities that a calibration is fitted to
EDGE = 1e-6  # probabilities nearer to 0 and 1 than this are taken to be at this distance
COLDEST, HOTTEST = 0.1, 20.0  # temperatures


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
    """score = sigmoid(logit(p) / temperature): above 1 scores are nearer to a half than probabilities.

    >>> round(Calibration(temperature=2.0).score(0.9), 3)
    0.75
    """

    temperature: float
    least_cosine: float | None = None  # with the memory's nearest entity; an entity below it is a stranger

    def score(self, probability: float) -> float:
        """The score of an entity that has a probability."""
        inside = min(max(probability, EDGE), 1 - EDGE)
        odds: float = (inside / (1 - inside)) ** (1 / self.temperature)
        return odds / (1 + odds)

    @classmethod
    def fit(cls, scored: Sequence[Scored]) -> Self:
        """The temperature with the least log loss on predicted entities: where its slope, which rises, is 0."""
        probabilities, right = _columns(scored)
        inside = probabilities.clip(EDGE, 1 - EDGE)
        logits = np.log(inside / (1 - inside))
        low, high = 1 / HOTTEST, 1 / COLDEST  # of 1 / temperature
        for _ in range(60):
            middle = (low + high) / 2
            slope = float((logits * (1 / (1 + np.exp(-middle * logits)) - right)).sum())
            low, high = (low, middle) if slope > 0 else (middle, high)
        return cls(1 / middle)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, record: Any) -> Self:
        """What `to_dict` made, or a ModelError."""
        record = record if isinstance(record, dict) else {}
        temperature, least = record.get("temperature"), record.get("least_cosine")
        if not (_is_number(temperature) and temperature > 0 and (least is None or _is_number(least))):
            raise ModelError(f"a calibration needs a temperature above 0, found {record!r}")
        return cls(temperature, least)


def cross_validate(scored: Sequence[Scored], folds: int = FOLDS) -> list[Scored]:
    """The entities with the scores that a calibration fitted to all other folds gives them."""
    held_out: list[Scored] = []
    for fold in range(folds):
        rest = [pair for number, pair in enumerate(scored) if number % folds != fold]
        calibration = Calibration.fit(rest)
        held_out += [(calibration.score(p), right) for p, right in scored[fold::folds]]
    return held_out


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


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _columns(scored: Sequence[Scored]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    scores, right = zip(*scored, strict=True)
    return np.array(scores, dtype=np.float64), np.array(right, dtype=np.float64)
