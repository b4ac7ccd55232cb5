"""The softmax classifier over span vectors (Ouchi et al., 2020, section 3.1; Zhu et al., 2023, equation 6)."""

from __future__ import annotations

from typing import ClassVar, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from nearspan.knn.pool import Pool
from nearspan.settings import Settings


class SoftmaxSettings(Settings):
    """A softmax over span vectors."""

    multilabel: ClassVar[bool] = False  # whether a span may have several labels
    tags_words: ClassVar[bool] = False  # whether it reads words: flat entities of any width

    kind: Literal["softmax"] = "softmax"
    null: Literal["zero", "learned"] = "zero"  # the score of null: the constant 0, or w . h like the others'
    bias: bool = False  # a bias for each score that is learned

    def build(self, inputs: int, labels: int, ends: int = 0) -> SoftmaxHead:  # noqa: ARG002
        """The head for `labels` labels beside null."""
        return SoftmaxHead(self, inputs, labels)


class Softmax(nn.Module):
    """A head whose label probabilities are a softmax of its scores."""

    uses_memory: ClassVar[bool] = False
    typing = False  # whether spans are given as entities, so that none is null

    def scores(self, vectors: Tensor) -> Tensor:
        """Scores [S, 1 + Y], null first."""
        raise NotImplementedError

    def loss(self, vectors: Tensor, targets: Tensor, pool: Pool | None = None) -> Tensor:  # noqa: ARG002
        """-sum_y t_y log P(y|s), summed over spans; targets t [S, 1 + Y]."""
        null = int(self.typing)  # columns to leave out
        return functional.cross_entropy(self.scores(vectors).float()[:, null:], targets[:, null:], reduction="sum")

    def probabilities(self, vectors: Tensor, pool: Pool | None = None) -> Tensor:  # noqa: ARG002
        """P(y|s) [S, 1 + Y]; where spans are given null has 0."""
        null = int(self.typing)
        return functional.pad(self.scores(vectors).float()[:, null:].softmax(-1), (null, 0))


class SoftmaxHead(Softmax):
    """score(s, y) = w_y . h_s (+ b_y); null has the score 0, or a w and b of its own."""

    def __init__(self, settings: SoftmaxSettings, inputs: int, labels: int) -> None:
        super().__init__()
        self.settings = settings
        rows = labels + 1 if settings.null == "learned" else labels
        self.weight = nn.Parameter(torch.empty(rows, inputs))
        self.bias = nn.Parameter(torch.zeros(rows)) if settings.bias else None
        nn.init.xavier_uniform_(self.weight)

    def scores(self, vectors: Tensor) -> Tensor:
        """Scores [S, 1 + Y], null first."""
        learned = functional.linear(vectors, self.weight, self.bias)
        return learned if self.settings.null == "learned" else functional.pad(learned, (1, 0))
