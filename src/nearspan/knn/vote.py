"""The vote of a datastore whose labels are not those of the training.

Training makes exp(s . s_j) right for its own labels, and for the null spans of its own corpora. Of other labels nothing
was learned: spans that have one are outvoted by null ones. So they count several times, their number of neighbours is
another, and so may be the temperature T:

    P(y|s) = v_y sum_{j: y_j = y} w_j exp(s . s_j / T) / sum_y' v_y' sum_{j: y_j = y'} w_j exp(s . s_j / T)

where v_y is 1 for null and for the labels that training knew, and `times` for all others. It is a sum over datastore
spans as before, so that the shares of evidence still add up to the probability.
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

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Vote:
        """Read what `to_dict` gave; a ValueError where it is none."""
        times, temperature = float(content["times"]), float(content["temperature"])
        neighbours, known, fitted = content["neighbours"], list(content["known"]), content["fitted"]
        if not (0 < times < math.inf and 0 < temperature < math.inf):
            raise ValueError(f"a vote has times {times} and temperature {temperature}, not numbers above 0")
        if any(type(count) is not int or count < 0 for count in (neighbours, fitted)):
            raise ValueError(f"a vote has neighbours {neighbours!r}, fitted on {fitted!r}, not numbers from 0")
        if not all(isinstance(label, str) for label in known):
            raise ValueError(f"a vote has labels {known!r}")
        return cls(times, temperature, neighbours, frozenset(known), fitted)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "times": self.times,
            "temperature": self.temperature,
            "neighbours": self.neighbours,
            "known": sorted(self.known),
            "fitted": self.fitted,
        }

    def label_weights(self, names: Sequence[str]) -> Tensor:
        """v_y [1 + Y] of labels by their numbers, null's "" first.

        >>> Vote(times=4.0, known=frozenset({"PLACE"})).label_weights(["", "PLACE", "DRUG"]).tolist()
        [1.0, 1.0, 4.0]
        """
        return torch.tensor([1.0 if not name or name in self.known else self.times for name in names])

    def reweigh(self, probabilities: Tensor, names: Sequence[str]) -> Tensor:
        """P(y|s) [..., 1 + Y] where every span counts once, as it is with this vote.

        >>> Vote(times=4.0).reweigh(torch.tensor([0.8, 0.2]), ["", "DRUG"]).tolist()
        [0.5, 0.5]
        """
        if self.times == 1:
            return probabilities
        weighted = probabilities * self.label_weights(names).to(probabilities)
        return weighted / weighted.sum(-1, keepdim=True)

    def least_share(self, share: float) -> float:
        """The share of all weight that entities have where each span counts once, if it is `share` with this vote.

        >>> round(Vote(times=4.0).least_share(0.5), 3)
        0.2
        """
        times = max(1.0, self.times)
        return share / (share + times * (1 - share))


AS_TRAINED = Vote()
