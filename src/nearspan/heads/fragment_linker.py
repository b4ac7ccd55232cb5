"""Linking: which candidates are fragments of discontinuous entities, and which fragments belong together.

A candidate s is scored as a fragment of an entity of label y, and two fragments of one sentence, s before t, as parts
of one entity of label y:

    P(y|s)    = sigmoid(u_y . relu(A h_s + a) + c_y)
    P(y|s, t) = sigmoid(v_y . relu(L h_s + R h_t + B (F h_s * F h_t) + d_gap + b) + e_y)

where d_gap is an embedding of how many words lie between the two.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional

from nearspan.document import Fragment
from nearspan.heads.cliques import Clique, maximal_cliques
from nearspan.segment import LabelledSpan
from nearspan.settings import Settings
from nearspan.spans import BatchFragments, Candidates

GAPS = (2, 3, 4, 5, 7, 10, 15, 25)  # words between two fragments at which another embedding begins


class FragmentLinkerSettings(Settings):
    """Discontinuous entities. Nothing of it is built where the training data holds none."""

    size: int = Field(default=150, ge=1, le=10_000)  # of the hidden layers
    dropout: float = Field(default=0.2, ge=0, lt=1)  # on span vectors and hidden layers
    weight: float = Field(default=1.0, gt=0, allow_inf_nan=False)  # of its loss beside the head's
    contrasts: int = Field(default=12, ge=2, le=10_000)  # candidates of a sentence and label that training pairs
    fragment_threshold: float = Field(default=0.3, gt=0, lt=1)  # a candidate is a fragment where P(y|s) is above it
    pair_threshold: float = Field(default=0.3, gt=0, lt=1)  # two fragments are joined where P(y|s, t) is above it
    most: int = Field(default=24, ge=2, le=30)  # fragments of a sentence and label that are looked at, the likeliest


@dataclass(frozen=True)
class Nodes:
    """For each of B sentences and D labels the K candidates that may be fragments, in order of the text."""

    rows: Tensor  # [B, D, K] of the candidates
    real: Tensor  # [B, D, K] whether there is such a candidate
    first: Tensor  # [B, D, K]
    stop: Tensor  # [B, D, K]

    @cached_property
    def pairs(self) -> Pairs:
        """The pairs of one sentence and label with a word or more between them."""
        real = self.real[..., :, None] & self.real[..., None, :]
        apart = real & (self.stop[..., :, None] < self.first[..., None, :])  # [B, D, K, K]
        sentence, label, left, right = apart.nonzero().unbind(1)
        before = (sentence * self.rows.shape[1] + label) * self.rows.shape[2]
        left, right = before + left, before + right
        gap = self.first.flatten()[right] - self.stop.flatten()[left]
        return Pairs(left, right, label, gap)


@dataclass(frozen=True)
class Pairs:
    """P pairs of nodes, the earlier one first; nodes are counted through sentences and labels."""

    left: Tensor  # [P]
    right: Tensor  # [P]
    label: Tensor  # [P] of the D
    gap: Tensor  # [P] words between them


class FragmentLinker(nn.Module):
    """P(y|s) that a span is a fragment, P(y|s, t) that two are of one entity, and the entities that follow."""

    gaps: Tensor

    def __init__(self, settings: FragmentLinkerSettings, inputs: int, labels: Sequence[int]) -> None:
        super().__init__()
        self.settings = settings
        self.labels = tuple(labels)  # of the head, for each of the D here
        size = settings.size
        self.dropout = nn.Dropout(settings.dropout)
        self.single = nn.Linear(inputs, size)
        self.fragment = nn.Linear(size, len(labels))
        self.left = nn.Linear(inputs, size)
        self.right = nn.Linear(inputs, size, bias=False)
        self.factor = nn.Linear(inputs, size, bias=False)
        self.both = nn.Linear(size, size, bias=False)
        self.gap = nn.Embedding(len(GAPS) + 1, size)
        nn.init.uniform_(self.gap.weight, -((3 / size) ** 0.5), (3 / size) ** 0.5)
        self.pair = nn.Linear(size, len(labels))
        self.register_buffer("gaps", torch.tensor(GAPS), persistent=False)

    def fragment_scores(self, vectors: Tensor) -> Tensor:
        """Scores [S, D] of span vectors [S, H] as fragments."""
        scores: Tensor = self.fragment(self.dropout(self.single(self.dropout(vectors)).relu()))
        return scores

    def pair_scores(self, vectors: Tensor, pairs: Pairs) -> Tensor:
        """Scores [P] of pairs among nodes with these vectors [N, H]."""
        vectors = self.dropout(vectors)
        factor = self.factor(vectors)
        hidden = self.left(vectors)[pairs.left] + self.right(vectors)[pairs.right]
        hidden = hidden + self.both(factor[pairs.left] * factor[pairs.right])
        hidden = hidden + self.gap(torch.bucketize(pairs.gap, self.gaps, right=True))
        hidden = self.dropout(hidden.relu())  # [P, size]
        scores: Tensor = (hidden * self.pair.weight[pairs.label]).sum(1) + self.pair.bias[pairs.label]
        return scores

    def loss(self, vectors: Tensor, candidates: Candidates, gold: BatchFragments) -> Tensor:
        """Binary cross-entropy, summed: of all candidates as fragments, and of pairs among the likeliest.

        The pairs are those of a sentence's gold fragments and of the other candidates with the highest P(y|s).
        """
        scores = self.fragment_scores(vectors)
        targets = torch.zeros_like(scores)
        targets[gold.rows, gold.labels] = 1.0
        single = functional.binary_cross_entropy_with_logits(scores, targets, reduction="sum")
        preferred = scores.detach().sigmoid() + targets  # gold fragments before all others
        nodes = _nodes(preferred, candidates, max(self.settings.contrasts, gold.most))
        pairs = nodes.pairs
        pair_scores = self.pair_scores(vectors[nodes.rows.flatten()], pairs)
        same = _linked_pairs(nodes.rows.flatten(), pairs, gold, len(vectors))
        double = functional.binary_cross_entropy_with_logits(pair_scores, same, reduction="sum")
        return self.settings.weight * (single + double)

    def link(self, vectors: Tensor, candidates: Candidates) -> list[list[LabelledSpan[int]]]:
        """The discontinuous entities of each sentence of a batch, given its span vectors [S, H].

        Candidates with P(y|s) above a threshold are nodes, at most `most` of a sentence and label, the likeliest.
        There is an edge between two that have a word or more between them and P(y|s, t) above a threshold. Each
        maximal clique of two nodes or more is an entity.
        """
        probabilities = self.fragment_scores(vectors).sigmoid()  # [S, D]
        above = probabilities > self.settings.fragment_threshold
        entities: list[list[LabelledSpan[int]]] = [[] for _ in range(len(candidates.counts))]
        if not above.any():
            return entities
        nodes = _nodes(probabilities.masked_fill(~above, -1.0), candidates, self.settings.most)
        pairs, rows = nodes.pairs, nodes.rows.flatten()
        scores = self.pair_scores(vectors[rows], pairs).sigmoid()
        edges = scores > self.settings.pair_threshold
        left, right, label = pairs.left[edges], pairs.right[edges], pairs.label[edges]
        singles = (probabilities[rows[node], label] for node in (left, right))
        places = (tensor.flatten()[node] for node in (left, right) for tensor in (nodes.first, nodes.stop))
        sentence = candidates.sentence[rows[left]]
        index = torch.stack([sentence, label, *places]).T.tolist()
        values = torch.stack([*singles, scores[edges]]).T.tolist()
        graphs: dict[tuple[int, int], dict[Clique, float]] = {}  # of each sentence and label
        for (number, position, *edge), (first, second, both) in zip(index, values, strict=True):
            before, after = (edge[0], edge[1]), (edge[2], edge[3])
            parts = {(before,): first, (after,): second, (before, after): both}
            graphs.setdefault((number, position), {}).update(parts)
        for (number, position), graph in graphs.items():
            for clique in maximal_cliques(part for part in graph if len(part) == 2):
                score = min(graph[part] for size in (1, 2) for part in combinations(clique, size))
                entities[number].append(LabelledSpan(clique, self.labels[position], score))
        return entities

    def predict_proba(self, vectors: Tensor, fragments: Sequence[Fragment]) -> tuple[Tensor, Tensor]:
        """For each of the D labels how probable it is that these fragments, in order, are one entity, and whether
        all their parts are above the thresholds, as a clique's are; `vectors` [N, H] are theirs.
        """
        places = torch.tensor(fragments, device=vectors.device)  # [N, 2]
        left, right = torch.combinations(torch.arange(len(fragments), device=vectors.device)).unbind(1)
        gap = places[right, 0] - places[left, 1]
        single = self.fragment_scores(vectors).sigmoid().amin(0)  # [D]
        both = [
            self.pair_scores(vectors, Pairs(left, right, torch.full_like(left, label), gap)).sigmoid().amin()
            for label in range(len(self.labels))
        ]
        double = torch.stack(both)
        holds = (single > self.settings.fragment_threshold) & (double > self.settings.pair_threshold)
        return torch.minimum(single, double), holds


def _nodes(preferred: Tensor, candidates: Candidates, most: int) -> Nodes:
    """For each sentence and label the `most` candidates with the highest values of [S, D] that are not negative."""
    size = int(candidates.counts.max())
    table = preferred.new_full((len(candidates.counts), size, preferred.shape[1]), -1.0)
    table[candidates.sentence, candidates.number] = preferred
    best = table.topk(min(most, size), dim=1)  # [B, K, D]
    number = best.indices.masked_fill(best.values < 0, size).sort(1).values  # the order of candidates, padding last
    real = number < size
    before = (candidates.counts.cumsum(0) - candidates.counts).to(number.device, non_blocking=True)
    rows = torch.where(real, number + before[:, None, None], 0).transpose(1, 2)
    return Nodes(rows, real.transpose(1, 2), candidates.first[rows], candidates.stop[rows])


def _linked_pairs(rows: Tensor, pairs: Pairs, gold: BatchFragments, spans: int) -> Tensor:
    """Ones [P] for pairs of one gold entity, given the nodes' rows [N] among so many spans."""
    keys = (pairs.label * spans + rows[pairs.left]) * spans + rows[pairs.right]
    gold_keys = (gold.pairs[:, 2] * spans + gold.pairs[:, 0]) * spans + gold.pairs[:, 1]
    return torch.isin(keys, gold_keys).float()
