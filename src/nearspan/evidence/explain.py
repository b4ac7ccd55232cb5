"""Explain a span: for the instance head by its mechanism, for any other by its look-alikes."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from nearspan.document import Span
from nearspan.encoders import Batch
from nearspan.evidence.evidence import NULL, Evidence, Neighbour, grouped, neighbour
from nearspan.heads import Instances
from nearspan.memory import Memory, nearest_sentences, nearest_spans, rows_of, scores_of
from nearspan.network import Network


def explain_candidate(
    network: Network,
    memory: Memory,
    labels: list[str],
    batch: Batch,
    row: int,
    span: Span,
    text: str,
    count: int,
) -> Evidence:
    """Evidence for candidate `row` of a batch of one sentence; `count` neighbours are listed for each label."""
    vectors, _ = network.spans(batch)
    vector = vectors[row].float()
    probabilities, _ = network.probabilities(batch, memory)
    ranked = dict(sorted(zip(labels, probabilities[row].tolist(), strict=True), key=lambda pair: pair[1], reverse=True))
    _, chosen = network.chosen(probabilities[row : row + 1])
    label = max((labels[number] for number in chosen.tolist()), key=lambda name: ranked[name], default=NULL)
    if not isinstance(network.head, Instances):
        likeness, rows = nearest_spans(memory, vector, count, cosine=True)
        return Evidence(span, text, label, "nearest", ranked, _look_alikes(memory, labels, rows, likeness), {})
    rows = _compared(network.head, network, memory, batch)
    weights = scores_of(memory, vector[None], rows)[0].softmax(0)
    listed = grouped(memory, labels, rows, weights, count)
    order = {name: listed[name] for name in ranked if name in listed}
    unlisted = {name: ranked[name] - sum(one.weight for one in group) for name, group in order.items()}
    return Evidence(span, text, label, "exact", ranked, order, unlisted)


def _compared(head: Instances, network: Network, memory: Memory, batch: Batch) -> Tensor:
    """Rows of the memory that the head compares this sentence's spans with [N]."""
    if head.settings.search == "whole":
        return (memory.labels >= 0).nonzero().flatten()
    sentences = nearest_sentences(memory, network.encoder(batch).sentence_vectors(), head.settings.neighbours)
    rows, real = rows_of(memory, sentences)
    return rows[real & (memory.labels[rows] >= 0)]


def _look_alikes(memory: Memory, labels: list[str], rows: Tensor, weights: Tensor) -> dict[str, list[Neighbour]]:
    found: dict[str, list[Neighbour]] = {}
    for row, weight in zip(rows.tolist(), weights.tolist(), strict=True):
        one = neighbour(memory, labels, row, weight)
        for label in memory.labels_of(row) or [NULL]:
            found.setdefault(label, []).append(replace(one, label=label))
    return found
