"""Explain a span: by the instance head's mechanism, by what its words recalled, or else by its look-alikes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from nearspan.document import Span
from nearspan.encoders import Batch
from nearspan.evidence.evidence import NULL, Evidence, Neighbour, grouped, neighbour
from nearspan.evidence.recollection import recollections
from nearspan.heads import Instances
from nearspan.memory import Memory, nearest_sentences, nearest_spans, rows_of, scores_of
from nearspan.network import Network
from nearspan.spans import enumerate_spans


@dataclass(frozen=True)
class Asked:
    """A span to explain: words `first` to `stop` of a batch of one sentence, and that sentence's words."""

    batch: Batch
    words: Sequence[str]
    first: int
    stop: int


def explain(
    network: Network, memory: Memory, labels: list[str], asked: Asked, span: Span, text: str, count: int
) -> Evidence:
    """Evidence for a span; `count` neighbours are listed for each label, and for each word that was recalled."""
    candidates = enumerate_spans(asked.batch.lengths, network.max_width)
    rows = ((candidates.first == asked.first) & (candidates.stop == asked.stop)).nonzero().flatten()
    row = int(rows[0]) if len(rows) else None  # none: a wide span, which only a head over words knows
    found = _probabilities(network, memory, asked, row)  # [1, 1 + Y]
    ranked = dict(sorted(zip(labels, found[0].tolist(), strict=True), key=lambda pair: pair[1], reverse=True))
    _, chosen = network.chosen(found)
    label = max((labels[number] for number in chosen.tolist()), key=lambda name: ranked[name], default=NULL)
    recalled = recollections(network.encoder, memory, asked.batch, asked.words, asked.first, asked.stop, count)
    if isinstance(network.head, Instances) and row is not None:
        rows = _compared(network.head, network, memory, asked.batch)
        weights = scores_of(memory, _vector(network, asked, row)[None], rows)[0].softmax(0)
        listed = grouped(memory, labels, rows, weights, count)
        order = {name: listed[name] for name in ranked if name in listed}
        unlisted = {name: ranked[name] - sum(one.weight for one in group) for name, group in order.items()}
        return Evidence(span, text, label, "exact", ranked, order, unlisted, recalled)
    if any(one.share for one in recalled):
        return Evidence(span, text, label, "attended", ranked, {}, {}, recalled)
    alike: dict[str, list[Neighbour]] = {}
    if row is not None:
        likeness, rows = nearest_spans(memory, _vector(network, asked, row), count, cosine=True)
        alike = _look_alikes(memory, rows, likeness, labels)
    return Evidence(span, text, label, "nearest", ranked, alike, {}, recalled)


def _probabilities(network: Network, memory: Memory, asked: Asked, row: int | None) -> Tensor:
    if row is not None:
        return network.probabilities(asked.batch, memory)[0][row : row + 1]
    place = (torch.tensor([number], device=asked.batch.rows.device) for number in (0, asked.first, asked.stop))
    return network.marginals(asked.batch, *place)


def _vector(network: Network, asked: Asked, row: int) -> Tensor:
    return network.spans(asked.batch)[0][row].float()


def _compared(head: Instances, network: Network, memory: Memory, batch: Batch) -> Tensor:
    """Rows of the memory that the head compares this sentence's spans with [N]."""
    if head.settings.search == "whole":
        return torch.arange(len(memory), device=memory.labels.device)
    sentences = nearest_sentences(memory, network.encoder(batch).sentence_vectors(), head.settings.neighbours)
    rows, real = rows_of(memory, sentences)
    return rows[real]


def _look_alikes(memory: Memory, rows: Tensor, weights: Tensor, labels: list[str]) -> dict[str, list[Neighbour]]:
    found: dict[str, list[Neighbour]] = {}
    for row, weight in zip(rows.tolist(), weights.tolist(), strict=True):
        one = neighbour(memory, labels, row, weight)
        for label in memory.labels_of(row) or [NULL]:
            found.setdefault(label, []).append(replace(one, label=label))
    return found
