"""Explain a span: by the instance head's mechanism, by what its words recalled, or else by look-alikes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor

from nearspan.encoders import Batch
from nearspan.evidence.evidence import Evidence
from nearspan.evidence.flip import flip
from nearspan.evidence.neighbour import NULL, Neighbour, grouped, neighbour
from nearspan.evidence.question import Question
from nearspan.evidence.recollection import recollections
from nearspan.heads import Instances, Joiner
from nearspan.memory import Memory, nearest_sentences, nearest_spans, rows_of, scores_of
from nearspan.network import Network
from nearspan.text import Gold


def explain_candidate(
    network: Network,
    memory: Memory,
    labels: list[str],
    asked: Question,
    count: int,
    label: str | None = None,
) -> Evidence:
    """Evidence for a contiguous span; `count` neighbours are listed for each label, and for each word recalled.

    It is evidence for `label`, by default for the likeliest one that holds.
    """
    ((first, stop),) = asked.places
    row, head = next(iter(asked.rows(network)), None), network.head
    vector = None if row is None else network.spans(asked.batch)[0][row].float()
    if vector is not None and isinstance(head, Instances):
        rows, weights = _weighed(head, network, memory, asked.batch, vector)
        found = _summed(memory.labels[rows], weights, len(labels))
    else:
        rows, weights, found = None, None, _probabilities(network, memory, asked, row)  # [1, 1 + Y]
    ranked = dict(sorted(zip(labels, found[0].tolist(), strict=True), key=lambda pair: pair[1], reverse=True))
    if label is None:
        _, chosen = network.chosen(found)
        label = max((labels[number] for number in chosen.tolist()), key=lambda name: ranked[name], default=NULL)
    number = labels.index(label)
    recalled = recollections(network.encoder, memory, asked.batch, asked.words, first, stop, count)
    attended = any(one.share for one in recalled)
    if vector is None:  # a wide span, which only a head over words knows
        return Evidence(
            asked.span, asked.text, label, "attended" if attended else "nearest", ranked, {}, {}, recalled=recalled
        )
    if rows is None or weights is None:
        likeness = scores_of(memory, vector[None], cosine=True)[0]  # [N]
        near, against = (
            _best(likeness.where(which, -torch.inf), count) for which in (memory.labels >= 0, ~memory.has(number))
        )
        said = network.voted(vector[None], memory)
        voted = dict(zip(labels, said[0].tolist(), strict=True)) if said is not None else {}
        return Evidence(
            asked.span,
            asked.text,
            label,
            "attended" if attended else "nearest",
            ranked,
            {} if attended else _look_alikes(memory, labels, *near),
            {},
            against=_listed(memory, labels, *against),
            share=network.vote.share if network.vote and voted else 0.0,
            voted={name: voted[name] for name in ranked if name in voted},
            recalled=recalled,
        )
    listed = grouped(memory, labels, rows, weights, count)
    order = {name: listed[name] for name in ranked if name in listed}
    unlisted = {name: max(0.0, ranked[name] - sum(one.weight for one in group)) for name, group in order.items()}
    others = weights.where(memory.labels[rows] != number, -torch.inf)
    heaviest, places = _best(others, count)
    return Evidence(
        asked.span,
        asked.text,
        label,
        "exact",
        ranked,
        order,
        unlisted,
        against=_listed(memory, labels, heaviest, rows[places]),
        flip=flip(memory, labels, rows, weights, number),
        share=1.0,
        recalled=recalled,
    )


def _probabilities(network: Network, memory: Memory, asked: Question, row: int | None) -> Tensor:
    if row is not None:
        return network.probabilities(asked.batch, memory)[0][row : row + 1]
    place = (torch.tensor([number], device=asked.batch.rows.device) for number in (0, *asked.places[0]))
    return network.marginals(asked.batch, *place)


def _best(values: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """The highest of values [N] that are not -inf, and where they are."""
    best = values.topk(min(count, int((values > -torch.inf).sum())))
    return best.values, best.indices


def explain_fragments(
    network: Network,
    joiner: Joiner,
    memory: Memory,
    labels: list[str],
    asked: Question,
    count: int,
    label: str | None = None,
) -> Evidence:
    """Evidence for the fragments of one entity.

    It is evidence for `label`, by default for the likeliest one that holds. The neighbours are training entities: for
    each fragment the `count` whose fragments are nearest; only if the memory holds no discontinuous entity they are its
    nearest spans of any kind.
    """
    vectors, _ = network.spans(asked.batch)
    found = vectors[asked.rows(network)].float()  # [N, H]
    scores, holds = joiner.judge(found, list(asked.places))
    names = [labels[number] for number in joiner.labels]
    ranked = dict(sorted(zip(names, scores.tolist(), strict=True), key=lambda pair: pair[1], reverse=True))
    if label is None:
        label = next((name for name in ranked if holds[names.index(name)]), NULL)
    ranked[NULL] = 1 - max(ranked.values())
    broken = [(row, gold) for row, gold in memory.fragments() if memory.labels[row] >= 0]  # not those removed
    if broken:
        near = _nearest_entities(memory, broken, found, count)
    else:
        likeness = [nearest_spans(memory, vector, count, cosine=True) for vector in found]
        near = _look_alikes(memory, labels, *(torch.cat(some) for some in zip(*likeness, strict=True)))
    return Evidence(asked.span, asked.text, label, "nearest", ranked, near, {})


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
        where = (sentence.joined(gold.fragments), sentence.text, sentence.document, row, memory.ids[number])
        nearest.setdefault((number, gold), Neighbour(gold.label, weight, *where))
    found: dict[str, list[Neighbour]] = {}
    for one in nearest.values():
        found.setdefault(one.label, []).append(one)
    return found


def _weighed(head: Instances, network: Network, memory: Memory, batch: Batch, vector: Tensor) -> tuple[Tensor, Tensor]:
    """Rows of the memory that the head compares a span of this sentence with [N], and their weights [N].

    In double precision, so that they add up whatever the scores.
    """
    rows = _compared(head, network, memory, batch)
    return rows, (scores_of(memory, vector[None].double(), rows)[0] + memory.offsets(rows)).softmax(0)


def _summed(labels: Tensor, weights: Tensor, count: int) -> Tensor:
    """The weights [N] of spans with these labels [N] by label [1, count]; null has all where there are none."""
    found = weights.new_zeros(1, count).index_add_(1, labels, weights[None])
    found[0, 0] += not len(labels)
    return found


def _compared(head: Instances, network: Network, memory: Memory, batch: Batch) -> Tensor:
    """Rows of the memory that the head compares this sentence's spans with [N]."""
    if head.settings.search == "whole":
        return (memory.labels >= 0).nonzero().flatten()
    sentences = nearest_sentences(memory, network.encoder(batch).sentence_vectors(), head.settings.neighbours)
    rows, real = rows_of(memory, sentences)
    return rows[real & (memory.labels[rows] >= 0)]


def _look_alikes(memory: Memory, labels: list[str], weights: Tensor, rows: Tensor) -> dict[str, list[Neighbour]]:
    found: dict[str, list[Neighbour]] = {}
    for one in _listed(memory, labels, weights, rows):
        for label in memory.labels_of(one.row) or [NULL]:
            found.setdefault(label, []).append(replace(one, label=label))
    return found


def _listed(memory: Memory, labels: list[str], weights: Tensor, rows: Tensor) -> list[Neighbour]:
    pairs = zip(rows.tolist(), weights.tolist(), strict=True)
    return [neighbour(memory, labels, row, weight) for row, weight in pairs]
