"""A stacked bidirectional LSTM over the words of a sentence."""

from typing import Any

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional

from nearspan.precision import Precision, computes_bf16, convert
from nearspan.settings import Settings

LSTM_PARAMETERS = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")


class BiLSTMSettings(Settings):
    """The BiLSTM of the paper's table 5."""

    layers: int = Field(default=2, ge=1, le=1_000)
    size: int = Field(default=100, ge=1, le=10_000)  # hidden units in each direction
    dropout: float = Field(default=0.5, ge=0, lt=1)  # on the input of every layer
    state_dropout: float = Field(default=0.0, ge=0, lt=1)  # on the state that goes from word to word, anew at each
    output_dropout: float = Field(default=0.0, ge=0, lt=1)  # on the output of every layer


class BiLSTM(nn.Module):
    """Reads [B, T, inputs], gives [B, T, 2 * size]: forward states first, backward states second.

    Each direction is an LSTM of its own; the backward one reads every sentence turned round, so padding
    comes last for both and needs no packing. Unpacked, cuDNN and oneDNN take a whole sequence in one go.
    """

    def __init__(self, settings: BiLSTMSettings, inputs: int) -> None:
        super().__init__()
        self.size = 2 * settings.size
        self.dropout, self.output_dropout = nn.Dropout(settings.dropout), nn.Dropout(settings.output_dropout)
        self.state_dropout = settings.state_dropout
        widths = [inputs, *[self.size] * (settings.layers - 1)]
        self.forwards = nn.ModuleList(build_lstm(width, settings.size) for width in widths)
        self.backwards = nn.ModuleList(build_lstm(width, settings.size) for width in widths)
        self.reader: tuple[nn.ModuleList, nn.ModuleList] | tuple[()] = ()  # in bf16, for prediction on a CPU

    def set_precision(self, precision: Precision) -> None:
        """Predict on a CPU that computes bf16 with a copy in it, unless in float32; there is no int8 for it."""
        self.reader = ()
        if precision != "float32" and computes_bf16():
            self.reader = convert(self.forwards, "bf16"), convert(self.backwards, "bf16")

    def forward(self, states: Tensor, mask: Tensor) -> Tensor:
        """Contextual states [B, T, 2 * size], zero where the mask [B, T] is false; padding comes last.

        In training in full precision always: casting an LSTM's weights for each batch costs more than it saves.
        """
        steps = torch.arange(mask.shape[1], device=mask.device)
        # where each position stands when its sentence is turned round [B, T, 1]; padding stays in place
        reverse = torch.where(mask, mask.sum(1, keepdim=True) - 1 - steps, steps)[..., None]
        with torch.autocast(states.device.type, enabled=False):
            layers, dtype = (self.forwards, self.backwards), torch.float32
            if self.reader and not torch.is_grad_enabled() and states.device.type == "cpu":
                layers, dtype = self.reader, torch.bfloat16
            states = states.to(dtype)
            for onwards, back in zip(*layers, strict=True):
                states = self.dropout(states)
                inputs = states, states.gather(1, reverse.expand_as(states))
                if self.training and self.state_dropout:
                    ahead, behind = _run_with_state_dropout((onwards, back), torch.stack(inputs), self.state_dropout)
                else:
                    (ahead, _), (behind, _) = onwards(inputs[0]), back(inputs[1])
                states = torch.cat([ahead, behind.gather(1, reverse.expand_as(behind))], dim=-1)
                states = self.output_dropout(states)
        return states.float() * mask[..., None]


def _run_with_state_dropout(pair: tuple[nn.Module, nn.Module], inputs: Tensor, dropout: float) -> Tensor:
    """States [2, B, T, size] of two LSTMs side by side over inputs [2, B, T, D], with dropout from word to word."""
    stacked = [torch.stack([lstm.get_parameter(f"{name}_l0") for lstm in pair]) for name in LSTM_PARAMETERS]
    weight, recurrent, bias = stacked[0], stacked[1].transpose(1, 2), stacked[2] + stacked[3]
    gates = torch.einsum("pbti,pgi->tpbg", inputs, weight) + bias[:, None]  # [T, 2, B, 4 * size]
    kept = functional.dropout(gates.new_ones(*gates.shape[:3], recurrent.shape[1]), dropout)
    return run_steps(gates, recurrent, kept).movedim(0, 2)


def build_lstm(inputs: int, size: int) -> nn.LSTM:
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


def run_steps(read: Tensor, recurrent: Tensor, kept: Tensor) -> Tensor:
    """States [T, P, B, H] of P LSTMs, from the inputs of their gates [T, P, B, 4 * H] and weights [P, H, 4 * H].

    The gates are in the order of `nn.LSTM`; `kept` [T, P, B, H] scales the state that a word gets from the one before:
    dropout between words, which no library's fused LSTM offers.
    """
    states: Tensor = _Steps.apply(read, recurrent, kept)  # type: ignore[no-untyped-call]
    return states


class _Steps(torch.autograd.Function):
    """LSTMs word by word, with the way back written out.

    Most of its factors depend on no later word and are had for all words at once, and the weights' gradient is one
    product at the end. On a GPU, where each small call costs as much as a large one, a step is less than half of what
    autograd makes of the same loop.
    """

    @staticmethod
    def forward(ctx: Any, read: Tensor, recurrent: Tensor, kept: Tensor) -> Tensor:
        size = recurrent.shape[1]
        gates, cells, states = torch.empty_like(read), torch.empty_like(kept), torch.empty_like(kept)
        cell = state = torch.zeros_like(kept[0])
        for word, gate in enumerate(gates):
            torch.baddbmm(read[word], state * kept[word], recurrent, out=gate)
            gate[..., : 2 * size].sigmoid_()
            gate[..., 2 * size : 3 * size].tanh_()
            gate[..., 3 * size :].sigmoid_()
            enter, forget, new, leave = gate.chunk(4, dim=-1)
            cell = torch.mul(forget, cell, out=cells[word]).addcmul_(enter, new)
            state = torch.mul(leave, cell.tanh(), out=states[word])
        ctx.save_for_backward(recurrent, kept, gates, cells, states)
        return states

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, None]:
        recurrent, kept, gates, cells, states = ctx.saved_tensors
        enter, forget, new, leave = gates.chunk(4, dim=-1)
        squashed = cells.tanh()
        slopes = torch.stack(  # of the cell in the first three gates, of the state in the last
            [
                new * enter * (1 - enter),
                _previous(cells) * forget * (1 - forget),
                enter * (1 - new * new),
                squashed * leave * (1 - leave),
            ],
            dim=-2,
        )  # [T, P, B, 4, H]
        opened = leave * (1 - squashed * squashed)  # of the state in the cell
        into_gates = torch.empty_like(slopes)
        cell = state = torch.zeros_like(cells[0])
        for word in reversed(range(len(gates))):
            state = gradients[0][word] + state
            cell = torch.addcmul(cell, state, opened[word])
            torch.mul(slopes[word, ..., :3, :], cell[..., None, :], out=into_gates[word, ..., :3, :])
            torch.mul(slopes[word, ..., 3, :], state, out=into_gates[word, ..., 3, :])
            cell = cell * forget[word]
            state = torch.bmm(into_gates[word].flatten(-2), recurrent.transpose(1, 2)) * kept[word]
        into_read = into_gates.flatten(-2)
        return into_read, torch.einsum("tpbh,tpbg->phg", _previous(states) * kept, into_read), None


def _previous(states: Tensor) -> Tensor:
    """The states of the word before each word [T, ...]; 0 for the first."""
    return torch.cat([torch.zeros_like(states[:1]), states[:-1]])
