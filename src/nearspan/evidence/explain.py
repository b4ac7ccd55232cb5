"""Explain a span: for the instance head by its mechanism, for any other and for joined fragments by look-alikes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor

from nearspan.document import Span
from nearspan.encoders import Batch
from nearspan.evidence.evidence import NULL, Evidence, Neighbour, grouped, neighbour
from nearspan.heads import Instances, Joiner
from nearspan.memory import Memory, nearest_sentences, nearest_spans, rows_of, scores_of
from nearspan.network import Network
from nearspan.text import Gold


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


def explain_fragments(
    network: Network,
    joiner: Joiner,
    memory: Memory,
    labels: list[str],
    batch: Batch,
    rows: Sequence[int],
    span: Span,
    text: str,
    count: int,
) -> Evidence:
    """Evidence for candidates `rows` of a batch of one sentence as the fragments of one entity.

    Their neighbours are training entities: for each fragment the `count` whose fragments are nearest. Only if the
    memory holds no discontinuous entity they are its nearest spans of any kind.
    """
    vectors, candidates = network.spans(batch)
    found = vectors[list(rows)].float()  # [N, H]
    places = [(int(candidates.first[row]), int(candidates.stop[row])) for row in rows]
    scores, holds = joiner.judge(found, places)
    names = [labels[number] for number in joiner.labels]
    ranked = dict(sorted(zip(names, scores.tolist(), strict=True), key=lambda pair: pair[1], reverse=True))
    label = next((name for name in ranked if holds[names.index(name)]), NULL)
    ranked[NULL] = 1 - max(ranked.values())
    broken = list(memory.fragments())
    if broken:
        near = _nearest_entities(memory, broken, found, count)
    else:
        likeness = [nearest_spans(memory, vector, count, cosine=True) for vector in found]
        near = _look_alikes(memory, labels, torch.cat([r for _, r in likeness]), torch.cat([v for v, _ in likeness]))
    return Evidence(span, text, label, "nearest", ranked, near, {})


def _nearest_entities(
    memory: Memory, broken: Sequence[tuple[int, Gold]], vectors: Tensor, count: int
) -> dict[str, list[Neighbour]]:
    """Training entities by label, those first of which a fragment is nearest to one of the vectors [N, H]."""
    rows = torch.tensor([row for row, _ in broken], device=memory.labels.device)
    best = scores_of(memory, vectors, rows, cosine=True).topk(min(count, len(rows)))
    nearest: dict[tuple[int, Gold], Neighbour] = {}
    for weight, at in sorted(zip(best.values.flatten().tolist(), best.indices.flatten().tolist(), strict=True))[::-1]:
        row, gold = broken[at]
        number = int(memory.sentence[row])
        sentence = memory.sentences[number]
        one = Neighbour(gold.label, weight, sentence.joined(gold.fragments), sentence.text, sentence.document, row)
        nearest.setdefault((number, gold), one)
    found: dict[str, list[Neighbour]] = {}
    for one in nearest.values():
        found.setdefault(one.label, []).append(one)
    return found


def _compared(head: Instances, network: Network, memory: Memory, batch: Batch) -> Tensor:
    """Rows of the memory that the head compares this sentence's spans with [N]."""
    if head.settings.search == "whole":
        return torch.arange(len(memory), device=memory.labels.device)
    sentences = nearest_sentences(memory, network.encoder(batch).sentence_vectors(), head.settings.neighbours)
    rows, real = rows_of(memory, sentences)
    return rows[real]


def _look_alikes(memory: Memory, labels: list[str], rows: Tensor, weights: Tensor) -> dict[str, list[Neighbour]]:
    found: dict[str, list[Neighbour]] = {}
    for row, weight in zip(rows.tolist(), weights.tolist(), strict=True):
        one = neighbour(memory, labels, row, weight)
        for label in memory.labels_of(row) or [NULL]:
            found.setdefault(label, []).append(replace(one, label=label))
    return found
