"""Shallow spans: one vector from the words of a span (Zhu et al., 2023, appendix A)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional

from nearspan.encoders import Encoded, Encoder
from nearspan.settings import Settings
from nearspan.spans.candidates import Candidates
from nearspan.spans.layout import Layout, taken
from nearspan.spans.reading import SpanReader, SpanReaderSettings

How = Literal["max", "mean", "multiplicative", "additive"]


class PoolingSettings(Settings):
    """Spans pooled from the encoder's last states."""

    kind: Literal["pooling"] = "pooling"
    pooling: How = "max"
    dropout: float = Field(default=0.2, ge=0, lt=1)  # on the states that are pooled
    reader: SpanReaderSettings = SpanReaderSettings()

    def build(self, encoder: Encoder, max_width: int) -> Pooling:
        """The representation over an encoder's states."""
        return Pooling(self, encoder.size, max_width)


class Pooling(nn.Module):
    """A span is what its words have in common, or the word that says most."""

    def __init__(self, settings: PoolingSettings, inputs: int, max_width: int) -> None:
        super().__init__()
        self.max_width = max_width
        self.pool = Pool(settings.pooling, inputs)
        self.dropout = nn.Dropout(settings.dropout)
        self.reader = SpanReader(settings.reader, inputs, max_width)
        self.size = self.reader.size

    def forward(self, encoded: Encoded, candidates: Candidates) -> Tensor:
        """Span vectors [S, size]."""
        lengths, words = encoded.batch.lengths, encoded.states.shape[1]
        layout = Layout.of(candidates, lengths, words, self.max_width)
        spans = self.pool(self.dropout(encoded.states), layout)
        vectors: Tensor = self.reader(encoded.states, spans, layout, candidates, encoded.batch)
        return vectors


class Pool(nn.Module):
    """Pools the words of every wide span at once: the result for a width comes from the one for the width before."""

    def __init__(self, how: How, size: int) -> None:
        super().__init__()
        self.how = how
        self.attention = Attention(size, how) if how in ("multiplicative", "additive") else None

    def forward(self, states: Tensor, layout: Layout) -> Tensor:
        """Vectors of the wide spans [N, d] from word states [B, T, d]."""
        if not len(layout):
            return states.new_zeros(0, states.shape[-1])
        if self.attention is not None:
            found = weighted(states, self.attention(states), layout.widths)
        else:
            found = running(states, layout.widths, self.how)
        grid = torch.stack([one[:, : layout.starts] for one in found], dim=2)  # [B, starts, widths, d]
        return taken(grid.flatten(0, 2), layout.cells)


class Attention(nn.Module):
    """A score for each word: u . tanh(W h), or u . tanh(W [h, v]) with a vector v of its own."""

    def __init__(self, size: int, how: How) -> None:
        super().__init__()
        self.vector = nn.Parameter(torch.empty(size)) if how == "additive" else None
        self.inner = nn.Linear(size if self.vector is None else 2 * size, size, bias=False)
        self.outer = nn.Parameter(torch.empty(size))
        nn.init.xavier_uniform_(self.inner.weight)
        for one in (self.vector, self.outer):
            if one is not None:
                nn.init.uniform_(one, -((3 / size) ** 0.5), (3 / size) ** 0.5)

    def forward(self, states: Tensor) -> Tensor:
        """Scores [B, T]."""
        if self.vector is not None:
            states = torch.cat([states, self.vector.expand_as(states)], dim=-1)
        scores: Tensor = (self.inner(states).tanh() * self.outer).sum(-1)
        return scores


def running(states: Tensor, widths: int, how: How) -> Iterator[Tensor]:
    """The maximum or the mean of 2, 3, ... neighbouring words, `widths` of them: each [B, T, d]."""
    whole = states
    for width, further in enumerate(_shifted(states, widths), start=2):
        whole = torch.maximum(whole, further) if how == "max" else whole + further
        yield whole if how == "max" else whole / width


def weighted(states: Tensor, scores: Tensor, widths: int) -> Iterator[Tensor]:
    """The mean of 2, 3, ... neighbouring words weighted by a softmax of their scores [B, T]: each [B, T, d]."""
    best, total, whole = scores, torch.ones_like(scores), states
    for further, score in zip(_shifted(states, widths), _shifted(scores[..., None], widths), strict=True):
        higher = torch.maximum(best, score[..., 0])
        old, new = (best - higher).exp(), (score[..., 0] - higher).exp()
        whole = whole * old[..., None] + further * new[..., None]
        best, total = higher, total * old + new
        yield whole / total[..., None]


def _shifted(states: Tensor, widths: int) -> Iterator[Tensor]:
    """The words 1, 2, ... places further on [B, T, d]; zeros beyond the end."""
    count = states.shape[1]
    padded = functional.pad(states, (0, 0, 0, widths))
    return (padded[:, shift : shift + count] for shift in range(1, widths + 1))
