"""Thresholds on scores: entities below theirs are left out, and the threshold that keeps a precision is found."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

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
    `new`, which tells entities of two kinds, the mean of the two shares has to be as high too.

    >>> choice = choose_threshold([(0.9, True)] * 30 + [(0.6, False)] * 10, gold=40, target=0.95)
    >>> choice.threshold, choice.precision, choice.recall
    (0.75, 1.0, 0.75)
    """
    if not 0 < target < 1:
        raise ConfigError(f"`target_precision` is a share between 0 and 1, found {target!r}")
    order = sorted(range(len(scored)), key=lambda i: scored[i], reverse=True)
    ranked = [scored[i] for i in order]
    is_new = [bool(new) and new[i] for i in order]
    hits = kept = kept_hits = new_count = new_hits = 0
    highest = 0.0
    for count, (score, right) in enumerate(ranked, start=1):
        hits += right
        new_count, new_hits = new_count + is_new[count - 1], new_hits + (right and is_new[count - 1])
        if count < len(ranked) and ranked[count][0] == score:  # equal scores stay or go together
            continue
        if count >= FEWEST:
            highest = max(highest, hits / count)
            if hits >= target * count and _mean_share(count, hits, new_count, new_hits) >= target:
                kept, kept_hits = count, hits
    if not kept:
        raise ConfigError(
            f"no threshold keeps a `target_precision` of {target:g} on these documents: the highest precision of "
            f"{FEWEST} entities or more is {highest:.4f}"
        )
    threshold = _between(ranked[kept][0], ranked[kept - 1][0]) if kept < len(ranked) else 0.0
    return ThresholdChoice(target, threshold, kept_hits / kept, kept_hits / max(1, gold), hits / max(1, gold), kept)


def _mean_share(count: int, hits: int, new_count: int, new_hits: int) -> float:
    """The share of right entities, where both kinds are many as the mean of the two."""
    others, other_hits = count - new_count, hits - new_hits
    if min(others, new_count) < FEWEST:
        return hits / count
    return (other_hits / others + new_hits / new_count) / 2


def _between(low: float, high: float) -> float:
    """A number above `low` and not above `high`, near their middle, with no more digits than that takes.

    >>> _between(0.6, 0.9), _between(0.99998, 0.99999)
    (0.75, 0.99999)
    """
    rounded = (round((low + high) / 2, digits) for digits in range(2, 18))
    return next((value for value in rounded if low < value <= high), high)
