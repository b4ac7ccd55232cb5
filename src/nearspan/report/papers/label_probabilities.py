"""The label probabilities of gold spans, and what they tell of right and wrong ones.

After the analyses of the SNG paper (figures 4 to 6), for any system that gives spans probabilities. A span is right
where its gold label is the likeliest of all, null included; what decoding keeps of it is another matter.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from nearspan.model import Model
from nearspan.report.papers.projection import Components, principal
from nearspan.report.papers.spans import GoldSpan, label_probabilities

LEAST = 1e-12  # a probability below it counts as this much, so that ratios stay finite


@dataclass(frozen=True)
class LabelProbabilities:
    """N gold spans with labels that a model knows, and what it makes of them.

    >>> spans = LabelProbabilities([], np.array([[0.1, 0.8, 0.1], [0.5, 0.25, 0.25]]), np.array([1, 2]))
    >>> spans.right.tolist(), spans.gold_probability.tolist(), spans.discrepancy.tolist()
    ([True, False], [0.8, 0.25], [0.0, 1.0])
    """

    spans: Sequence[GoldSpan]
    probabilities: NDArray[np.float64]  # [N, 1 + Y], null first
    gold: NDArray[np.int64]  # [N] from 1

    @classmethod
    def of(cls, model: Model, spans: Sequence[GoldSpan]) -> Self:
        """Read the spans whose labels the model knows."""
        number = {label: i for i, label in enumerate(model.labels) if i}
        known = [span for span in spans if span.entity.label in number]
        probabilities = label_probabilities(model, known).double().cpu().numpy()
        return cls(known, probabilities, np.array([number[span.entity.label] for span in known], dtype=np.int64))

    @cached_property
    def right(self) -> NDArray[np.bool_]:
        """[N] Whether the gold label is the likeliest."""
        return np.asarray(self.probabilities.argmax(1) == self.gold)

    @cached_property
    def gold_probability(self) -> NDArray[np.float64]:
        """[N] P(gold label | span)."""
        return np.asarray(self.probabilities[np.arange(len(self.gold)), self.gold])

    @cached_property
    def discrepancy(self) -> NDArray[np.float64]:
        """[N] log2 of the highest probability over the gold label's: 0 where it is right, above 0 where not.

        The paper's "Down", below 0, cannot be: no label is likelier than the likeliest.
        """
        highest = np.maximum(self.probabilities.max(1), LEAST)
        return np.asarray(np.log2(highest / np.maximum(self.gold_probability, LEAST)))

    @cached_property
    def dispersion(self) -> NDArray[np.float64]:
        """[N] log10 of the variance of a span's probabilities over the gold label's: the paper's D.

        It is high where a model is sure of itself and gives the gold label little.
        """
        variance = self.probabilities.var(1)
        return np.asarray(np.log10(np.maximum(variance, LEAST) / np.maximum(self.gold_probability, LEAST)))

    @cached_property
    def components(self) -> Components:
        """The probabilities along their first two principal components."""
        return principal(self.probabilities.astype(np.float32))

    def to_dict(self) -> dict[str, Any]:
        """For JSON: the numbers of each span, and of all."""
        return {
            "explained": self.components.explained,
            "spans": [
                {
                    "text": span.text,
                    "label": span.entity.label,
                    "right": bool(correct),
                    "gold_probability": round(float(likely), 6),
                    "discrepancy": round(float(x), 4),
                    "dispersion": round(float(y), 4),
                }
                for span, correct, likely, x, y in zip(
                    self.spans, self.right, self.gold_probability, self.discrepancy, self.dispersion, strict=True
                )
            ],
        }
