"""A pretrained encoder that reads pieces one after the other, window behind window, and so computes no padding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from nearspan.encoders.transformer_blocks import Block, blocks, position_bias
from nearspan.precision import Precision, computes_bf16, convert

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

TILE = 16  # pieces: in bf16, windows attend in batches of lengths that are rounded up to multiples of it
LONGEST = 128  # pieces of a window that attends so; all its scores are in memory at once


@dataclass(frozen=True)
class UnpaddedEncoder:
    """An encoder's embeddings and layers, applied to the pieces of all windows at once.

    Windows of equal length stand together, and attend within themselves as one batch.
    """

    encoder: Any
    blocks: list[Block]
    # of each block the layers that queries, keys and values come from; in float32 they learn, and stay three
    projections: Sequence[nn.Module] = ()

    @classmethod
    def of(cls, encoder: Any, precision: Precision = "float32") -> UnpaddedEncoder | None:
        """The reader of an encoder in a precision; None for families that it does not know."""
        config = encoder.config
        if config.model_type not in FIRST_PLACE or getattr(config, "is_decoder", False):
            return None
        if precision == "float32":
            return cls(encoder, blocks(encoder))
        joint = [convert(nn.Sequential(_joint_layer(block)), precision) for block in blocks(encoder)]
        converted = convert(encoder, precision)
        return cls(converted, blocks(converted), joint)

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
        groups = _groups(sizes[order], in_tiles=bool(self.projections) and computes_bf16())
        bias = position_bias(self.encoder, max(group.length for group in groups))  # [heads, pieces, pieces]
        layers = [states]
        for number, block in enumerate(self.blocks):
            context = self._attend(number, layers[-1], groups, bias)
            layers.append(block.after_attention(layers[-1], context, 0.0))
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

    def _attend(self, number: int, states: Tensor, groups: Sequence[Run | Tiles], bias: Tensor | None) -> Tensor:
        """What the pieces of each window see in it [pieces, size], in a block."""
        block = self.blocks[number]
        layers = self.projections[number : number + 1] or (block.query, block.key, block.value)
        projected = [layer(states) for layer in layers]
        context = torch.empty_like(states)
        for group in groups:
            seen = bias[:, : group.length, : group.length].float() if bias is not None else None
            context[group.first : group.stop] = group.attend(projected, block, seen)
        return context


def _joint_layer(block: Block) -> nn.Linear:
    """One layer for a block's queries, keys and values."""
    parts = (block.query, block.key, block.value)
    outputs = sum(part.out_features for part in parts)
    joint = nn.Linear(block.query.in_features, outputs, device="meta")
    joint.weight = nn.Parameter(torch.cat([part.weight.detach() for part in parts]), requires_grad=False)
    joint.bias = nn.Parameter(torch.cat([part.bias.detach() for part in parts]), requires_grad=False)
    return joint


@dataclass(frozen=True)
class Run:
    """Neighbouring windows of one length, which attend as one batch."""

    first: int  # of their pieces
    stop: int
    length: int

    def attend(self, projected: Sequence[Tensor], block: Block, bias: Tensor | None) -> Tensor:
        """What their pieces see [pieces of them, size], from the queries, keys and values of all pieces.

        These are three [P, size], or side by side [P, 3 size].
        """
        parts = projected[0].chunk(3, dim=-1) if len(projected) == 1 else projected
        query, key, value = (
            part[self.first : self.stop]
            .float()
            .unflatten(-1, (block.heads, -1))
            .unflatten(0, (-1, self.length))
            .transpose(1, 2)
            for part in parts
        )
        attended = functional.scaled_dot_product_attention(query, key, value, attn_mask=bias, scale=block.scale)
        return attended.transpose(1, 2).flatten(2).flatten(0, 1)


@dataclass(frozen=True)
class Tiles:
    """Neighbouring windows of like lengths, which attend in bf16 as one batch, padded to one length.

    Products of whole tiles are so much quicker that the padding is worth its while; nothing else is computed for it.
    """

    first: int
    stop: int
    length: int  # padding included
    rows: Tensor  # [windows * length] the piece at each place; any for padding
    places: Tensor  # [pieces of them] where each is among these
    mask: Tensor  # [windows, 1, 1, length] minus infinity for padding

    @classmethod
    def of(cls, first: int, sizes: NDArray[np.int64], length: int) -> Tiles:
        """The windows of these sizes, whose pieces begin at `first`."""
        steps = np.arange(length)
        real = steps < sizes[:, None]
        starts = first + sizes.cumsum() - sizes
        rows = torch.from_numpy(np.where(real, starts[:, None] + steps, first).reshape(-1))
        mask = torch.zeros(real.shape).masked_fill_(torch.from_numpy(~real), -torch.inf)
        return cls(
            first,
            first + int(sizes.sum()),
            length,
            rows,
            torch.from_numpy(real.reshape(-1).nonzero()[0]),
            mask[:, None, None],
        )

    def attend(self, projected: Sequence[Tensor], block: Block, bias: Tensor | None) -> Tensor:
        """What their pieces see [pieces of them, size], from the queries, keys and values of all pieces [P, 3 size]."""
        (joint,) = projected
        tiles = joint.index_select(0, self.rows).bfloat16().view(len(self.mask), self.length, 3, block.heads, -1)
        query, key, value = tiles.permute(2, 0, 3, 1, 4).contiguous().flatten(1, 2)  # [windows * heads, length, h]
        scores = torch.bmm(query, key.transpose(1, 2)).float().mul_(block.scale)
        scores = scores.unflatten(0, (-1, block.heads)).add_(self.mask)
        if bias is not None:
            scores += bias
        weights = scores.softmax(-1).bfloat16().flatten(0, 1)
        attended = torch.bmm(weights, value).unflatten(0, (-1, block.heads)).transpose(1, 2)
        seen_by_pieces: Tensor = attended.flatten(2).flatten(0, 1).index_select(0, self.places)
        return seen_by_pieces


def _groups(sizes: NDArray[np.int64], *, in_tiles: bool) -> list[Run | Tiles]:
    """Windows of these rising sizes as groups that attend as one batch.

    >>> _groups(np.array([2, 2, 5]), in_tiles=False)
    [Run(first=0, stop=4, length=2), Run(first=4, stop=9, length=5)]
    >>> [(group.first, group.stop, group.length) for group in _groups(np.array([2, 5, 20, 200]), in_tiles=True)]
    [(0, 7, 16), (7, 27, 32), (27, 227, 200)]
    """
    lengths = np.where(in_tiles & (sizes <= LONGEST), -(-sizes // TILE) * TILE, sizes)
    cuts = [0, *(np.flatnonzero(np.diff(lengths)) + 1).tolist(), len(sizes)]
    groups: list[Run | Tiles] = []
    first = 0
    for begin, end in pairwise(cuts):
        length, stop = int(lengths[begin]), first + int(sizes[begin:end].sum())
        tiled = in_tiles and length <= LONGEST
        groups.append(Tiles.of(first, sizes[begin:end], length) if tiled else Run(first, stop, length))
        first = stop
    return groups
