"""Pools of labelled training spans that a head may compare with."""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional


@dataclass(frozen=True)
class Pool:
    """N labelled span vectors, or B pools of N side by side; label 0 is null, -1 is padding."""

    vectors: Tensor  # [N, H] or [B, N, H]
    labels: Tensor  # [N] or [B, N]
    log_weights: Tensor | None = None  # [N] or [B, N]; None: each span counts once

    def rows(self, rows: slice) -> Tensor:
        """Vectors [n, H] of some spans of one pool."""
        return self.vectors[rows]

    def offsets(self, rows: slice = slice(None)) -> Tensor:
        """What is added to the scores of some spans [..., n]: log of their weight, -inf for padding."""
        labels = self.labels[..., rows]
        weights = torch.zeros((), device=labels.device) if self.log_weights is None else self.log_weights[..., rows]
        return weights.masked_fill(labels < 0, -torch.inf)

    def one_hot_labels(self, count: int) -> Tensor:
        """One-hot labels [..., N, count]; padding has none."""
        return functional.one_hot(self.labels + 1, count + 1)[..., 1:].float()
