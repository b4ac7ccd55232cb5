"""Pools of labelled training spans that a head may compare with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor
from torch.nn import functional

from nearspan.knn.prefix_products import WordScores
from nearspan.spans import EndSums


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

    def columns(self, scores: Tensor) -> tuple[WordScores, Tensor]:
        """Of scores [..., X] those of words, and those of entities [..., E]."""
        words, entities = self.gaps.shape[1], self.labels.shape[1]
        begins = scores[..., -words:] if self.begins else None
        return WordScores(scores[..., :words], begins), scores[..., words : words + entities]

    def end_scores(self, ends: EndSums, scale: float) -> tuple[Tensor, Tensor]:
        """What the left and right ends of B sentences' spans add to the spans' scores [B, T, X], times `scale`.

        Where left ends follow from right ones, T + 2 vectors are compared instead of 2 T.
        """
        left, right, shared = ends.left, ends.right, ends.shared
        words = left.shape[1]
        if shared is None:
            vectors = torch.cat([left, right], dim=1)
        else:
            between = shared.expand(len(left), 1, -1)
            vectors = torch.cat([-left[:, :1], right - between, between], dim=1)
        queries = vectors * scale
        if len(self.index) == 1:  # a single pool serves all sentences
            scores = queries @ self.table.index_select(0, self.index[0]).to(queries.dtype).T
        else:
            counts = [queries.shape[1]] * len(queries)
            scores = self.scores_of(queries.flatten(0, 1), counts).view(*queries.shape[:2], -1)
        if shared is None:
            return scores[:, :words], scores[:, words:]
        return -scores[:, :words], scores[:, 1:-1] + scores[:, -1:]

    def scores_of(self, queries: Tensor, counts: Sequence[int]) -> Tensor:
        """Inner products [N, X] with vectors [N, H] of which so many belong to each pool, in order."""
        scores = queries.new_empty(len(queries), self.index.shape[1])
        room = self.table.new_empty(self.index.shape[1], self.table.shape[1])
        for part, vectors, rows in zip(scores.split(counts), queries.split(counts), self.index, strict=True):
            torch.mm(vectors, torch.index_select(self.table, 0, rows, out=room).T, out=part)  # one by one in the cache
        return scores
