"""A stacked bidirectional LSTM over the words of a sentence."""

from __future__ import annotations

import torch
from pydantic import Field
from torch import Tensor, nn

from nearspan.settings import Settings


class RecurrentSettings(Settings):
    """The BiLSTM of the paper's table 5."""

    layers: int = Field(default=2, ge=1)
    size: int = Field(default=100, ge=1)  # hidden units in each direction
    dropout: float = Field(default=0.5, ge=0, lt=1)  # on the input of every layer


class Recurrent(nn.Module):
    """Reads [B, T, inputs], gives [B, T, 2 * size]: forward states first, backward states second.

    Each direction is an LSTM of its own; the backward one reads every sentence turned round, so padding
    comes last for both and needs no packing. Unpacked, cuDNN and oneDNN take a whole sequence in one go.
    """

    def __init__(self, settings: RecurrentSettings, inputs: int) -> None:
        super().__init__()
        self.size = 2 * settings.size
        self.dropout = nn.Dropout(settings.dropout)
        widths = [inputs, *[self.size] * (settings.layers - 1)]
        self.forwards = nn.ModuleList(lstm(width, settings.size) for width in widths)
        self.backwards = nn.ModuleList(lstm(width, settings.size) for width in widths)

    def forward(self, states: Tensor, mask: Tensor) -> Tensor:
        """Contextual states [B, T, 2 * size], zero where the mask [B, T] is false; padding comes last.

        In full precision always: casting an LSTM's weights for each batch costs more than it saves.
        """
        turned = _turned(mask)[..., None]  # [B, T, 1]
        with torch.autocast(states.device.type, enabled=False):
            states = states.float()
            for onwards, back in zip(self.forwards, self.backwards, strict=True):
                states = self.dropout(states)
                ahead, _ = onwards(states)
                behind, _ = back(states.gather(1, turned.expand_as(states)))
                states = torch.cat([ahead, behind.gather(1, turned.expand_as(behind))], dim=-1)
        return states * mask[..., None]


def _turned(mask: Tensor) -> Tensor:
    """Where each position stands when its sentence is turned round [B, T]; padding stays in place."""
    steps = torch.arange(mask.shape[1], device=mask.device)
    return torch.where(mask, mask.sum(1, keepdim=True) - 1 - steps, steps)


def lstm(inputs: int, size: int) -> nn.LSTM:
    """An LSTM with an orthonormal matrix for each gate and a forget gate that begins open."""
    lstm = nn.LSTM(inputs, size, batch_first=True)
    for name, parameter in lstm.named_parameters():
        if "weight" in name:
            for gate in parameter.data.chunk(4):
                nn.init.orthogonal_(gate)
        else:
            nn.init.zeros_(parameter)
    nn.init.ones_(lstm.get_parameter("bias_ih_l0").data[size : 2 * size])
    return lstm
