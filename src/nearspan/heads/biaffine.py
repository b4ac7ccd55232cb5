"""The biaffine head: the two ends of a span scored together (Yu et al., 2020; Zhu et al., 2023, appendix D)."""

from __future__ import annotations

from typing import ClassVar, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from nearspan.errors import ConfigError
from nearspan.heads.protocol import HeadInputs, Query
from nearspan.heads.softmax import ScoreHead
from nearspan.linear import linear
from nearspan.registry import register
from nearspan.settings import Settings
from nearspan.spans import Candidates, WordEnds

BLOCK = 32  # first words that are compared with all last words that their spans may have


class BiaffineSettings(Settings):
    """A softmax over biaffine scores; its span vectors begin with two ends."""

    kind: Literal["biaffine"] = "biaffine"


class BiaffineHead(ScoreHead):
    """score(s, y) = a . U_y b + w_y . [a, b, width] + c_y for a span with the ends a and b; null has a U of its own."""

    Settings: ClassVar[type[Settings]] = BiaffineSettings

    def __init__(self, inputs: HeadInputs) -> None:
        super().__init__(inputs.has_null)
        self.rows_before_labels = 1
        self.ends = inputs.end_size
        self.between = nn.Parameter(torch.empty(inputs.labels + 1, inputs.end_size, inputs.end_size))
        self.linear = nn.Linear(inputs.span_size, inputs.labels + 1)
        for weight in (*self.between.data, self.linear.weight):
            nn.init.orthogonal_(weight)
        nn.init.zeros_(self.linear.bias)

    @classmethod
    def build(cls, settings: BiaffineSettings, inputs: HeadInputs) -> BiaffineHead:  # noqa: ARG003
        """The head over vectors that begin with two ends."""
        if inputs.is_compressed:
            raise ConfigError(
                "the biaffine head compares a span's ends, which a bottleneck blends: set bottleneck=none"
            )
        if not inputs.end_size:
            raise ConfigError(
                'the biaffine head compares the ends of a span: set representation.kind to "endpoint_mlp"'
            )
        return cls(inputs)

    def scores(self, vectors: Tensor) -> Tensor:
        """Scores [S, 1 + Y], null first."""
        first, last = vectors[:, : self.ends], vectors[:, self.ends : 2 * self.ends]
        met = (first @ self.between.transpose(0, 1).flatten(1)).unflatten(1, (-1, self.ends))  # [S, 1 + Y, ends]
        scores: Tensor = torch.einsum("sye,se->sy", met, last) + self.linear(vectors)
        return scores

    def predict_proba(self, query: Query, *, entities_only: bool = False) -> Tensor:
        """P(y|s) [S, 1 + Y]; where no gradient is asked for words are multiplied with U once, not for each span."""
        words = None if torch.is_grad_enabled() else query.network.representation.word_ends(query.encoded)
        if words is None:
            return super().predict_proba(query, entities_only=entities_only)
        return self.normalise(self.scores_of_words(words, query.candidates))

    def scores_of_words(self, words: WordEnds, candidates: Candidates) -> Tensor:
        """Scores [S, 1 + Y] of candidates, from their words.

        First words go in blocks, each with the last words that a span of the block may have.
        """
        first, last = words.first.float(), words.last.float()
        count, size = first.shape[1], min(BLOCK, first.shape[1])  # T; first words of a block
        reach = size + candidates.max_width - 1  # last words of a block
        blocks = -(-count // size)
        met = linear(first, self.between.transpose(1, 2).flatten(0, 1)).unflatten(
            -1, (-1, self.ends)
        )  # [B, T, 1 + Y, E]
        met = functional.pad(met, (0, 0, 0, 0, 0, blocks * size - count)).unflatten(1, (blocks, size)).flatten(2, 3)
        ends = functional.pad(last, (0, 0, 0, (blocks - 1) * size + reach - count)).unfold(1, reach, size)
        scores = (met @ ends).flatten()  # [B, blocks, size * (1 + Y), reach]
        labels = len(self.between)
        block, place = candidates.first // size, candidates.first % size
        row = (candidates.sentence * blocks + block) * size + place  # of the first word
        column = candidates.stop - 1 - block * size
        cells = (row[:, None] * labels + torch.arange(labels, device=row.device)) * reach + column[:, None]
        of_first, of_last, of_width = self.linear.weight.split([self.ends, self.ends, words.widths.shape[1]], dim=1)
        begin = candidates.sentence * count
        total: Tensor = (
            scores[cells]
            + linear(first, of_first, self.linear.bias).flatten(0, 1).index_select(0, begin + candidates.first)
            + linear(last, of_last).flatten(0, 1).index_select(0, begin + candidates.stop - 1)
            + (words.widths @ of_width.T)[candidates.stop - candidates.first - 1]
        )
        return total


register("head", BiaffineHead)
