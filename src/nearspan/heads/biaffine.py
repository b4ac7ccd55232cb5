"""The biaffine head: the two ends of a span scored together (Yu et al., 2020; Zhu et al., 2023, appendix D)."""

from __future__ import annotations

from typing import ClassVar, Literal

import torch
from torch import Tensor, nn

from nearspan.errors import ConfigError
from nearspan.heads.protocol import HeadInputs
from nearspan.heads.softmax import ScoreHead
from nearspan.registry import register
from nearspan.settings import Settings


class BiaffineSettings(Settings):
    """A softmax over biaffine scores; its span vectors begin with two ends."""

    kind: Literal["biaffine"] = "biaffine"


class BiaffineHead(ScoreHead):
    """score(s, y) = a . U_y b + w_y . [a, b, width] + c_y for a span with the ends a and b; null has a U of its own."""

    Settings: ClassVar[type[Settings]] = BiaffineSettings

    def __init__(self, inputs: HeadInputs) -> None:
        super().__init__(inputs.has_null)
        self.rows_before_labels = 1
        self.ends = inputs.end_size
        self.between = nn.Parameter(torch.empty(inputs.labels + 1, inputs.end_size, inputs.end_size))
        self.linear = nn.Linear(inputs.span_size, inputs.labels + 1)
        for weight in (*self.between.data, self.linear.weight):
            nn.init.orthogonal_(weight)
        nn.init.zeros_(self.linear.bias)

    @classmethod
    def build(cls, settings: BiaffineSettings, inputs: HeadInputs) -> BiaffineHead:  # noqa: ARG003
        """The head over vectors that begin with two ends."""
        if inputs.is_compressed:
            raise ConfigError(
                "the biaffine head compares a span's ends, which a bottleneck blends: set bottleneck=none"
            )
        if not inputs.end_size:
            raise ConfigError(
                'the biaffine head compares the ends of a span: set representation.kind to "endpoint_mlp"'
            )
        return cls(inputs)

    def scores(self, vectors: Tensor) -> Tensor:
        """Scores [S, 1 + Y], null first."""
        first, last = vectors[:, : self.ends], vectors[:, self.ends : 2 * self.ends]
        met = (first @ self.between.transpose(0, 1).flatten(1)).unflatten(1, (-1, self.ends))  # [S, 1 + Y, ends]
        scores: Tensor = torch.einsum("sye,se->sy", met, last) + self.linear(vectors)
        return scores


register("head", BiaffineHead)
