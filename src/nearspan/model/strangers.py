"""How near entities are to those of the memory: strangers are far from all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.nn import functional

from nearspan.document import Document
from nearspan.heads import Query
from nearspan.knn import Datastore
from nearspan.segment import LabelledSpan
from nearspan.spans import GivenEntities

if TYPE_CHECKING:
    from nearspan.model.model import Model

PART = 256  # spans that are compared with the memory's entities at once


def nearest_cosines(vectors: Tensor, datastore: Datastore) -> Tensor:
    """The cosines [n] of span vectors [n, H] with the nearest entity of the datastore; -1 where it has none."""
    directions = datastore.entity_directions
    if not len(directions):
        return torch.full((len(vectors),), -1.0, device=vectors.device)
    parts = functional.normalize(vectors.float(), dim=1).split(PART)
    return torch.cat([(part @ directions.T).amax(1) for part in parts])


def with_cosines(
    query: Query, spans: list[list[LabelledSpan[int]]], datastore: Datastore
) -> list[list[LabelledSpan[int]]]:
    """The spans of each sentence with their nearest cosines; only contiguous ones that are candidates have one."""
    places = [(i, j) for i, of_sentence in enumerate(spans) for j in range(len(of_sentence))]
    places = [(i, j) for i, j in places if not spans[i][j].discontinuous]
    compared = [list(of_sentence) for of_sentence in spans]
    cosines = _cosines_at(query, [(i, *spans[i][j].fragments[0]) for i, j in places], datastore)
    for (i, j), cosine in zip(places, cosines, strict=True):
        compared[i][j] = replace(compared[i][j], cosine=cosine)
    return compared


@torch.inference_mode()
def entity_cosines(model: Model, documents: Sequence[Document]) -> list[float | None]:
    """The nearest cosine of each entity of documents, which are read again; None as in `with_cosines`."""
    network, datastore = model.network.eval(), model.datastore
    cosines: dict[int, float | None] = {}  # by the entity's number among those that could be placed
    given = GivenEntities.of(documents, model.split, network.max_width)
    if datastore is not None and len(datastore.entity_rows) and given.fragments:
        by_sentence: list[list[tuple[int, int, int]]] = [[] for _ in given.sentences]
        for number, sentence, first, stop in given.fragments:
            by_sentence[sentence].append((number, first, stop))
        for batch in network.encode_to_predict(given.sentences).reading_batches():
            places = [(i, *place) for i, number in enumerate(batch.ids.tolist()) for place in by_sentence[number]]
            query = Query(network, batch, datastore)
            near = _cosines_at(query, [(i, first, stop) for i, _, first, stop in places], datastore)
            cosines |= {number: cosine for (_, number, *_), cosine in zip(places, near, strict=True)}
    placed = {
        (position, entity): cosines.get(number)
        for number, (position, entity) in enumerate(given.entities)
        if not entity.span.discontinuous
    }
    return [placed.get((i, entity)) for i, document in enumerate(documents) for entity in document.entities]


def _cosines_at(query: Query, places: Sequence[tuple[int, ...]], datastore: Datastore) -> list[float | None]:
    """The nearest cosines of spans at places (sentence, first, stop) of a query; None where there is no candidate."""
    if not places or not len(datastore.entity_rows):
        return [None] * len(places)
    rows, real = query.candidates.find(torch.tensor(places))
    cosines = nearest_cosines(query.vectors[rows], datastore).tolist()
    return [cosine if found else None for cosine, found in zip(cosines, real.tolist(), strict=True)]
