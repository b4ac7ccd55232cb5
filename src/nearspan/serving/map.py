"""A map of the memory: its entities in two dimensions."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from nearspan.analysis.projection import principal
from nearspan.memory import Memory
from nearspan.serving.schemas import MapOut, PointOut

AROUND = 120  # characters shown on each side


@torch.inference_mode()
def draw(memory: Memory, labels: Sequence[str], most: int) -> MapOut:
    """At most `most` of the memory's entities, evenly taken, along their principal components."""
    every = memory.labels.nonzero().flatten()
    count = min(most, len(every))
    rows = every[torch.linspace(0, max(0, len(every) - 1), count, device=every.device).long()]
    found = principal(memory.rows(rows).float().cpu().numpy()) if count else principal(torch.zeros(0, 2).numpy())
    columns = zip(rows.tolist(), memory.labels[rows].tolist(), found.points.tolist(), strict=False)
    return MapOut(
        points=[_point(memory, row, labels[label], x, y) for row, label, (x, y) in columns],
        entities=len(every),
        explained=found.explained,
    )


def _point(memory: Memory, row: int, label: str, x: float, y: float) -> PointOut:
    sentence = memory.sentences[int(memory.sentence[row])]
    span = sentence.span(int(memory.first[row]), int(memory.stop[row]))
    text, start, end = sentence.text, span.start, span.end
    before, after = text[max(0, start - AROUND) : start], text[end : end + AROUND]
    if start > AROUND:
        before = "…" + before
    if end + AROUND < len(text):
        after += "…"
    return PointOut(
        x=x, y=y, label=label, text=text[start:end], before=before, after=after, document=sentence.document, row=row
    )
