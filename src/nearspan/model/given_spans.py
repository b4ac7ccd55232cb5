"""Given spans: the entities that documents come with, and the labels that a network gives them."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from nearspan.document import Document, Entity
from nearspan.encoders import EncodedCorpus
from nearspan.errors import NearspanError
from nearspan.knn import Datastore
from nearspan.model.network import Network
from nearspan.spans import Asked


def with_spans(given: Document | str) -> Document:
    """A document for a model that labels given spans; a bare text has none."""
    if isinstance(given, str):
        raise NearspanError(
            "this model was trained for typing: it labels spans that are given and finds none itself. Give it "
            "documents with entities, which it labels anew, or train the recipe with suggester.kind=all"
        )
    return given


def typed(network: Network, memory: Datastore | None, labels: Sequence[str], asked: Asked) -> list[Entity]:
    """The entities that were asked about with the labels that a network gives their spans, and how likely."""
    entities = asked.placed.entities
    if not entities:
        return []
    found, scores = asked.told(given_probabilities(network, memory, asked.prepared))
    pairs = zip(entities, found, scores, strict=True)
    return [Entity(entity.span, labels[label], score) for (_, entity), label, score in pairs]


@torch.inference_mode()
def given_probabilities(network: Network, memory: Datastore | None, prepared: EncodedCorpus) -> Tensor:
    """P(y|s) [N, 1 + Y] of the spans that sentences are given with, in their order."""
    given = prepared.given
    if given is None:
        raise ValueError("the sentences are not given with spans")
    found = torch.empty(len(given.first), network.labels, device=network.device)
    network.eval()
    for ids in prepared.order(network.device):
        some, candidates = network.probabilities(prepared.batch(ids), memory)
        starts = given.starts[ids].to(network.device)
        found[starts[candidates.sentence] + candidates.number] = some
    return found
