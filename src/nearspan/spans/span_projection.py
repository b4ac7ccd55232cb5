"""From a span's states to its vector: a BiLSTM along the spans of one width, the width itself, and a smaller vector.

The last one, the pre-logit vector, is what a head scores and what a datastore keeps.
"""

from typing import Literal

import torch
from pydantic import Field
from torch import Tensor, nn

from nearspan.encoders import Batch
from nearspan.encoders.bilstm import BiLSTM, BiLSTMSettings
from nearspan.settings import Settings
from nearspan.spans.candidates import Candidates
from nearspan.spans.span_grid import SpanGrid, gather_rows, scatter_rows


class SpanProjectionSettings(Settings):
    """From a span's states to its pre-logit vector."""

    bilstm: BiLSTMSettings | None = None  # a BiLSTM along the first words of the spans of one width
    width_size: int = Field(default=25, ge=0, le=10_000)  # of a width's embedding; 0: none
    size: int = Field(default=300, ge=1, le=10_000)  # of the pre-logit vector
    activation: Literal["relu", "linear"] = "relu"
    dropout: float = Field(default=0.4, ge=0, lt=1)  # before the reduction
    vector_dropout: float = Field(default=0.2, ge=0, lt=1)  # on the pre-logit vector


class SpanProjection(nn.Module):
    """z = relu(W [s, w] + b): the pre-logit vectors of all candidates."""

    def __init__(self, settings: SpanProjectionSettings, inputs: int, max_width: int) -> None:
        super().__init__()
        recurrent = settings.bilstm
        self.words = BiLSTM(recurrent, inputs) if recurrent else None
        self.wide = BiLSTM(recurrent, inputs) if recurrent and max_width > 1 else None
        width = settings.width_size
        self.widths = width_embedding(max_width, width)
        self.reduce = nn.Linear((self.words.size if self.words else inputs) + width, settings.size)
        nn.init.xavier_uniform_(self.reduce.weight)
        nn.init.zeros_(self.reduce.bias)
        self.relu = settings.activation == "relu"
        self.before = nn.Dropout(settings.dropout)
        self.after = nn.Dropout(settings.vector_dropout)
        self.size = settings.size

    def forward(self, words: Tensor, wide: Tensor, grid: SpanGrid, candidates: Candidates, batch: Batch) -> Tensor:
        """Pre-logit vectors [S, size] from word states [B, T, d] and the wide spans' [N, d]."""
        if self.words is not None:
            words = self.words(words, batch.mask)
        spans = words.flatten(0, 1)
        if len(grid):
            wide = wide if self.wide is None else read_by_width(self.wide, wide, grid, batch)
            spans = torch.cat([spans, wide.to(spans.dtype)])
        spans = gather_rows(spans, grid.order)  # [S, d]
        if self.widths is not None:
            spans = torch.cat([spans, self.widths(candidates.stop - candidates.first - 1).to(spans.dtype)], dim=-1)
        reduced = self.reduce(self.before(spans))
        vectors: Tensor = self.after(reduced.relu() if self.relu else reduced)
        return vectors


def width_embedding(max_width: int, size: int) -> nn.Embedding | None:
    """An embedding with a row for each width from 1 word on; none for size 0."""
    if not size:
        return None
    table = nn.Embedding(max_width, size)
    nn.init.uniform_(table.weight, -((3 / size) ** 0.5), (3 / size) ** 0.5)
    return table


def read_by_width(recurrent: BiLSTM, spans: Tensor, grid: SpanGrid, batch: Batch) -> Tensor:
    """Read the wide spans [N, d] from first word to first word, those of each width as a sequence: [N, size]."""
    sentences, starts, widths = len(batch), grid.starts, grid.widths
    steps = torch.arange(starts, device=spans.device)
    last = batch.mask.sum(1)[:, None] - torch.arange(2, widths + 2, device=spans.device)  # [B, widths] first words
    mask = (steps <= last[..., None]).flatten(0, 1)  # [B * widths, starts]
    cells = (grid.sentence * widths + grid.width - 2) * starts + grid.first
    sequences = scatter_rows(spans, cells, sentences * widths * starts).view(sentences * widths, starts, -1)
    return gather_rows(recurrent(sequences, mask).flatten(0, 1), cells)
