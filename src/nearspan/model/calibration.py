"""Calibration: from the probability that a model gives an entity to the share of such entities that are right.

A score s is right if of all entities with that score the share s is. The map is temperature scaling (Guo et al., 2017)
of the one decision that matters, whether this span with this label is right, with offsets of the log odds: one for the
label, one for what the memory calls the entity's text, and one that grows with its distance from the memory's nearest
entity. What the memory knows is right far more often than what is new to it at the same probability, and how much is
new differs from text to text. The map is rising in the probability: it changes what scores say, never which entities
are found. Evidence stays exact: shares add up to the probability p.
`benchmarks/calibration.py` compares it with temperature scaling alone, Platt scaling and isotonic regression.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from nearspan.document import Document
from nearspan.errors import ModelError
from nearspan.model.thresholds import Scored, ThresholdChoice, choose_threshold, expected_threshold

BINS = 15
FOLDS = 5
FEWEST = 50  # entities that a calibration is fitted to
USUAL = 0.95  # of them are nearer to the memory than strangers are
EDGE = 1e-6  # probabilities nearer to 0 and 1 than this are taken to be at this distance
NEAREST = 1e-4  # no entity is taken to be nearer to the memory than this
TINY = 1e-9  # a step that changes nothing
COLDEST, HOTTEST = 0.1, 20.0  # temperatures
SLOPE_PRIOR, BIAS_PRIOR, OFFSET_PRIOR = 1.0, 0.1, 2.0  # how many entities, roughly, must speak for a change

Called = Literal["same", "other", "new", ""]  # what the memory calls a text; "": there is no memory to ask


@dataclass(frozen=True)
class Circumstance:
    """What is known of an entity beside its probability."""

    label: str = ""
    called: Called = ""
    cosine: float | None = None  # with the memory's nearest entity; None: not known

    @property
    def log_distance(self) -> float:
        """log of how far the memory's nearest entity is: 1 - cosine, and a little for those that are the same."""
        return math.nan if self.cosine is None else math.log(max(0.0, 1 - self.cosine) + NEAREST)


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


PLAIN = Circumstance()


@dataclass(frozen=True)
class Calibration:
    """score = sigmoid(logit(p) / temperature + offsets): above 1 scores are nearer to a half than probabilities.

    >>> round(Calibration(temperature=2.0).score(0.9), 3)
    0.75
    >>> calibration = Calibration(1.0, memory={"same": 1.0, "new": -1.0})
    >>> [round(calibration.score(0.9, Circumstance(called=called)), 3) for called in ("same", "new")]
    [0.961, 0.768]
    """

    temperature: float
    least_cosine: float | None = None  # with the memory's nearest entity; one that has a lower one is a stranger
    bias: float = 0.0
    labels: Mapping[str, float] = field(default_factory=dict)  # what is added for a label
    memory: Mapping[str, float] = field(default_factory=dict)  # the same for what the memory calls the entity's text
    distance: float = 0.0  # what is added for each log distance above the usual one
    usual_distance: float = 0.0  # the mean log distance; one that is not known is taken to be as usual

    def score(self, probability: float, circumstance: Circumstance = PLAIN) -> float:
        """The score of an entity that has a probability."""
        inside = min(max(probability, EDGE), 1 - EDGE)
        odds = math.log(inside / (1 - inside)) / self.temperature + self.bias
        odds += self.labels.get(circumstance.label, 0.0) + self.memory.get(circumstance.called, 0.0)
        if circumstance.cosine is not None:
            odds += self.distance * (circumstance.log_distance - self.usual_distance)
        power = math.exp(-abs(odds))  # never one that is too large for a number
        return (1.0 if odds >= 0 else power) / (1 + power)

    @property
    def needs_cosines(self) -> bool:
        """Whether it asks how near an entity is to those of the memory."""
        return self.least_cosine is not None or self.distance != 0

    @classmethod
    def fit(cls, scored: Sequence[Scored], circumstances: Sequence[Circumstance] = ()) -> Self:
        """What has the least log loss on predicted entities, with a penalty for what few of them speak for."""
        probabilities, right = _columns(scored)
        inside = probabilities.clip(EDGE, 1 - EDGE)
        circumstances = circumstances or [PLAIN] * len(scored)
        names = [sorted({getattr(each, key) for each in circumstances} - {""}) for key in ("label", "called")]
        of_labels, of_memory = (
            [[float(getattr(each, key) == name) for name in group] for each in circumstances]
            for key, group in zip(("label", "called"), names, strict=True)
        )
        logits = np.log(inside / (1 - inside))
        distances = np.array([each.log_distance for each in circumstances])
        cosines = [each.cosine for each in circumstances if each.cosine is not None]
        usual = float(np.nanmean(distances)) if cosines else 0.0
        least = float(np.quantile(cosines, 1 - USUAL)) if len(cosines) >= FEWEST else None
        inputs = np.column_stack([logits, np.ones(len(scored)), np.array(of_labels), np.array(of_memory)])
        weights = _fit_logistic(np.column_stack([inputs, np.nan_to_num(distances - usual)]), right)
        slope = min(max(weights[0], 1 / HOTTEST), 1 / COLDEST)
        shares = inputs[:, 2:].mean(0)  # offsets are counted from their mean, which stands where a name is unknown
        groups = weights[2 : 2 + len(names[0])], weights[2 + len(names[0]) : -1]
        means = [float(group @ part) for group, part in zip(groups, np.split(shares, [len(names[0])]), strict=True)]
        labels, memory = (
            dict(zip(group, (values - mean).tolist(), strict=True))
            for group, values, mean in zip(names, groups, means, strict=True)
        )
        bias, distance = float(weights[1]) + sum(means), float(weights[-1])
        return cls(1 / float(slope), least, bias, labels, memory, distance, usual)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, record: Any) -> Self:
        """What `to_dict` made, or a ModelError."""
        record = record if isinstance(record, dict) else {}
        temperature, least, bias = record.get("temperature"), record.get("least_cosine"), record.get("bias", 0.0)
        if not (_is_number(temperature) and temperature > 0 and (least is None or _is_number(least))):
            raise ModelError(f"a calibration needs a temperature above 0, found {record!r}")
        offsets = record.get("labels", {}), record.get("memory", {})
        numbers = [value for group in offsets if isinstance(group, dict) for value in group.values()]
        distances = record.get("distance", 0.0), record.get("usual_distance", 0.0)
        if not all(isinstance(group, dict) for group in offsets) or not all(
            map(_is_number, [bias, *distances, *numbers])
        ):
            raise ModelError(f"the offsets of a calibration are finite numbers by name, found {record!r}")
        return cls(temperature, least, bias, *offsets, *distances)


def _fit_logistic(inputs: NDArray[np.float64], right: NDArray[np.float64]) -> NDArray[np.float64]:
    """Weights of a slope, a bias and offsets with the least penalised log loss, by Newton's method."""
    start = np.zeros(inputs.shape[1])
    start[0] = 1.0  # probabilities as they are
    penalties = np.array([SLOPE_PRIOR, BIAS_PRIOR, *[OFFSET_PRIOR] * (len(start) - 2)])

    def loss(weights: NDArray[np.float64]) -> float:
        logits = inputs @ weights
        return float((np.logaddexp(0, logits) - right * logits).sum() + (penalties * (weights - start) ** 2).sum() / 2)

    weights: NDArray[np.float64] = start
    for _ in range(100):
        shares = 1 / (1 + np.exp(-inputs @ weights))
        slope = inputs.T @ (shares - right) + penalties * (weights - start)
        curvature = (inputs.T * (shares * (1 - shares))) @ inputs + np.diag(penalties)
        step = np.asarray(np.linalg.solve(curvature, slope), dtype=np.float64)
        while loss(weights - step) > loss(weights) and np.abs(step).max() > TINY:
            step = step / 2
        weights = weights - step
        if np.abs(step).max() <= TINY:
            break
    return weights


def cross_validate(
    scored: Sequence[Scored], circumstances: Sequence[Circumstance] = (), folds: int = FOLDS
) -> list[Scored]:
    """The entities with the scores that a calibration fitted to all other folds gives them."""
    circumstances = circumstances or [PLAIN] * len(scored)
    held_out: list[Scored] = []
    for fold in range(folds):
        rest = [number for number in range(len(scored)) if number % folds != fold]
        calibration = Calibration.fit([scored[i] for i in rest], [circumstances[i] for i in rest])
        pairs = zip(scored[fold::folds], circumstances[fold::folds], strict=True)
        held_out += [(calibration.score(p, circumstance), right) for (p, right), circumstance in pairs]
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
    circumstances: Sequence[Circumstance] = ()

    @property
    def after(self) -> list[Scored]:
        """The entities with their calibrated scores."""
        circumstances = self.circumstances or [PLAIN] * len(self.before)
        pairs = zip(self.before, circumstances, strict=True)
        return [(self.calibration.score(p, circumstance), right) for (p, right), circumstance in pairs]

    @cached_property
    def ece_before(self) -> float:
        """The calibration error of the probabilities."""
        return expected_calibration_error(self.before)

    @cached_property
    def ece_after(self) -> float:
        """The calibration error of scores that were fitted to other entities of the documents, by cross-validation."""
        return expected_calibration_error(cross_validate(self.before, self.circumstances))

    def threshold_for(self, precision: float, texts: Iterable[Document] | None = None) -> ThresholdChoice:
        """The lowest threshold that keeps a precision on the documents, also if half of what is predicted were new.

        Others may hold more texts that are new to the memory, and what is new is wrong more often. With `texts` of the
        kind that the threshold is for, as the calibrated model has annotated them, it is the lowest above which the
        mean score of their entities is the precision: nobody has to label them, and scores know what is new in them.
        """
        if texts is not None:
            scores = [entity.score for document in texts for entity in document.entities if entity.score is not None]
            threshold = expected_threshold(scores, precision)
            return ThresholdChoice.of(self.after, self.gold, precision, threshold)
        new = [circumstance.called in ("other", "new") for circumstance in self.circumstances]
        return choose_threshold(self.after, self.gold, precision, new)

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
