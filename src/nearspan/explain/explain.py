"""Explain a span: by what its probability is the sum of, by what its words recalled, or else by look-alikes."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Protocol

import torch
from torch import Tensor

from nearspan.encoders import Encoder
from nearspan.encoders.word_memory import WordMemory
from nearspan.explain.counter_evidence import smallest_removal
from nearspan.explain.evidence import NULL, Evidence, Neighbour, RecalledWord, Strength, neighbours_at
from nearspan.explain.question import Question
from nearspan.heads import Contributions, FragmentLinker, Head, Query
from nearspan.knn import Datastore, similarities
from nearspan.segment import LabelledSpan, contiguous


class ExplainedNetwork(Protocol):
    """What explaining asks of a network."""

    encoder: Encoder
    head: Head
    fragment_linker: FragmentLinker | None

    @property
    def datastore_weight(self) -> float: ...  # noqa: D102
    def predict_proba(self, query: Query, *, entities_only: bool = False) -> Tensor: ...  # noqa: D102
    def knn_probabilities(self, query: Query) -> Tensor | None: ...  # noqa: D102


def explain_span(
    network: ExplainedNetwork,
    query: Query,
    question: Question,
    datastore: Datastore,
    labels: list[str],
    count: int,
    label: str | None = None,
) -> Evidence:
    """Evidence for a span; `count` neighbours are listed for each label, and for each word recalled.

    It is evidence for `label`, by default for the likeliest one that holds.
    """
    if question.span.discontinuous and network.fragment_linker is not None:
        evidence = _explain_fragments(network.fragment_linker, query, question, datastore, labels, count)
        return evidence if label is None else replace(evidence, label=label)
    row = next(iter(question.candidate_rows(query)), None)
    [(first, stop)] = question.places
    recalled = _recalled_words(network.encoder, query, question.window.sentence.tokens, first, stop, count)
    contributions = network.head.contributions(query, row) if row is not None else None
    strength: Strength = "attended" if any(word.weight for word in recalled) else "nearest"
    if contributions is not None:
        strength, probabilities = "exact", _sum_by_label(datastore.labels, contributions, len(labels))
    else:
        probabilities = _probabilities(network, query, question, row)
    ranked, label = _rank(network.head, labels, probabilities, label)
    evidence = Evidence(question.span, question.text, label, strength, ranked, {}, {}, recalled=recalled)
    if contributions is not None:
        return _add_contributions(evidence, contributions, datastore, labels, count)
    if row is None:  # a wide span, which only a head that reads words knows
        return evidence
    cosines = similarities(datastore, query.vectors[row][None], cosine=True)[0]  # [N]
    near = _top(cosines.where(datastore.labels >= 0, -torch.inf), count)
    against = _top(cosines.where(~datastore.has_label(labels.index(label)), -torch.inf), count)
    knn = network.knn_probabilities(query.with_vectors(query.vectors[row : row + 1]))
    by_label = dict(zip(labels, knn[0].tolist(), strict=True)) if knn is not None else {}
    return replace(
        evidence,
        neighbours={} if strength == "attended" else _look_alikes(datastore, labels, *near),
        against=neighbours_at(datastore, labels, *against),
        weight=network.datastore_weight if by_label else 0.0,
        knn_probabilities={name: by_label[name] for name in ranked if name in by_label},
    )


def _add_contributions(
    evidence: Evidence, contributions: Contributions, datastore: Datastore, labels: list[str], count: int
) -> Evidence:
    """Evidence with the datastore spans that add up to its probabilities."""
    rows, weights, ranked = contributions.rows, contributions.weights, evidence.probabilities
    listed = _heaviest_by_label(datastore, labels, rows, weights, count)
    neighbours = {name: listed[name] for name in ranked if name in listed}
    number = labels.index(evidence.label)
    heaviest, places = _top(weights.where(datastore.labels[rows] != number, -torch.inf), count)
    return replace(
        evidence,
        neighbours=neighbours,
        unlisted={name: max(0.0, ranked[name] - sum(near.weight for near in neighbours[name])) for name in neighbours},
        against=neighbours_at(datastore, labels, heaviest, rows[places]),
        counter_evidence=smallest_removal(datastore, labels, rows, weights, number),
        weight=1.0,
    )


def _heaviest_by_label(
    datastore: Datastore, labels: list[str], rows: Tensor, weights: Tensor, count: int
) -> dict[str, list[Neighbour]]:
    """For each label its `count` heaviest neighbours among `rows` [N] with `weights` [N]."""
    by_label: dict[str, list[Neighbour]] = {}
    row_labels = datastore.labels[rows]
    for number, label in enumerate(labels):
        places = (row_labels == number).nonzero().flatten()
        if len(places):
            best = weights[places].topk(min(count, len(places)))
            by_label[label] = neighbours_at(datastore, labels, best.values, rows[places[best.indices]])
    return by_label


def _rank(head: Head, labels: list[str], probabilities: Tensor, label: str | None) -> tuple[dict[str, float], str]:
    """Probabilities [1, 1 + Y] by label, likeliest first; and the label, by default the likeliest one that holds."""
    pairs = zip(labels, probabilities[0].tolist(), strict=True)
    ranked = dict(sorted(pairs, key=lambda pair: pair[1], reverse=True))
    if label is None:
        _, chosen = head.choose(probabilities)
        label = max((labels[number] for number in chosen.tolist()), key=lambda name: ranked[name], default=NULL)
    return ranked, label


def _probabilities(network: ExplainedNetwork, query: Query, question: Question, row: int | None) -> Tensor:
    """P(y|s) [1, 1 + Y] of the candidate at a row, or of a span that is none."""
    if row is not None:
        return network.predict_proba(query)[row : row + 1]
    place = (torch.tensor([number], device=query.batch.rows.device) for number in (0, *question.places[0]))
    return network.head.predict_proba_of(query, *place)


def _recalled_words(
    encoder: Encoder, query: Query, words: Sequence[str], first: int, stop: int, count: int
) -> list[RecalledWord]:
    """For each word from `first` to `stop` of a batch of one sentence the `count` occurrences with most weight."""
    attention = encoder.attention(query.encoded)
    if attention is None or encoder.word_memory is None or query.datastore is None:
        return []
    recalled = []
    for word in range(first, stop):
        weight = float(attention.share[word])
        best = attention.weights[word].topk(min(count, attention.weights.shape[1]))
        slots = zip(attention.slots[word][best.indices].tolist(), best.values.tolist(), strict=True)
        occurrences = (_occurrence(query.datastore, encoder.word_memory, *slot) for slot in slots if slot[1] > 0)
        listed = [occurrence for occurrence in occurrences if occurrence is not None]
        rest = max(0.0, 1.0 - sum(occurrence.weight for occurrence in listed)) if weight else 0.0
        recalled.append(RecalledWord(words[word], weight, listed, rest))
    return recalled


def _occurrence(datastore: Datastore, memory: WordMemory, slot: int, weight: float) -> Neighbour | None:
    """A training occurrence in its sentence; none where the datastore does not hold that sentence any more.

    Sentences are told by their words: their ids change when an edited memory is saved or built again.
    """
    number, word = memory.places[slot].tolist()
    position = datastore.by_digest.get(int(memory.digests[number]))
    if position is None:
        return None
    sentence = datastore.sentences[position]
    around = [(gold.width, gold.label) for gold in contiguous(sentence.entities) if gold.first <= word < gold.stop]
    label = min(around)[1] if around else NULL  # of the narrowest entity that the word is in
    place = (sentence.span(word, word + 1), sentence.text, sentence.document, slot, datastore.ids[position])
    return Neighbour(label, weight, *place)


def _explain_fragments(
    linker: FragmentLinker, query: Query, question: Question, datastore: Datastore, labels: list[str], count: int
) -> Evidence:
    """Evidence for the fragments of one entity.

    The neighbours are training entities: for each fragment the `count` whose fragments are nearest; only if the
    datastore holds no discontinuous entity they are its nearest spans of any kind.
    """
    vectors = query.vectors[question.candidate_rows(query)]  # [N, H]
    scores, holds = linker.predict_proba(vectors, list(question.places))
    names = [labels[number] for number in linker.labels]
    ranked = dict(sorted(zip(names, scores.tolist(), strict=True), key=lambda pair: pair[1], reverse=True))
    label = next((name for name in ranked if holds[names.index(name)]), NULL)
    ranked[NULL] = 1 - max(ranked.values())
    fragments = [(row, gold) for row, gold in datastore.fragments() if datastore.labels[row] >= 0]  # not those removed
    if fragments:
        near = _nearest_entities(datastore, fragments, vectors, count)
    else:
        nearest = [_top(cosines, count) for cosines in similarities(datastore, vectors, cosine=True)]
        near = _look_alikes(datastore, labels, *(torch.cat(columns) for columns in zip(*nearest, strict=True)))
    return Evidence(question.span, question.text, label, "nearest", ranked, near, {})


def _nearest_entities(
    datastore: Datastore, fragments: Sequence[tuple[int, LabelledSpan[str]]], vectors: Tensor, count: int
) -> dict[str, list[Neighbour]]:
    """Training entities by label, those first of which a fragment is nearest to one of the vectors [N, H]."""
    rows = torch.tensor([row for row, _ in fragments], device=datastore.labels.device)
    best = similarities(datastore, vectors, rows, cosine=True).topk(min(count, len(rows)))
    nearest: dict[tuple[int, LabelledSpan[str]], Neighbour] = {}
    ranked = sorted(zip(best.values.flatten().tolist(), best.indices.flatten().tolist(), strict=True))
    for weight, position in ranked[::-1]:
        row, gold = fragments[position]
        number = int(datastore.sentence[row])
        sentence = datastore.sentences[number]
        place = (sentence.characters(gold.fragments), sentence.text, sentence.document, row, datastore.ids[number])
        nearest.setdefault((number, gold), Neighbour(gold.label, weight, *place, gold.identifier))
    return _group_by_label(nearest.values())


def _sum_by_label(labels: Tensor, contributions: Contributions, count: int) -> Tensor:
    """P(y|s) [1, count]: contributions added up by the datastore's labels [M]; null has all where there are none."""
    sums = contributions.weights.new_zeros(1, count)
    sums.index_add_(1, labels[contributions.rows], contributions.weights[None])
    sums[0, 0] += not len(contributions.rows)
    return sums


def _top(values: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """The highest of values [N] that are not -inf, and where they are."""
    best = values.topk(min(count, int((values > -torch.inf).sum())))
    return best.values, best.indices


def _look_alikes(datastore: Datastore, labels: list[str], weights: Tensor, rows: Tensor) -> dict[str, list[Neighbour]]:
    return _group_by_label(
        replace(neighbour, label=label)
        for neighbour in neighbours_at(datastore, labels, weights, rows)
        for label in datastore.labels_of(neighbour.row) or [NULL]
    )


def _group_by_label(neighbours: Iterable[Neighbour]) -> dict[str, list[Neighbour]]:
    by_label: dict[str, list[Neighbour]] = {}
    for neighbour in neighbours:
        by_label.setdefault(neighbour.label, []).append(neighbour)
    return by_label
