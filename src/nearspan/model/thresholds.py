"""Thresholds on scores: entities below theirs are left out, and the threshold that keeps a precision is found."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from nearspan.errors import ConfigError, did_you_mean

Scored = tuple[float, bool]  # the probability or score of an entity that was predicted, and whether it is right
Threshold = float | Mapping[str, float]  # for all labels, or by label; a label that is not named has none
FEWEST = 20  # entities that a promise rests on

_Array = NDArray[np.float64]


def thresholds_by_label(threshold: Threshold, labels: Sequence[str]) -> dict[str, float]:
    """The threshold of each label that has one.

    >>> thresholds_by_label(0.7, ["PER", "LOC"]), thresholds_by_label({"PER": 0.8}, ["PER", "LOC"])
    ({'PER': 0.7, 'LOC': 0.7}, {'PER': 0.8})
    """
    if not isinstance(threshold, Mapping):
        threshold = dict.fromkeys(labels, threshold)
    for label, value in threshold.items():
        if label not in labels:
            raise ConfigError(f"`threshold` names the label {label!r}; {did_you_mean(label, labels)}")
        if not 0 <= value <= 1:
            raise ConfigError(f"`threshold` is a score from 0 to 1, found {value!r}")
    return {label: float(value) for label, value in threshold.items() if value > 0}


@dataclass(frozen=True)
class ThresholdChoice:
    """The lowest threshold that keeps a precision on some documents, and what it keeps of their entities."""

    target: float
    threshold: float
    precision: float
    recall: float
    full_recall: float  # without a threshold
    entities: int  # predicted ones that are kept

    @classmethod
    def of(cls, scored: Sequence[Scored], gold: int, target: float, threshold: float) -> Self:
        """What a threshold keeps, `gold` being how many entities there are."""
        kept = [right for score, right in scored if score >= threshold]
        precision, hits = sum(kept) / max(1, len(kept)), sum(right for _, right in scored)
        recall, full_recall = sum(kept) / max(1, gold), hits / max(1, gold)
        return cls(target, threshold, precision, recall, full_recall, len(kept))

    def to_dict(self) -> dict[str, float]:
        """For JSON."""
        return asdict(self)

    def __str__(self) -> str:
        return (
            f"threshold {self.threshold}: precision {100 * self.precision:.2f}, recall {100 * self.recall:.2f} "
            f"(without a threshold {100 * self.full_recall:.2f})"
        )


def choose_threshold(scored: Sequence[Scored], gold: int, target: float, new: Sequence[bool] = ()) -> ThresholdChoice:
    """The lowest threshold above which the share `target` of the predicted entities is right.

    `gold` is how many entities there are. With `new`, which tells entities of two kinds, the share has to be as high
    too if half of all were of each kind.

    >>> choice = choose_threshold([(0.9, True)] * 30 + [(0.6, False)] * 10, gold=40, target=0.95)
    >>> choice.threshold, choice.precision, choice.recall
    (0.75, 1.0, 0.75)
    """
    right = np.array([right for _, right in scored], dtype=np.float64)
    weights = _even_weights(np.array(new, dtype=bool) if new else np.zeros(len(scored), dtype=bool))
    threshold = _lowest_threshold(np.array([score for score, _ in scored], dtype=np.float64), right, weights, target)
    return ThresholdChoice.of(scored, gold, target, threshold)


def expected_threshold(scores: Sequence[float], target: float) -> float:
    """The lowest threshold above which the mean of calibrated scores, the precision to be expected, is the target.

    >>> expected_threshold([0.99] * 20 + [0.8] * 10, 0.95)
    0.9
    """
    if len(scores) < FEWEST:
        raise ConfigError(
            f"a `target_precision` is promised for texts with {FEWEST} predicted entities at least, and there are "
            f"{len(scores)}: give more texts"
        )
    values = np.array(scores, dtype=np.float64)
    return _lowest_threshold(values, values, np.ones(len(values)), target)


def _lowest_threshold(scores: _Array, right: _Array, weights: _Array, target: float) -> float:
    """The lowest threshold above which the share `target` of entities is right, by count and by weight.

    It lies between the last score that is kept and the next. `right` holds probabilities where it is not known.
    """
    if not 0 < target < 1:
        raise ConfigError(f"`target_precision` is a share between 0 and 1, found {target!r}")
    order = (-scores).argsort(kind="stable")
    scores, right, weights = scores[order], right[order], weights[order]
    counts, hits = np.arange(1, len(scores) + 1), right.cumsum()
    together = np.append(scores[1:] == scores[:-1], False)[: len(scores)]  # equal scores stay or go together
    enough = (counts >= FEWEST) & ~together
    precise = (hits >= target * counts) & ((weights * right).cumsum() >= target * weights.cumsum())
    places = np.flatnonzero(enough & precise)
    if not len(places):
        highest = (hits / counts)[enough].max(initial=0.0)
        raise ConfigError(
            f"no threshold keeps a `target_precision` of {target:g} on these documents: the highest precision of "
            f"{FEWEST} entities or more is {highest:.4f}"
        )
    last = int(places[-1])
    return _between(float(scores[last + 1]), float(scores[last])) if last + 1 < len(scores) else 0.0


def _even_weights(new: NDArray[np.bool_]) -> NDArray[np.float64]:
    """What entities count so that those of two kinds count the same in all; 1 where one of the kinds is rare.

    >>> _even_weights(np.array([True] * 20 + [False] * 60))[[0, 20]].round(3).tolist()
    [2.0, 0.667]
    """
    count = int(new.sum())
    others = len(new) - count
    if min(count, others) < FEWEST:
        return np.ones(len(new))
    return np.where(new, len(new) / 2 / count, len(new) / 2 / others)


def _between(low: float, high: float) -> float:
    """A number above `low` and not above `high`, near their middle, with no more digits than that takes.

    >>> _between(0.6, 0.9), _between(0.99998, 0.99999)
    (0.75, 0.99999)
    """
    rounded = (round((low + high) / 2, digits) for digits in range(2, 18))
    return next((value for value in rounded if low < value <= high), high)
