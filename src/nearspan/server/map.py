"""A map of the memory: its entities in two dimensions."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from nearspan.explain.neighbour import Neighbour, neighbour
from nearspan.knn import Datastore
from nearspan.report.papers.projection import principal
from nearspan.server.answers import MapOut, PointOut


@torch.inference_mode()
def draw(memory: Datastore, labels: Sequence[str], most: int) -> MapOut:
    """At most `most` of the memory's entities, evenly taken, along their principal components."""
    every = (memory.labels > 0).nonzero().flatten()
    count = min(most, len(every))
    rows = every[torch.linspace(0, max(0, len(every) - 1), count).long().to(every.device)]
    found = principal(memory.rows(rows).float().cpu().numpy())  # no points where there are too few
    placed = zip(found.points.tolist(), rows.tolist(), strict=False)
    return MapOut(
        points=[_point(neighbour(memory, list(labels), row, 0.0), x, y) for (x, y), row in placed],
        entities=len(every),
        explained=found.explained,
    )


def _point(one: Neighbour, x: float, y: float) -> PointOut:
    return PointOut(
        x=x,
        y=y,
        label=one.label,
        text=one.text,
        fragments=list(one.span.fragments),
        sentence=one.sentence,
        document=one.document,
        sentence_id=one.sentence_id,
    )
