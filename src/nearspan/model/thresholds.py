"""Thresholds on scores: entities below theirs are left out, and the threshold that keeps a precision is found."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from nearspan.errors import ConfigError, did_you_mean

Scored = tuple[float, bool]  # the probability or score of an entity that was predicted, and whether it is right
Threshold = float | Mapping[str, float]  # for all labels, or by label; a label that is not named has none
FEWEST = 20  # entities that a promise rests on


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

    `gold` is how many entities there are. The threshold lies between the last score that is kept and the next. With
    `new`, which tells entities of two kinds, the share has to be as high too if half of all were of each kind.

    >>> choice = choose_threshold([(0.9, True)] * 30 + [(0.6, False)] * 10, gold=40, target=0.95)
    >>> choice.threshold, choice.precision, choice.recall
    (0.75, 1.0, 0.75)
    """
    if not 0 < target < 1:
        raise ConfigError(f"`target_precision` is a share between 0 and 1, found {target!r}")
    scores = np.array([score for score, _ in scored], dtype=np.float64)
    order = (-scores).argsort(kind="stable")
    scores, right = scores[order], np.array([right for _, right in scored], dtype=np.float64)[order]
    counts, hits = np.arange(1, len(scores) + 1), right.cumsum()
    weights = _even_weights(np.array(new, dtype=bool)[order] if new else np.zeros(len(scores), dtype=bool))
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
    threshold = _between(float(scores[last + 1]), float(scores[last])) if last + 1 < len(scores) else 0.0
    kept, kept_hits = last + 1, int(hits[last])
    recall, full_recall = kept_hits / max(1, gold), int(hits[-1]) / max(1, gold)
    return ThresholdChoice(target, threshold, kept_hits / kept, recall, full_recall, kept)


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
