"""Explain a span: by the instance head's mechanism, by what its words recalled, or else by look-alikes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor

from nearspan.encoders import Batch
from nearspan.explain.counter_evidence import flip
from nearspan.explain.evidence import Evidence, Strength
from nearspan.explain.neighbour import NULL, Neighbour, grouped, neighbour
from nearspan.explain.question import Question
from nearspan.explain.recollection import RecalledWord, recollections
from nearspan.heads import FragmentLinker, NearestHead
from nearspan.knn import Datastore, nearest_sentences, nearest_spans, rows_of, scores_of
from nearspan.model.network import Network
from nearspan.segment import Gold


def explain_candidate(
    network: Network,
    memory: Datastore,
    labels: list[str],
    asked: Question,
    count: int,
    label: str | None = None,
) -> Evidence:
    """Evidence for a contiguous span; `count` neighbours are listed for each label, and for each word recalled.

    It is evidence for `label`, by default for the likeliest one that holds.
    """
    row = next(iter(asked.rows(network)), None)
    if row is not None and isinstance(network.head, NearestHead):
        return _exact(network.head, network, memory, labels, asked, row, count, label)
    found = _probabilities(network, memory, asked, row)
    ranked, label = _ranked(network, labels, found, label)
    recalled = _recalled(network, memory, asked, count)
    attended = any(one.share for one in recalled)
    strength: Strength = "attended" if attended else "nearest"
    if row is None:  # a wide span, which only a head over words knows
        return Evidence(asked.span, asked.text, label, strength, ranked, {}, {}, recalled=recalled)
    vector = network.spans(asked.batch)[0][row].float()
    likeness = scores_of(memory, vector[None], cosine=True)[0]  # [N]
    others = ~memory.has(labels.index(label))
    near, against = (_best(likeness.where(which, -torch.inf), count) for which in (memory.labels >= 0, others))
    said = network.voted(vector[None], memory)
    voted = dict(zip(labels, said[0].tolist(), strict=True)) if said is not None else {}
    return Evidence(
        asked.span,
        asked.text,
        label,
        strength,
        ranked,
        {} if attended else _look_alikes(memory, labels, *near),
        {},
        against=_listed(memory, labels, *against),
        share=network.interpolation.weight if network.interpolation and voted else 0.0,
        voted={name: voted[name] for name in ranked if name in voted},
        recalled=recalled,
    )


def _exact(
    head: NearestHead,
    network: Network,
    memory: Datastore,
    labels: list[str],
    asked: Question,
    row: int,
    count: int,
    label: str | None,
) -> Evidence:
    """Evidence for the candidate at a row by the instance head's own account.

    In double precision, so that shares add up to the probabilities whatever the scores.
    """
    vector = network.spans(asked.batch)[0][row].double()
    rows = _compared(head, network, memory, asked.batch)
    weights = (scores_of(memory, vector[None], rows)[0] + memory.offsets(rows)).softmax(0)
    ranked, label = _ranked(network, labels, _summed(memory.labels[rows], weights, len(labels)), label)
    listed = grouped(memory, labels, rows, weights, count)
    order = {name: listed[name] for name in ranked if name in listed}
    number = labels.index(label)
    heaviest, places = _best(weights.where(memory.labels[rows] != number, -torch.inf), count)
    return Evidence(
        asked.span,
        asked.text,
        label,
        "exact",
        ranked,
        order,
        {name: max(0.0, ranked[name] - sum(one.weight for one in group)) for name, group in order.items()},
        against=_listed(memory, labels, heaviest, rows[places]),
        flip=flip(memory, labels, rows, weights, number),
        share=1.0,
        recalled=_recalled(network, memory, asked, count),
    )


def _ranked(network: Network, labels: list[str], found: Tensor, label: str | None) -> tuple[dict[str, float], str]:
    """Probabilities [1, 1 + Y] by label, likeliest first; and the label, by default the likeliest one that holds."""
    ranked = dict(sorted(zip(labels, found[0].tolist(), strict=True), key=lambda pair: pair[1], reverse=True))
    if label is None:
        _, chosen = network.chosen(found)
        label = max((labels[number] for number in chosen.tolist()), key=lambda name: ranked[name], default=NULL)
    return ranked, label


def _recalled(network: Network, memory: Datastore, asked: Question, count: int) -> list[RecalledWord]:
    ((first, stop),) = asked.places
    return recollections(network.encoder, memory, asked.batch, asked.words, first, stop, count)


def _probabilities(network: Network, memory: Datastore, asked: Question, row: int | None) -> Tensor:
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
    joiner: FragmentLinker,
    memory: Datastore,
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
    memory: Datastore, broken: Sequence[tuple[int, Gold]], vectors: Tensor, count: int
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


def _summed(labels: Tensor, weights: Tensor, count: int) -> Tensor:
    """The weights [N] of spans with these labels [N] by label [1, count]; null has all where there are none."""
    found = weights.new_zeros(1, count).index_add_(1, labels, weights[None])
    found[0, 0] += not len(labels)
    return found


def _compared(head: NearestHead, network: Network, memory: Datastore, batch: Batch) -> Tensor:
    """Rows of the memory that the head compares this sentence's spans with [N]."""
    if head.settings.search == "whole":
        return (memory.labels >= 0).nonzero().flatten()
    means = network.encoder.sentence_vectors(network.encoder(batch))
    sentences = nearest_sentences(memory, means, head.settings.neighbours)
    rows, real = rows_of(memory, sentences)
    return rows[real & (memory.labels[rows] >= 0)]


def _look_alikes(memory: Datastore, labels: list[str], weights: Tensor, rows: Tensor) -> dict[str, list[Neighbour]]:
    found: dict[str, list[Neighbour]] = {}
    for one in _listed(memory, labels, weights, rows):
        for label in memory.labels_of(one.row) or [NULL]:
            found.setdefault(label, []).append(replace(one, label=label))
    return found


def _listed(memory: Datastore, labels: list[str], weights: Tensor, rows: Tensor) -> list[Neighbour]:
    pairs = zip(rows.tolist(), weights.tolist(), strict=True)
    return [neighbour(memory, labels, row, weight) for row, weight in pairs]
