"""The softmax classifier over span vectors (Ouchi et al., 2020, section 3.1)."""

from __future__ import annotations

from typing import ClassVar, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from nearspan.heads.pool import Pool
from nearspan.settings import Settings


class ClassifierSettings(Settings):
    """A softmax whose null score is the constant 0."""

    kind: Literal["classifier"] = "classifier"

    def build(self, inputs: int, labels: int) -> Classifier:
        """The head for `labels` labels beside null."""
        return Classifier(inputs, labels)


class Classifier(nn.Module):
    """score(s, y) = w_y . h_s, score(s, null) = 0."""

    uses_memory: ClassVar[bool] = False

    def __init__(self, inputs: int, labels: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(labels, inputs))
        nn.init.xavier_uniform_(self.weight)

    def scores(self, vectors: Tensor) -> Tensor:
        """Scores [S, 1 + Y], null first."""
        return functional.pad(functional.linear(vectors, self.weight), (1, 0))

    def loss(self, vectors: Tensor, gold: Tensor, pool: Pool | None = None) -> Tensor:  # noqa: ARG002
        """Negative log-likelihood, summed over spans."""
        return functional.cross_entropy(self.scores(vectors).float(), gold, reduction="sum")

    def probabilities(self, vectors: Tensor, pool: Pool | None = None) -> Tensor:  # noqa: ARG002
        """P(y|s) [S, 1 + Y]."""
        return self.scores(vectors).float().softmax(-1)
