"""Pools of labelled training spans that a head may compare with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor
from torch.nn import functional

from nearspan.knn.prefix_products import WordScores


class LabelledRows(Protocol):
    """N labelled spans whose vectors are to be had some rows at a time: a pool, or a datastore."""

    @property
    def labels(self) -> Tensor:
        """[N] 0 is null."""

    def rows(self, rows: slice) -> Tensor:
        """Vectors [n, H] of some of them."""

    def offsets(self, rows: slice) -> Tensor:
        """What is added to their scores [n]: log of their weight, -inf for those that do not count."""


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


@dataclass(frozen=True)
class WordPool:
    """What some sentences of a datastore hold, B pools side by side: one vector for each of X columns.

    The columns are the words' steps with a gap after each sentence, then the entities, then the words' begins unless
    all spans begin alike (that adds the same to every score, so it is no matter for a softmax).
    """

    table: Tensor  # [R, H] the vectors of all columns there are
    index: Tensor  # [B, X] the rows of it that are meant
    gaps: Tensor  # [B, W] 0 for words, -inf for gaps and padding
    labels: Tensor  # [B, E] the entities' labels, -1 for padding
    begins: bool

    @property
    def entities(self) -> slice:
        """The columns of the entities."""
        words = self.gaps.shape[1]
        return slice(words, words + self.labels.shape[1])

    def by_words(self, scores: Tensor) -> WordScores:
        """Those of scores [..., X] that belong to words."""
        words = self.gaps.shape[1]
        return WordScores(scores[..., :words], scores[..., -words:] if self.begins else None)

    def scores(self, queries: Tensor) -> Tensor:
        """Inner products [B, R, X] with vectors [B, R, H]; a single pool serves all of them."""
        if len(self.index) == 1:
            return queries @ self.table.index_select(0, self.index[0]).to(queries.dtype).T
        return self.scores_of(queries.flatten(0, 1), [queries.shape[1]] * len(queries)).view(*queries.shape[:2], -1)

    def scores_of(self, queries: Tensor, counts: Sequence[int]) -> Tensor:
        """The same [N, X] for vectors [N, H] of which so many belong to each pool, in order."""
        scores = queries.new_empty(len(queries), self.index.shape[1])
        room = self.table.new_empty(self.index.shape[1], self.table.shape[1])
        for part, vectors, rows in zip(scores.split(counts), queries.split(counts), self.index, strict=True):
            torch.mm(vectors, torch.index_select(self.table, 0, rows, out=room).T, out=part)  # one by one in the cache
        return scores
