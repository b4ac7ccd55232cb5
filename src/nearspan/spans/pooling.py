"""Pooled spans: one vector from the words of a span (Zhu et al., 2023, appendix A)."""

from collections.abc import Iterator, Sequence
from typing import ClassVar, Literal

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional

from nearspan.encoders import Encoded
from nearspan.registry import register
from nearspan.settings import Settings
from nearspan.spans.candidates import Candidates
from nearspan.spans.representation import Representation
from nearspan.spans.span_grid import SpanGrid, gather_rows
from nearspan.spans.span_projection import SpanProjection, SpanProjectionSettings

PoolingKind = Literal["max", "mean", "multiplicative", "additive"]


class PoolingSettings(Settings):
    """Spans pooled from the encoder's last states."""

    kind: Literal["pooling"] = "pooling"
    pooling: PoolingKind = "max"
    dropout: float = Field(default=0.2, ge=0, lt=1)  # on the states that are pooled
    projection: SpanProjectionSettings = SpanProjectionSettings()


class Pooling(Representation):
    """A span is the maximum, the mean or a weighted mean of its words' states."""

    Settings: ClassVar[type[Settings]] = PoolingSettings
    may_skip_weights: ClassVar[bool] = True

    def __init__(self, settings: PoolingSettings, inputs: int, max_width: int) -> None:
        super().__init__()
        self.max_width = max_width
        self.pool = Pool(settings.pooling, inputs)
        self.dropout = nn.Dropout(settings.dropout)
        self.projection = SpanProjection(settings.projection, inputs, max_width)
        self.size = self.projection.size

    def forward(self, encoded: Encoded, candidates: Candidates) -> Tensor:
        """Span vectors [S, size]."""
        lengths, words = encoded.batch.lengths, encoded.states.shape[1]
        grid = SpanGrid.of(candidates, lengths, words, self.max_width)
        spans = self.pool(self.dropout(encoded.states), grid)
        vectors: Tensor = self.projection(encoded.states, spans, grid, candidates, encoded.batch)
        return vectors


class Pool(nn.Module):
    """Pools the words of every wide span at once: the result for a width comes from the one for the width before."""

    def __init__(self, kind: PoolingKind, size: int) -> None:
        super().__init__()
        self.kind = kind
        self.attention = PoolingAttention(size, kind) if kind in ("multiplicative", "additive") else None

    def forward(self, states: Tensor, grid: SpanGrid) -> Tensor:
        """Vectors of the wide spans [N, d] from word states [B, T, d]."""
        if not len(grid):
            return states.new_zeros(0, states.shape[-1])
        words = shift_words(states, grid)
        if self.attention is not None:
            pooled = running_weighted_means(words, shift_words(self.attention(states)[..., None], grid))
        else:
            pooled = running_maxima(words) if self.kind == "max" else running_means(words)
        cells = torch.stack(list(pooled), dim=2)  # [B, starts, widths, d]
        return gather_rows(cells.flatten(0, 2), grid.cells)


class PoolingAttention(nn.Module):
    """A score for each word: u . tanh(W h), or u . tanh(W [h, v]) with a vector v of its own."""

    def __init__(self, size: int, kind: PoolingKind) -> None:
        super().__init__()
        self.vector = nn.Parameter(torch.empty(size)) if kind == "additive" else None
        self.inner = nn.Linear(size if self.vector is None else 2 * size, size, bias=False)
        self.outer = nn.Parameter(torch.empty(size))
        nn.init.xavier_uniform_(self.inner.weight)
        for parameter in (self.vector, self.outer):
            if parameter is not None:
                nn.init.uniform_(parameter, -((3 / size) ** 0.5), (3 / size) ** 0.5)

    def forward(self, states: Tensor) -> Tensor:
        """Scores [B, T]."""
        if self.vector is not None:
            states = torch.cat([states, self.vector.expand_as(states)], dim=-1)
        scores: Tensor = (self.inner(states).tanh() * self.outer).sum(-1)
        return scores


def shift_words(states: Tensor, grid: SpanGrid) -> list[Tensor]:
    """Each first word, the word after it, ... [B, starts, d]; zeros beyond the end."""
    starts, shifts = grid.starts, grid.widths + 1
    padded = functional.pad(states, (0, 0, 0, max(0, starts + shifts - states.shape[1])))
    return [padded[:, shift : shift + starts] for shift in range(shifts)]


def running_maxima(words: Sequence[Tensor]) -> Iterator[Tensor]:
    """The maximum of 2, 3, ... words."""
    maximum = words[0]
    for word in words[1:]:
        maximum = torch.where(word > maximum, word, maximum)  # its way back is shorter than that of `torch.maximum`
        yield maximum


def running_means(words: Sequence[Tensor]) -> Iterator[Tensor]:
    """The mean of 2, 3, ... words."""
    total = words[0]
    for width, word in enumerate(words[1:], start=2):
        total = total + word
        yield total / width


def running_weighted_means(words: Sequence[Tensor], scores: Sequence[Tensor]) -> Iterator[Tensor]:
    """The mean of 2, 3, ... words weighted by a softmax of their scores [B, starts, 1]."""
    highest, weights, total = scores[0], torch.ones_like(scores[0]), words[0]
    for word, score in zip(words[1:], scores[1:], strict=True):
        higher = torch.maximum(highest, score)
        old, new = (highest - higher).exp(), (score - higher).exp()
        total = total * old + word * new
        highest, weights = higher, weights * old + new
        yield total / weights


register("representation", Pooling)
