"""An embedding of a span's width."""

from __future__ import annotations

from torch import nn


def width_embedding(max_width: int, size: int) -> nn.Embedding | None:
    """An embedding with a row for each width from 1 word on; none for size 0."""
    if not size:
        return None
    table = nn.Embedding(max_width, size)
    nn.init.uniform_(table.weight, -((3 / size) ** 0.5), (3 / size) ** 0.5)
    return table
