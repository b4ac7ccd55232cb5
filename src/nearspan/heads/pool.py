"""A pool of labelled training spans that a head may compare with."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor
from torch.nn import functional


@dataclass(frozen=True)
class Pool:
    """N labelled span vectors, or B pools of N side by side; label 0 is null, -1 is padding."""

    vectors: Tensor  # [N, H] or [B, N, H]
    labels: Tensor  # [N] or [B, N]

    def votes(self, count: int) -> Tensor:
        """One-hot labels [..., N, count]; padding votes for nothing."""
        hot = functional.one_hot(self.labels + 1, count + 1)[..., 1:]
        return hot.to(self.vectors.dtype)
