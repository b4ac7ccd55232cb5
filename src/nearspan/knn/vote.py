"""How often the spans of a datastore count, by their labels.

Training makes exp(s . s_j) right for its own labels, and for the null spans of its own corpora. Of other labels nothing
was learned: spans that have one are outvoted by null ones. So they count several times, their number of neighbours is
another, and so may be the temperature T:

    P(y|s) = v_y sum_{j: y_j = y} w_j exp(s . s_j / T) / sum_y' v_y' sum_{j: y_j = y'} w_j exp(s . s_j / T)

where v_y is 1 for null, `times` for labels that training did not know, and `known_times` for those that it knew: the
most likely label is not what gives the best F1 where most spans are null. It is a sum over datastore spans as before,
so that the shares of evidence still add up to the probability.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor


@dataclass(frozen=True)
class Vote:
    """How the spans of a datastore count; with the defaults as in training."""

    times: float = 1.0  # that a span counts whose label training did not know
    temperature: float = 1.0  # T: the higher, the more alike do near and far spans count
    neighbours: int = 0  # K: the nearest sentences; 0: as the head has it
    known: frozenset[str] = frozenset()  # the labels that training knew
    fitted: int = 0  # on how many sentences with other labels
    known_times: float = 1.0  # that a span counts whose label training knew

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Vote:
        """Read what `to_dict` gave; a ValueError where it is none."""
        times, temperature = float(content["times"]), float(content["temperature"])
        neighbours, known, fitted = content["neighbours"], list(content["known"]), content["fitted"]
        known_times = float(content["known_times"])
        if not all(0 < number < math.inf for number in (times, temperature, known_times)):
            numbers = f"times {times} and {known_times} and temperature {temperature}"
            raise ValueError(f"a vote has {numbers}, not numbers above 0")
        if any(type(count) is not int or count < 0 for count in (neighbours, fitted)):
            raise ValueError(f"a vote has neighbours {neighbours!r}, fitted on {fitted!r}, not numbers from 0")
        if not all(isinstance(label, str) for label in known):
            raise ValueError(f"a vote has labels {known!r}")
        return cls(times, temperature, neighbours, frozenset(known), fitted, known_times)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "times": self.times,
            "temperature": self.temperature,
            "neighbours": self.neighbours,
            "known": sorted(self.known),
            "fitted": self.fitted,
            "known_times": self.known_times,
        }

    def label_weights(self, names: Sequence[str]) -> Tensor:
        """v_y [1 + Y] of labels by their numbers, null's "" first.

        >>> Vote(times=4.0, known=frozenset({"PLACE"})).label_weights(["", "PLACE", "DRUG"]).tolist()
        [1.0, 1.0, 4.0]
        """
        of_label = [self.known_times if name in self.known else self.times for name in names]
        return torch.tensor([times if name else 1.0 for name, times in zip(names, of_label, strict=True)])

    @property
    def most_times(self) -> float:
        """That a span counts at most, and at least once."""
        return max(1.0, self.times, self.known_times)

    def reweigh(self, probabilities: Tensor, names: Sequence[str]) -> Tensor:
        """P(y|s) [..., 1 + Y] where every span counts once, as it is with this vote.

        >>> Vote(times=4.0).reweigh(torch.tensor([0.8, 0.2]), ["", "DRUG"]).tolist()
        [0.5, 0.5]
        """
        weights = self.label_weights(names)
        if bool((weights == 1).all()):
            return probabilities
        weighted = probabilities * weights.to(probabilities)
        return weighted / weighted.sum(-1, keepdim=True)

    def least_share(self, share: float) -> float:
        """The share of all weight that entities have where each span counts once, if it is `share` with this vote.

        >>> round(Vote(times=4.0).least_share(0.5), 3)
        0.2
        """
        return share / (share + self.most_times * (1 - share))

    def of_known(self) -> Vote:
        """The same for a datastore that has only labels which training knew."""
        return Vote(known=self.known, known_times=self.known_times) if self.known_times != 1 else AS_TRAINED


AS_TRAINED = Vote()
