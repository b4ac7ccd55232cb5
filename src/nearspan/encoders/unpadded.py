"""A pretrained encoder that reads pieces one after the other, window behind window, and so computes no padding."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from nearspan.encoders.transformer_blocks import Block, blocks, position_bias

# families whose layers do to a piece what `Block` does, and where their embeddings count places from
FIRST_PLACE = {
    "bert": 0,
    "camembert": None,
    "distilbert": 0,
    "electra": 0,
    "ernie": 0,
    "mpnet": None,
    "roberta": None,
    "xlm-roberta": None,
}  # None: behind the place of padding


@dataclass(frozen=True)
class UnpaddedEncoder:
    """An encoder's embeddings and layers, applied to the pieces of all windows at once.

    Windows of equal length stand together, and attend within themselves as one batch.
    """

    encoder: Any
    blocks: list[Block]

    @classmethod
    def of(cls, encoder: Any) -> UnpaddedEncoder | None:
        """The reader of an encoder; None for families that it does not know."""
        config = encoder.config
        if config.model_type not in FIRST_PLACE or getattr(config, "is_decoder", False):
            return None
        return cls(encoder, blocks(encoder))

    def __call__(self, rows: list[NDArray[np.int64]], all_layers: bool = False) -> tuple[Tensor, NDArray[np.int64]]:
        """States [pieces, layers, size] of windows of ids, and the row at which each window begins."""
        sizes = np.array([len(row) for row in rows])
        order = np.argsort(sizes, kind="stable")
        stops = sizes[order].cumsum()
        starts = np.empty_like(stops)
        starts[order] = stops - sizes[order]
        places = np.arange(stops[-1]) - np.repeat(stops - sizes[order], sizes[order])
        ids = torch.from_numpy(np.concatenate([rows[number] for number in order]))
        states = self._embed(ids, torch.from_numpy(places))
        runs = _equal_runs(sizes[order])
        bias = position_bias(self.encoder, int(sizes.max()))  # [heads, pieces, pieces]
        layers = [states]
        for block in self.blocks:
            layers.append(block.after_attention(layers[-1], self._attend(block, layers[-1], runs, bias), 0.0))
        return torch.stack(layers if all_layers else layers[-1:], dim=1), starts

    def _embed(self, ids: Tensor, places: Tensor) -> Tensor:
        """The states [pieces, size] below the first layer."""
        embeddings, first = self.encoder.embeddings, FIRST_PLACE[self.encoder.config.model_type]
        begin = embeddings.padding_idx + 1 if first is None else first
        states = embeddings(input_ids=ids[None], position_ids=(places + begin)[None])
        if hasattr(self.encoder, "embeddings_project"):
            states = self.encoder.embeddings_project(states)
        flat: Tensor = states[0]
        return flat

    @staticmethod
    def _attend(block: Block, states: Tensor, runs: list[tuple[int, int, int]], bias: Tensor | None) -> Tensor:
        """What the pieces of each window see in it [pieces, size]."""
        # in full precision, which torch's attention is quicker in than in bf16
        projected = [part(states).float() for part in (block.query, block.key, block.value)]
        parts = [part.unflatten(-1, (block.heads, -1)) for part in projected]
        context = torch.empty_like(parts[0])
        for first, stop, length in runs:
            query, key, value = (part[first:stop].unflatten(0, (-1, length)).transpose(1, 2) for part in parts)
            seen = bias[:, :length, :length].float() if bias is not None else None
            attended = functional.scaled_dot_product_attention(query, key, value, attn_mask=seen, scale=block.scale)
            context[first:stop] = attended.transpose(1, 2).flatten(0, 1)
        return context.flatten(1).to(states.dtype)


def _equal_runs(sizes: NDArray[np.int64]) -> list[tuple[int, int, int]]:
    """Where windows of one length begin and stop among all pieces, and that length; sizes rise.

    >>> _equal_runs(np.array([2, 2, 5]))
    [(0, 4, 2), (4, 9, 5)]
    """
    lengths, counts = np.unique(sizes, return_counts=True)
    edges = [0, *(lengths * counts).cumsum().tolist()]
    return [(first, stop, length) for (first, stop), length in zip(pairwise(edges), lengths.tolist(), strict=True)]
