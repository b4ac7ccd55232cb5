"""The biaffine head: the two ends of a span judged together (Yu et al., 2020; Zhu et al., 2023, appendix D)."""

from __future__ import annotations

from typing import ClassVar, Literal

import torch
from torch import Tensor, nn

from nearspan.errors import ConfigError
from nearspan.heads.softmax import Softmax
from nearspan.settings import Settings


class BiaffineSettings(Settings):
    """A softmax over biaffine scores; its spans are `ends`."""

    multilabel: ClassVar[bool] = False
    tags_words: ClassVar[bool] = False

    kind: Literal["biaffine"] = "biaffine"

    def build(self, inputs: int, labels: int, ends: int = 0) -> BiaffineHead:
        """The head for `labels` labels beside null, over vectors that begin with two ends of width `ends`."""
        if not ends:
            raise ConfigError('the biaffine head compares the ends of a span: set representation.kind to "ends"')
        return BiaffineHead(inputs, labels, ends)


class BiaffineHead(Softmax):
    """score(s, y) = a . U_y b + w_y . [a, b, width] + c_y for a span with the ends a and b; null has a U of its own."""

    def __init__(self, inputs: int, labels: int, ends: int) -> None:
        super().__init__()
        self.ends = ends
        self.between = nn.Parameter(torch.empty(labels + 1, ends, ends))
        self.linear = nn.Linear(inputs, labels + 1)
        for one in (*self.between.data, self.linear.weight):
            nn.init.orthogonal_(one)
        nn.init.zeros_(self.linear.bias)

    def scores(self, vectors: Tensor) -> Tensor:
        """Scores [S, 1 + Y], null first."""
        first, last = vectors[:, : self.ends], vectors[:, self.ends : 2 * self.ends]
        met = (first @ self.between.transpose(0, 1).flatten(1)).unflatten(1, (-1, self.ends))  # [S, 1 + Y, ends]
        scores: Tensor = torch.einsum("sye,se->sy", met, last) + self.linear(vectors)
        return scores
