"""Span retrieval: the training spans nearest to gold spans (tables 2 and 3 of Ouchi et al., 2020)."""

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from nearspan.errors import ModelError
from nearspan.explain.evidence import Neighbour, neighbours_at
from nearspan.knn import Datastore, similarities
from nearspan.knn.storage import NO_MEMORY
from nearspan.model import Model
from nearspan.report.papers.spans import EntityKey, GoldSpan

BUDGET = 256 * 2**20  # bytes of scores at once


@dataclass(frozen=True, slots=True)
class Agreement:
    """What the nearest training spans of all gold spans are: shares that add up to 1."""

    spans: int
    same: float  # the gold label
    other: float  # another label
    null: float  # no entity


def datastore(model: Model) -> Datastore:
    """The training spans that evidence comes from, or an error where a model has none."""
    if not model.datastore:
        raise ModelError(f"this model has no memory to take evidence from: {NO_MEMORY}")
    return model.datastore


def distance_measure(model: Model) -> str:
    """How a model measures nearness: the instance head by its own scores, any other by cosine."""
    return "inner product" if model.network.head.sums_inner_products else "cosine"


@torch.inference_mode()
def nearest_rows(model: Model, spans: Sequence[GoldSpan], vectors: Tensor, count: int = 5) -> tuple[Tensor, Tensor]:
    """Scores and rows [N, count] of the memory's spans nearest to `vectors` [N, H], best first.

    A training sentence that reads the same as the span's own is left out, so that a span of the training set
    does not find itself.
    """
    store = datastore(model)
    count = min(count, len(store))
    known: dict[str, list[int]] = {}
    for number, sentence in enumerate(store.sentences):
        known.setdefault(sentence.text, []).append(number)
    size = max(1, BUDGET // (4 * len(store)))
    scores, rows = [vectors.new_empty(0, count)], [store.starts.new_empty(0, count)]
    for start in range(0, len(spans), size):
        queries = vectors[start : start + size].float()
        likeness = similarities(store, queries, cosine=not model.network.head.sums_inner_products)  # [n, M]
        for line, span in zip(likeness, spans[start : start + size], strict=True):
            for number in known.get(span.sentence.text, ()):
                first = int(store.starts[number])
                line[first : first + int(store.counts[number])] = -torch.inf
        best = likeness.topk(count, dim=1)
        scores.append(best.values)
        rows.append(best.indices)
    return torch.cat(scores), torch.cat(rows)


def nearest_neighbours(model: Model, spans: Sequence[GoldSpan], vectors: Tensor) -> list[list[Neighbour]]:
    """For each span its nearest training spans, best first."""
    store, (scores, rows) = datastore(model), nearest_rows(model, spans, vectors)
    real = scores > -torch.inf
    return [neighbours_at(store, model.labels, scores[i][real[i]], rows[i][real[i]]) for i in range(len(spans))]


def agreement(model: Model, spans: Sequence[GoldSpan], vectors: Tensor) -> Agreement:
    """How the labels of the nearest training spans compare with the gold labels."""
    scores, rows = nearest_rows(model, spans, vectors)
    number = {label: i for i, label in enumerate(model.labels)}
    gold = torch.tensor([number.get(span.entity.label, -1) for span in spans], device=rows.device)
    real = scores > -torch.inf
    labels = datastore(model).labels[rows]
    total = max(1, int(real.sum()))
    same = int(((labels == gold[:, None]) & real).sum()) / total
    null = int(((labels == 0) & real).sum()) / total
    return Agreement(len(spans), same, 1 - same - null, null)


def sample_queries(keys: Sequence[EntityKey], most: int) -> list[EntityKey]:
    """Some gold entities to ask about, as many of each label as can be, always the same ones."""
    turns: Counter[str] = Counter()
    ranked = []
    for key in random.Random(0).sample(list(keys), len(keys)):
        label = key[1].label
        turns[label] += 1
        ranked.append((turns[label], label, key))
    chosen = sorted(ranked, key=lambda entry: entry[:2])[:most]
    return [key for _, _, key in sorted(chosen, key=lambda entry: (entry[1], entry[0]))]
