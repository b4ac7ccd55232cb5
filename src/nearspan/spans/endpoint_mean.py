"""Spans by their ends and their mean (Sohrab & Miwa, 2018; Nguyen et al., 2023, equation 1)."""

from typing import ClassVar, Literal

import torch
from pydantic import Field
from torch import Tensor, nn

from nearspan.encoders import Encoded
from nearspan.registry import register
from nearspan.settings import Settings
from nearspan.spans.candidates import Candidates
from nearspan.spans.pooling import Pool
from nearspan.spans.representation import Representation
from nearspan.spans.span_grid import SpanGrid, gather_rows
from nearspan.spans.span_means import SpanMeans


class EndpointMeanSettings(Settings):
    """The states of a span's first and last word, with the mean of all its words between them."""

    kind: Literal["endpoint_mean"] = "endpoint_mean"
    dropout: float = Field(default=0.1, ge=0, lt=1)  # on the states


class EndpointMean(Representation):
    """s = [v_i; mean of v_i to v_j; v_j]. It has no weights of its own."""

    Settings: ClassVar[type[Settings]] = EndpointMeanSettings

    def __init__(self, settings: EndpointMeanSettings, inputs: int, max_width: int) -> None:
        super().__init__()
        self.max_width = max_width
        self.pool = Pool("mean", inputs)
        self.dropout = nn.Dropout(settings.dropout)
        self.size = 3 * inputs

    def forward(self, encoded: Encoded, candidates: Candidates) -> Tensor:
        """Span vectors [S, 3 H]."""
        states = self.dropout(encoded.states.float())  # [B, T, H]; sums want full precision
        grid = SpanGrid.of(candidates, encoded.batch.lengths, states.shape[1], self.max_width)
        words = states.flatten(0, 1)
        means = gather_rows(torch.cat([words, self.pool(states, grid)]), grid.order)  # [S, H]
        row = candidates.sentence * states.shape[1]
        firsts = words.index_select(0, row + candidates.first)
        lasts = words.index_select(0, row + candidates.stop - 1)
        return torch.cat([firsts, means, lasts], dim=-1)

    def span_means(self, encoded: Encoded, candidates: Candidates) -> SpanMeans:
        """The words' states and which of them each span has."""
        states = encoded.states.float()
        first = candidates.sentence * states.shape[1] + candidates.first
        return SpanMeans(states.flatten(0, 1), first, candidates.stop - candidates.first)


register("representation", EndpointMean)
