"""LSTM-minus: a span is what the LSTM has read between its ends (Wang & Chang, 2016; Ouchi et al., 2020)."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional

from nearspan.encoders import Encoded, Encoder
from nearspan.errors import ConfigError
from nearspan.registry import register
from nearspan.settings import Settings
from nearspan.spans.additive_spans import EndSums
from nearspan.spans.candidates import Candidates
from nearspan.spans.representation import Representation


class LstmMinusSettings(Settings):
    """LSTM-minus and its projection."""

    kind: Literal["lstm_minus"] = "lstm_minus"
    form: Literal["flat", "nested"] = "flat"
    size: int = Field(default=100, ge=0, le=10_000)  # of the projected span vector; 0: the differences as they are
    dropout: float = Field(default=0.0, ge=0, lt=1)  # on the span vector


class LstmMinus(Representation):
    """h_s = W [f_b - f_{a-1}, b_a - b_{b+1}] + c, in the nested form with [f_a + f_b, b_a + b_b] beside it.

    Each term belongs to one end of the span, so words are projected once, not spans: h_s = left(a) + right(b),
    which makes a span's cost one addition.

    The paper writes no bias c; its public code has one, and it is needed. Without c the flat form telescopes:
    h_s is the sum of its words' h, so a linear classifier with a null of 0 cannot accept "New York" while it
    refuses both "New" and "York".

    With a size of 0 there is no W: the differences themselves, without weights, for heads that do not read them.
    """

    Settings: ClassVar[type[Settings]] = LstmMinusSettings
    reads_states_alone = True
    is_additive: ClassVar[bool] = True

    @classmethod
    def build(cls, settings: LstmMinusSettings, encoder: Encoder, max_width: int) -> LstmMinus:
        """The representation over an encoder's states."""
        del max_width
        if settings.size == 0 and settings.form == "nested":
            raise ConfigError("the nested form blends differences and sums by a projection: set representation.size")
        if encoder.bilstm is None:
            raise ConfigError("LSTM-minus needs the states of a BiLSTM: set encoder.bilstm")
        return cls(settings, encoder.size)

    def __init__(self, settings: LstmMinusSettings, inputs: int) -> None:
        super().__init__()
        self.size = settings.size or inputs
        self.minus = nn.Linear(inputs, settings.size) if settings.size else None
        self.plus = nn.Linear(inputs, settings.size, bias=False) if settings.form == "nested" else None
        self.dropout = nn.Dropout(settings.dropout)
        columns = inputs * (2 if self.plus is not None else 1)
        bound = (6 / (columns + settings.size)) ** 0.5  # Glorot's for the whole of W
        for name, parameter in self.named_parameters():
            nn.init.zeros_(parameter) if name.endswith("bias") else nn.init.uniform_(parameter, -bound, bound)

    def end_sums(self, states: Tensor) -> EndSums:
        """left and right [B, T, size] from word states [B, T, 2H] that are zero on padding.

        In the flat form right(t) + left(t + 1) is c.
        """
        half = states.shape[-1] // 2
        ahead, behind = states.split(half, dim=-1)
        if self.minus is None:
            forward, backward = functional.pad(ahead, (0, half)), functional.pad(behind, (half, 0))
        else:
            forward_weight, backward_weight = self.minus.weight.split(half, dim=1)
            forward, backward = functional.linear(ahead, forward_weight), functional.linear(behind, backward_weight)
        forward, backward = functional.pad(forward, (0, 0, 1, 1)), functional.pad(backward, (0, 0, 1, 1))
        left = backward[:, 1:-1] - forward[:, :-2]  # [B, T, size]: b_a - f_{a-1}
        bias = self.minus.bias if self.minus is not None else states.new_zeros(self.size)
        right = forward[:, 1:-1] - backward[:, 2:] + bias  # f_b - b_{b+1}
        if self.plus is not None:
            both = self.plus(states)
            return EndSums(left + both, right + both)
        return EndSums(left, right, bias)

    def forward(self, encoded: Encoded, candidates: Candidates) -> Tensor:
        """Span vectors [S, size]."""
        ends = self.end_sums(encoded.states)
        row = candidates.sentence * ends.left.shape[1]
        starts = ends.left.flatten(0, 1).index_select(0, row + candidates.first)
        stops = ends.right.flatten(0, 1).index_select(0, row + candidates.stop - 1)
        vectors: Tensor = self.dropout(starts + stops)
        return vectors


register("representation", LstmMinus)
