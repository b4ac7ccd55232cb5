"""The sigmoid head: every label is a yes or a no of its own, so a span may have several (Nguyen et al., 2023)."""

from __future__ import annotations

from typing import ClassVar, Literal

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional

from nearspan.knn.pool import Pool
from nearspan.settings import Settings


class SigmoidSettings(Settings):
    """A binary classifier for each label."""

    multilabel: ClassVar[bool] = True
    tags_words: ClassVar[bool] = False

    kind: Literal["sigmoid"] = "sigmoid"
    threshold: float = Field(default=0.5, gt=0, lt=1)  # a label holds where its probability is above it
    tuned: bool = False  # after training, give each label the threshold that is best on the development data

    def build(self, inputs: int, labels: int, ends: int = 0) -> SigmoidHead:  # noqa: ARG002
        """The head for `labels` labels; a span that has none is null."""
        return SigmoidHead(self, inputs, labels)


class SigmoidHead(nn.Module):
    """P(y|s) = sigmoid(w_y . h_s + b_y) for each label y; null is none of them."""

    uses_memory: ClassVar[bool] = False
    thresholds: Tensor

    def __init__(self, settings: SigmoidSettings, inputs: int, labels: int) -> None:
        super().__init__()
        self.settings = settings
        self.weight = nn.Parameter(torch.empty(labels, inputs))
        self.bias = nn.Parameter(torch.zeros(labels))
        self.register_buffer("thresholds", torch.full((labels,), settings.threshold))  # [Y]
        nn.init.xavier_uniform_(self.weight)

    def scores(self, vectors: Tensor) -> Tensor:
        """Scores [S, Y]; there is none for null."""
        return functional.linear(vectors, self.weight, self.bias)

    def loss(self, vectors: Tensor, targets: Tensor, pool: Pool | None = None) -> Tensor:  # noqa: ARG002
        """Binary cross-entropy, summed over labels and spans; targets [S, 1 + Y], whose first column says nothing."""
        scores = self.scores(vectors).float()
        return functional.binary_cross_entropy_with_logits(scores, targets[:, 1:], reduction="sum")

    def probabilities(self, vectors: Tensor, pool: Pool | None = None) -> Tensor:  # noqa: ARG002
        """P(y|s) [S, 1 + Y]. They do not add up to 1: null is the product of all labels' 1 - P(y|s)."""
        scores = self.scores(vectors).float()
        null = functional.logsigmoid(-scores).sum(-1, keepdim=True).exp()
        return torch.cat([null, scores.sigmoid()], dim=-1)

    def above(self, probabilities: Tensor) -> tuple[Tensor, Tensor]:
        """Rows and labels, 1 to Y, of those P(y|s) [S, 1 + Y] that are above their label's threshold."""
        rows, labels = (probabilities[:, 1:] > self.thresholds).nonzero().unbind(1)
        return rows, labels + 1
