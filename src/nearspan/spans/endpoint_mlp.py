"""Spans by their two ends, each read by a layer of its own: what a biaffine head compares (Yu et al., 2020)."""

from typing import ClassVar, Literal

import torch
from pydantic import Field
from torch import Tensor, nn

from nearspan.encoders import Encoded
from nearspan.registry import register
from nearspan.settings import Settings
from nearspan.spans.candidates import Candidates
from nearspan.spans.representation import Representation, WordEnds
from nearspan.spans.span_projection import width_embedding


class EndpointMLPSettings(Settings):
    """The two ends of a span and its width."""

    kind: Literal["endpoint_mlp"] = "endpoint_mlp"
    end_size: int = Field(default=150, ge=1, le=10_000)  # of each end
    width_size: int = Field(default=25, ge=0, le=10_000)  # of a width's embedding; 0: none
    dropout: float = Field(default=0.4, ge=0, lt=1)  # on the states
    end_dropout: float = Field(default=0.2, ge=0, lt=1)  # on the ends


class EndpointMLP(Representation):
    """[relu(F h_first), relu(G h_last), w]: first end, last end, width."""

    Settings: ClassVar[type[Settings]] = EndpointMLPSettings
    reads_states_alone = True

    def __init__(self, settings: EndpointMLPSettings, inputs: int, max_width: int) -> None:
        super().__init__()
        self.end_size, width, self.max_width = settings.end_size, settings.width_size, max_width
        self.ends = nn.Linear(inputs, 2 * settings.end_size)  # both ends' layers in one
        for half in self.ends.weight.data.chunk(2):
            nn.init.orthogonal_(half)
        nn.init.zeros_(self.ends.bias)
        self.widths = width_embedding(max_width, width)
        self.before, self.after = nn.Dropout(settings.dropout), nn.Dropout(settings.end_dropout)
        self.size = 2 * settings.end_size + width

    def forward(self, encoded: Encoded, candidates: Candidates) -> Tensor:
        """Span vectors [S, 2 * end_size + width_size]."""
        words = self.word_ends(encoded)
        first, last = words.first.flatten(0, 1), words.last.flatten(0, 1)
        row = candidates.sentence * words.first.shape[1]
        parts = [first.index_select(0, row + candidates.first), last.index_select(0, row + candidates.stop - 1)]
        if self.widths is not None:
            parts.append(self.widths(candidates.stop - candidates.first - 1).to(first.dtype))
        return torch.cat(parts, dim=-1)

    def word_ends(self, encoded: Encoded) -> WordEnds:
        """Each word as a first and as a last one."""
        ends = self.after(self.ends(self.before(encoded.states)).relu())  # [B, T, 2 * end_size]
        first, last = ends.chunk(2, dim=-1)
        widths = ends.new_zeros(self.max_width, 0) if self.widths is None else self.widths.weight
        return WordEnds(first, last, widths)


register("representation", EndpointMLP)
