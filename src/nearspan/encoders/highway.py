"""Highway layers: each feature is carried on or made anew, as a gate says (Srivastava et al., 2015)."""

import torch
from pydantic import Field
from torch import Tensor, nn

from nearspan.settings import Settings


class HighwaySettings(Settings):
    """Highway layers between the word features and the BiLSTM."""

    layers: int = Field(default=2, ge=1, le=1_000)
    dropout: float = Field(default=0.0, ge=0, lt=1)  # on the input of every layer


class Highway(nn.Module):
    """x -> g relu(W x + b) + (1 - g) x with the gate g = sigmoid(V x + c), layer after layer."""

    def __init__(self, settings: HighwaySettings, size: int) -> None:
        super().__init__()
        self.dropout = nn.Dropout(settings.dropout)
        self.layers = nn.ModuleList(nn.Linear(size, 2 * size) for _ in range(settings.layers))
        for layer in self.layers:
            for half in layer.weight.data.chunk(2):  # type: ignore[operator]
                nn.init.xavier_uniform_(half)
            nn.init.zeros_(layer.bias)  # type: ignore[arg-type]

    def forward(self, states: Tensor) -> Tensor:
        """Word features [B, T, size]."""
        for layer in self.layers:
            states = self.dropout(states)
            made, gate = layer(states).chunk(2, dim=-1)
            states = torch.lerp(states, made.relu(), gate.sigmoid())
        return states
