"""Strangers: entities that are farther from all entities of the memory than those are from each other."""

from dataclasses import replace

import torch
from torch import Tensor
from torch.nn import functional

from nearspan.heads import Query
from nearspan.knn import Datastore, LeaveOneOut
from nearspan.segment import LabelledSpan

USUAL = 0.95  # of the memory's entities are nearer than the limit to another one
SAMPLE = 2_000  # of these entities are compared with all others
FEWEST = 100  # entities of a memory from which a limit is taken
PART = 256  # spans that are compared with the memory's entities at once
FIRST = 500  # entities of the memory that all spans are compared with


@torch.inference_mode()
def least_cosine(datastore: Datastore) -> float | None:
    """The cosine that an entity usually has with the nearest other one; None for a memory of few entities.

    Of each entity its sentence, and every copy of that, is left out.
    """
    rows, directions = datastore.entity_rows, datastore.entity_directions
    if len(rows) < FEWEST:
        return None
    groups = LeaveOneOut.of(datastore).duplicate_group[datastore.sentence[rows]]  # [E]
    sample = torch.linspace(0, len(rows) - 1, min(SAMPLE, len(rows)), device=rows.device).long()
    cosines = torch.cat(
        [
            (directions[part] @ directions.T).masked_fill_(groups[part, None] == groups, -1.0).amax(1)
            for part in sample.split(PART)
        ]
    )
    return float(cosines.quantile(1 - USUAL))


def nearest_cosines(vectors: Tensor, datastore: Datastore) -> Tensor:
    """The cosines [n] of span vectors [n, H] with the nearest entity of the datastore; -1 where it has none."""
    directions = datastore.entity_directions
    if not len(directions):
        return torch.full((len(vectors),), -1.0, device=vectors.device)
    parts = functional.normalize(vectors.float(), dim=1).split(PART)
    return torch.cat([(part @ directions.T).amax(1) for part in parts])


def are_strange(vectors: Tensor, datastore: Datastore, least: float) -> Tensor:
    """Which span vectors [n, H] have a cosine below `least` with every entity of the datastore.

    A span that is near to one entity is none, so most are settled by the first few, drawn from all over the datastore.
    """
    directions = datastore.entity_directions
    strange = torch.ones(len(vectors), dtype=torch.bool, device=vectors.device)
    spans = functional.normalize(vectors.float(), dim=1)
    stride = max(1, len(directions) // FIRST)
    for start in range(stride if len(directions) else 0):
        rows = strange.nonzero().flatten()
        if not len(rows):
            break
        some = directions[start::stride]
        for part in rows.split(PART):
            strange[part] = (spans[part] @ some.T).amax(1) < least
    return strange


def mark_strangers(
    query: Query, spans: list[list[LabelledSpan[int]]], datastore: Datastore, least: float
) -> list[list[LabelledSpan[int]]]:
    """The spans of each sentence, those marked that are strangers; only contiguous ones that are candidates can be."""
    places = [(i, j) for i, of_sentence in enumerate(spans) for j in range(len(of_sentence))]
    places = [(i, j) for i, j in places if not spans[i][j].discontinuous]
    if not places:
        return spans
    rows, real = query.candidates.find(torch.tensor([(i, *spans[i][j].fragments[0]) for i, j in places]))
    strange = are_strange(query.vectors[rows], datastore, least) & real
    marked = [list(of_sentence) for of_sentence in spans]
    for (i, j), stranger in zip(places, strange.tolist(), strict=True):
        if stranger:
            marked[i][j] = replace(marked[i][j], stranger=True)
    return marked
