"""LSTMs word by word, with dropout on the states between words, which no library's fused LSTM offers.

The way back is written out: most of its factors depend on no later word and are had for all words at once, and the
weights' gradient is one product at the end. On a GPU, where each small call costs as much as a large one, a step is
less than half of what autograd makes of the same loop.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor


def run_steps(read: Tensor, recurrent: Tensor, kept: Tensor) -> Tensor:
    """States [T, P, B, H] of P LSTMs, from the inputs of their gates [T, P, B, 4 * H] and weights [P, H, 4 * H].

    The gates are in the order of `nn.LSTM`; `kept` [T, P, B, H] scales the state that a word gets from the one before.
    """
    states: Tensor = _Steps.apply(read, recurrent, kept)  # type: ignore[no-untyped-call]
    return states


class _Steps(torch.autograd.Function):
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
