"""The sigmoid head: every label is a yes or a no of its own, so a span may have several (Nguyen et al., 2023)."""

from typing import ClassVar, Literal

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional

from nearspan.heads.protocol import Head, HeadInputs, Query, Targets
from nearspan.knn import Pool
from nearspan.registry import register
from nearspan.settings import Settings


class SigmoidSettings(Settings):
    """A binary classifier for each label."""

    kind: Literal["sigmoid"] = "sigmoid"
    threshold: float = Field(default=0.5, gt=0, lt=1)  # a label holds where its probability is above it
    tuned: bool = False  # after training, give each label the threshold that is best on the development data


class SigmoidHead(Head):
    """P(y|s) = sigmoid(w_y . h_s + b_y) for each label y; null is none of them."""

    Settings: ClassVar[type[Settings]] = SigmoidSettings
    multilabel: ClassVar[bool] = True
    thresholds: Tensor

    def __init__(self, settings: SigmoidSettings, inputs: HeadInputs) -> None:
        super().__init__()
        self.settings, self.has_null = settings, inputs.has_null
        self.weight = nn.Parameter(torch.empty(inputs.labels, inputs.span_size))
        self.bias = nn.Parameter(torch.zeros(inputs.labels))
        self.register_buffer("thresholds", torch.full((inputs.labels,), settings.threshold))  # [Y]
        nn.init.xavier_uniform_(self.weight)

    def scores(self, vectors: Tensor) -> Tensor:
        """Scores [S, Y]; there is none for null."""
        return functional.linear(vectors, self.weight, self.bias)

    def loss(self, query: Query, targets: Targets, pool: Pool | None = None) -> Tensor:  # noqa: ARG002
        """Binary cross-entropy, summed over labels and spans; targets [S, 1 + Y], whose first column says nothing."""
        assert targets.spans is not None
        scores = self.scores(query.vectors).float()
        return functional.binary_cross_entropy_with_logits(scores, targets.spans[:, 1:], reduction="sum")

    def predict_proba(self, query: Query, *, entities_only: bool = False) -> Tensor:  # noqa: ARG002
        """P(y|s) [S, 1 + Y]. They do not add up to 1: null is the product of all labels' 1 - P(y|s)."""
        scores = query.linear(self.weight, self.bias).float()
        null = functional.logsigmoid(-scores).sum(-1, keepdim=True).exp()
        return torch.cat([null, scores.sigmoid()], dim=-1)

    def choose(self, probabilities: Tensor) -> tuple[Tensor, Tensor]:
        """Rows and labels of those P(y|s) [S, 1 + Y] that are above their label's threshold."""
        if not self.has_null:
            return super().choose(probabilities)
        new = probabilities.shape[1] - 1 - len(self.thresholds)  # labels of the datastore alone
        thresholds = functional.pad(self.thresholds, (0, new), value=self.settings.threshold)
        rows, labels = (probabilities[:, 1:] > thresholds).nonzero().unbind(1)
        return rows, labels + 1

    @property
    def tunable_thresholds(self) -> Tensor | None:
        """The labels' thresholds [Y], where they are to be fitted."""
        return self.thresholds if self.settings.tuned else None


register("head", SigmoidHead)
