"""A BiLSTM over a span's own words, to which its final state attends (the SNG paper, section 2)."""

from __future__ import annotations

from typing import ClassVar, Literal

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from nearspan.encoders import Encoded, Encoder
from nearspan.encoders.bilstm import BiLSTM, BiLSTMSettings, build_lstm
from nearspan.registry import register
from nearspan.settings import Settings
from nearspan.spans.candidates import Candidates
from nearspan.spans.representation import Representation


class SpanBiLSTMSettings(Settings):
    """A BiLSTM over each span, and dot attention with its final state."""

    kind: Literal["span_bilstm"] = "span_bilstm"
    size: int = Field(default=200, ge=1, le=10_000)  # hidden units in each direction
    context: bool = False  # let the BiLSTM read the whole sentence, so that a span knows the words around it
    dropout: float = Field(default=0.0, ge=0, lt=1)  # on the word states


class SpanBiLSTM(Representation):
    """s = sum_t a_t o_t with a = softmax(o . q), o_t = [f_t; b_t] and q = [f of the last word; b of the first].

    Read from left to right, spans that begin at the same word share their states up to the end of the shorter one;
    from right to left, those that end at the same word do. So each first word and each last word is read once, as
    far as its widest span goes, and the states of K spans cost one reading. The two directions' share of o . q are
    inner products within one such reading.
    """

    Settings: ClassVar[type[Settings]] = SpanBiLSTMSettings

    @classmethod
    def build(cls, settings: SpanBiLSTMSettings, encoder: Encoder, max_width: int) -> SpanBiLSTM:
        """The representation over an encoder's states."""
        del max_width
        return cls(settings, encoder.size)

    def __init__(self, settings: SpanBiLSTMSettings, inputs: int) -> None:
        super().__init__()
        self.size = 2 * settings.size
        self.dropout = nn.Dropout(settings.dropout)
        bilstm = BiLSTMSettings(layers=1, size=settings.size, dropout=0)
        self.sentences = BiLSTM(bilstm, inputs) if settings.context else None
        self.onwards = None if settings.context else build_lstm(inputs, settings.size)
        self.back = None if settings.context else build_lstm(inputs, settings.size)

    def forward(self, encoded: Encoded, candidates: Candidates) -> Tensor:
        """Span vectors [S, 2 * size]."""
        if not len(candidates):
            return encoded.states.new_zeros(0, self.size)
        with torch.autocast(encoded.states.device.type, enabled=False):  # as for other LSTMs
            states = self.dropout(encoded.states.float())  # [B, T, d]
            if self.sentences is not None:
                onwards, back = self.sentences(states, encoded.batch.mask).chunk(2, dim=-1)
            else:
                onwards = back = states
            row = candidates.sentence * states.shape[1]
            width = candidates.stop - candidates.first
            ahead = _DirectionStates(self.onwards, onwards.flatten(0, 1), row + candidates.first, width, 1)
            behind = _DirectionStates(self.back, back.flatten(0, 1), row + candidates.stop - 1, width, -1)
            # the word at step k from the left is at step width - 1 - k from the right
            steps = torch.arange(ahead.longest, device=width.device)
            inside = steps < width[:, None]  # [S, K]
            reverse = (width[:, None] - 1 - steps).clamp(min=0)
            scores = ahead.scores + behind.scores.gather(1, reverse)
            weights = scores.masked_fill(~inside, -torch.inf).softmax(1)
            from_right = weights.gather(1, reverse) * inside
            return torch.cat([ahead.sums(weights), behind.sums(from_right)], dim=-1)


class _DirectionStates:
    """What one direction reads for S spans, from the word at which each begins for it.

    Spans with the same beginning share one of the U readings: states [U, K, h], K as far as the widest goes.
    """

    def __init__(self, recurrent: nn.LSTM | None, words: Tensor, begin: Tensor, width: Tensor, step: int) -> None:
        begins, self.reading = begin.unique(return_inverse=True)  # [U], [S]
        reach = torch.zeros_like(begins).scatter_reduce_(0, self.reading, width, "amax")  # [U] the widest span's
        self.longest = int(reach.max())
        steps = torch.arange(self.longest, device=words.device)
        rows = begins[:, None] + step * steps.minimum(reach[:, None] - 1)  # [U, K]; steps too far stay on the last word
        states = words[rows]  # [U, K, d]
        if recurrent is not None:
            packed = pack_padded_sequence(states, reach.cpu(), batch_first=True, enforce_sorted=False)
            states, _ = pad_packed_sequence(recurrent(packed)[0], batch_first=True)
        self.states = states
        self.cell = self.reading * self.longest + width - 1  # [S] where a span's last state is
        products = (states @ states.mT).flatten(0, 1)  # [U * K, K] of each state with all of its reading
        self.scores = products.index_select(0, self.cell)  # [S, K]

    def sums(self, weights: Tensor) -> Tensor:
        """The weighted sums [S, h] of the spans' states, weights [S, K]."""
        count = self.states.shape[0] * self.longest
        cells = weights.new_zeros(count, self.longest).index_copy(0, self.cell, weights)
        sums: Tensor = cells.unflatten(0, (-1, self.longest)) @ self.states  # [U, K, h]
        return sums.flatten(0, 1).index_select(0, self.cell)


register("representation", SpanBiLSTM)
