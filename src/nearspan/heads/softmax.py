"""The softmax head over span vectors (Ouchi et al., 2020, section 3.1; Zhu et al., 2023, equation 6)."""

from typing import ClassVar, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from nearspan.errors import ModelError
from nearspan.heads.protocol import Head, HeadInputs, Query, Targets
from nearspan.knn import Pool
from nearspan.registry import register
from nearspan.settings import Settings


class SoftmaxSettings(Settings):
    """A softmax over span vectors."""

    kind: Literal["softmax"] = "softmax"
    null: Literal["zero", "learned"] = "zero"  # the score of null: the constant 0, or w . h like the others'
    bias: bool = False  # a bias for each score that is learned


class ScoreHead(Head):
    """A head whose label probabilities are a softmax of its scores. Where spans are given null is left out."""

    def __init__(self, has_null: bool = True) -> None:
        super().__init__()
        self.has_null = has_null

    def scores(self, vectors: Tensor) -> Tensor:
        """Scores [S, 1 + Y] of span vectors [S, H], null first."""
        raise NotImplementedError

    def loss(self, query: Query, targets: Targets, pool: Pool | None = None) -> Tensor:  # noqa: ARG002
        """-sum_y t_y log P(y|s), summed over spans; targets t [S, 1 + Y]."""
        assert targets.spans is not None
        scores, skip = self.scores(query.vectors).float(), int(not self.has_null)  # columns to leave out
        if scores.shape != targets.spans.shape:
            expected = f"{list(targets.spans.shape)} is expected: for each candidate a score of null and of each label"
            raise ModelError(f"{type(self).__name__}.scores gives {list(scores.shape)} where {expected}")
        return functional.cross_entropy(scores[:, skip:], targets.spans[:, skip:], reduction="sum")

    def predict_proba(self, query: Query, *, entities_only: bool = False) -> Tensor:  # noqa: ARG002
        """P(y|s) [S, 1 + Y]; where spans are given null has 0."""
        return self.normalise(self.scores(query.vectors))

    def normalise(self, scores: Tensor) -> Tensor:
        """Probabilities [S, 1 + Y] of scores [S, 1 + Y]."""
        skip = int(not self.has_null)
        return functional.pad(scores.float()[:, skip:].softmax(-1), (skip, 0))


class SoftmaxHead(ScoreHead):
    """score(s, y) = w_y . h_s (+ b_y); null has the score 0, or a w and b of its own."""

    Settings: ClassVar[type[Settings]] = SoftmaxSettings

    def __init__(self, settings: SoftmaxSettings, inputs: HeadInputs) -> None:
        super().__init__(inputs.has_null)
        self.settings = settings
        self.rows_before_labels = int(settings.null == "learned")
        rows = inputs.labels + self.rows_before_labels
        self.weight = nn.Parameter(torch.empty(rows, inputs.span_size))
        self.bias = nn.Parameter(torch.zeros(rows)) if settings.bias else None
        nn.init.xavier_uniform_(self.weight)

    def scores(self, vectors: Tensor) -> Tensor:
        """Scores [S, 1 + Y], null first."""
        return self._with_null(functional.linear(vectors, self.weight, self.bias))

    def predict_proba(self, query: Query, *, entities_only: bool = False) -> Tensor:  # noqa: ARG002
        """P(y|s) [S, 1 + Y]; where spans are given null has 0."""
        return self.normalise(self._with_null(query.linear(self.weight, self.bias)))

    def _with_null(self, learned: Tensor) -> Tensor:
        """Scores [S, 1 + Y], null first, of those that have weights."""
        return learned if self.settings.null == "learned" else functional.pad(learned, (1, 0))


register("head", SoftmaxHead)
