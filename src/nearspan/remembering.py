"""Remembering: what a network makes of all spans of a corpus, as a memory keeps it."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from nearspan.encoders import Encoded, Prepared
from nearspan.network import Network
from nearspan.spans import Minus, WordSums, how_many


@torch.inference_mode()
def corpus_vectors(network: Network, prepared: Prepared) -> tuple[Tensor | WordSums, Tensor]:
    """Vectors of all candidate spans [N, H] or of their words, and unit vectors [M, E] of all sentences."""
    network.eval()
    device, spans = prepared.first.device, network.adds_up
    kept = _Words(prepared, spans) if spans is not None else _Spans(prepared, network)
    means = torch.empty(len(prepared), 0, device=device)
    for ids in prepared.order(device):
        encoded = network.encoder(prepared.batch(ids))
        found = encoded.sentence_vectors().float()
        means = means if means.shape[1] else means.new_empty(len(prepared), found.shape[1])
        means[ids.to(device)] = found
        kept.put(encoded)
    return kept.vectors, functional.normalize(means, dim=1)


class _Words:
    """The words' vectors of a corpus, whose sums are its spans' vectors."""

    def __init__(self, prepared: Prepared, spans: Minus) -> None:
        steps = torch.empty(int(prepared.lengths.sum()), spans.size, device=prepared.first.device)
        self.spans = spans
        self.vectors = WordSums(steps.new_empty(1 if spans.begins_alike else len(steps), spans.size), steps)

    def put(self, encoded: Encoded) -> None:
        """Add a batch's words."""
        sums, mask = self.spans.sums(encoded.states), encoded.batch.mask
        rows = encoded.batch.rows[mask]
        self.vectors.steps[rows] = sums.steps[mask].float()
        if self.spans.begins_alike:
            self.vectors.begins.copy_(sums.begins)
        else:
            self.vectors.begins[rows] = sums.begins[mask].float()


class _Spans:
    """The vectors [N, H] of all candidates of a corpus, in half precision: there are many."""

    def __init__(self, prepared: Prepared, network: Network) -> None:
        self.network = network
        device, given = prepared.first.device, prepared.given
        counts = given.counts if given is not None else how_many(prepared.lengths, network.max_width)
        self.starts = (counts.cumsum(0) - counts).to(device)
        self.vectors = torch.empty(int(counts.sum()), network.size, dtype=torch.float16, device=device)

    def put(self, encoded: Encoded) -> None:
        """Add a batch's spans."""
        candidates = self.network.candidates(encoded.batch)
        found = self.network.vectors(encoded, candidates)
        starts = self.starts[encoded.batch.ids.to(self.starts.device)]
        self.vectors[starts[candidates.sentence] + candidates.number] = found.half()
