"""A stacked bidirectional LSTM over the words of a sentence."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from nearspan.encoders.inputs import Batch
from nearspan.settings import Settings


class RecurrentSettings(Settings):
    """The BiLSTM of the paper's table 5."""

    layers: int = 2
    size: int = 100  # hidden units in each direction
    dropout: float = 0.5  # on the input of every layer


class Recurrent(nn.Module):
    """Reads [B, T, inputs], gives [B, T, 2 * size]: forward states first, backward states second."""

    def __init__(self, settings: RecurrentSettings, inputs: int) -> None:
        super().__init__()
        self.size = 2 * settings.size
        self.dropout = nn.Dropout(settings.dropout)
        between = settings.dropout if settings.layers > 1 else 0.0
        self.lstm = nn.LSTM(
            inputs, settings.size, settings.layers, bidirectional=True, batch_first=True, dropout=between
        )
        for name, parameter in self.lstm.named_parameters():
            if "weight" in name:  # four gates: an orthonormal matrix each
                for gate in parameter.data.chunk(4):
                    nn.init.orthogonal_(gate)
            else:  # the forget gate begins open; one of the two biases says so
                nn.init.zeros_(parameter)
                if "bias_ih" in name:
                    parameter.data[settings.size : 2 * settings.size] = 1

    def forward(self, states: Tensor, batch: Batch) -> Tensor:
        """Contextual states [B, T, 2 * size]; zero on padding."""
        states = self.dropout(states)
        if not self.training and bool((batch.lengths == states.shape[1]).all()):
            return torch.as_tensor(self.lstm(states)[0])  # nothing to pack, which on a CPU halves the time
        packed = pack_padded_sequence(states, batch.lengths, batch_first=True, enforce_sorted=False)
        read, _ = self.lstm(packed)
        padded, _ = pad_packed_sequence(read, batch_first=True, total_length=states.shape[1])
        return torch.as_tensor(padded)
