"""Concepts: which identifier a mention has, by the memory's entities that are spelt most like it.

Each entity j of the memory with an identifier has a share in a mention m with the label y:

    w_j = exp((likeness(m, m_j) + LEAD [y_j = y]) / TEMPERATURE) / Z

The likeness is the cosine of the mentions' runs of three characters, weighed by tf-idf. An identifier has the sum of
the shares of its entities. So has "none of them", which stands in Z as one entity of the likeness LEAST. Span vectors
are not asked: they bring all spans of a label together, whatever these name.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import torch
from torch import Tensor

from nearspan.knn.memory_sentence import MemorySentence, folded
from nearspan.segment import LabelledSpan

TEMPERATURE = 0.05
LEAD = 0.1  # of the memory's entities that have the mention's label
LEAST = 0.4  # the likeness of "none of them"
RUN = 3  # characters
PART = 64  # mentions that are compared at once

Mention = tuple[str, str]  # text and label


@dataclass(frozen=True)
class LinkedSpan:
    """An entity of the memory that has an identifier, and its share in that of a mention."""

    sentence: MemorySentence
    sentence_id: int
    gold: LabelledSpan[str]
    share: float


@dataclass(frozen=True)
class Concepts:
    """The entities of a memory that have identifiers; those alike in text, label and identifier are one name."""

    names: dict[tuple[str, str, str], list[tuple[int, int]]]  # text, label, identifier: sentences, entities in each
    sentences: Sequence[MemorySentence]
    ids: Sequence[int]
    identifiers: list[str]  # "" first
    identifier_of: Tensor  # [N] of names
    counts: Tensor  # [N] log of how many entities a name stands for
    text_of: Tensor  # [N] the row of its text
    labels: list[str]  # [N]
    runs: dict[str, int]  # runs of characters, by their columns
    rarity: Tensor  # [G] of the columns, and of a run that no text has
    texts: Tensor  # [T, G] sparse, rows of length 1

    @classmethod
    def of(cls, sentences: Sequence[MemorySentence], ids: Sequence[int]) -> Concepts | None:
        """Those of some sentences; None where there are none."""
        names: dict[tuple[str, str, str], list[tuple[int, int]]] = {}
        for place, sentence in enumerate(sentences):
            for number, gold in enumerate(sentence.entities):
                if gold.identifier:
                    text = folded(sentence.characters(gold.fragments).text(sentence.text))
                    names.setdefault((text, gold.label, gold.identifier), []).append((place, number))
        if not names:
            return None
        texts = {text: row for row, text in enumerate(dict.fromkeys(text for text, *_ in names))}
        numbers = {"": 0} | {name: i for i, name in enumerate(sorted({each for *_, each in names}), start=1)}
        known = Counter(run for text in texts for run, _ in _runs_of(text))
        runs = {run: column for column, run in enumerate(known)}
        rarity = (1 + torch.tensor([(1 + len(texts)) / (1 + n) for n in [*known.values(), 0]]).log()).float()
        return cls(
            names,
            sentences,
            ids,
            list(numbers),
            torch.tensor([numbers[identifier] for *_, identifier in names]),
            torch.tensor([math.log(len(entities)) for entities in names.values()]),
            torch.tensor([texts[text] for text, *_ in names]),
            [label for _, label, _ in names],
            runs,
            rarity,
            _vectors(list(texts), runs, rarity),
        )

    def identify(self, mentions: Sequence[Mention]) -> list[tuple[str, float]]:
        """The identifier of each mention and its share; "" where none of them has the most."""
        found: list[tuple[str, float]] = []
        for start in range(0, len(mentions), PART):
            shares = self._shares(mentions[start : start + PART])
            sums = shares.new_zeros(len(shares), len(self.identifiers))
            sums.index_add_(1, torch.cat([self.identifier_of, torch.zeros(1, dtype=torch.long)]), shares)
            best = sums.max(1)
            found += zip([self.identifiers[i] for i in best.indices.tolist()], best.values.tolist(), strict=True)
        return found

    def rank(self, mention: Mention) -> dict[str, float]:
        """The share of each identifier, "" for none of them, the likeliest first."""
        [shares] = self._shares([mention])
        sums = shares.new_zeros(len(self.identifiers))
        sums.index_add_(0, self.identifier_of, shares[:-1])
        sums[0] = shares[-1]
        order = sums.argsort(descending=True, stable=True)
        return dict(zip([self.identifiers[i] for i in order.tolist()], sums[order].tolist(), strict=True))

    def linked_spans(self, mention: Mention, count: int) -> list[LinkedSpan]:
        """The `count` entities with the largest shares; of a name's, which have the same, the first ones."""
        [shares] = self._shares([mention])
        each = (shares[:-1].log() - self.counts).exp()
        places, spans = list(self.names.values()), list[LinkedSpan]()
        for name in each.topk(min(count, len(each))).indices.tolist():
            for place, number in places[name][: count - len(spans)]:
                gold = self.sentences[place].entities[number]
                spans.append(LinkedSpan(self.sentences[place], self.ids[place], gold, float(each[name])))
        return spans

    def _shares(self, mentions: Sequence[Mention]) -> Tensor:
        """The shares [Q, N + 1] of all names in mentions, and of none of them."""
        queries = _vectors([folded(text) for text, _ in mentions], self.runs, self.rarity)
        likeness = (self.texts @ queries.to_dense().T).T[:, self.text_of]  # [Q, N]
        columns = {label: torch.tensor([each == label for each in self.labels]) for _, label in mentions}
        same = torch.stack([columns[label] for _, label in mentions])
        scores = (likeness + LEAD * same) / TEMPERATURE + self.counts
        none = scores.new_full((len(scores), 1), (LEAST + LEAD) / TEMPERATURE)
        return torch.cat([scores, none], dim=1).softmax(1)


def _vectors(texts: Sequence[str], runs: dict[str, int], rarity: Tensor) -> Tensor:
    """Texts as sparse rows [T, G] of length 1; runs that are not known add to the length alone."""
    rows, columns, times = list[int](), list[int](), list[int]()
    for row, text in enumerate(texts):
        for run, count in _runs_of(text):
            rows.append(row)
            columns.append(runs.get(run, len(runs)))
            times.append(count)
    place = torch.tensor([rows, columns], dtype=torch.long).view(2, -1)
    values = (1 + torch.tensor(times, dtype=torch.float).log()) * rarity[place[1]]
    lengths = values.new_zeros(len(texts)).index_add_(0, place[0], values.square()).sqrt()
    values = values / lengths[place[0]]
    known = place[1] < len(runs)
    size = (len(texts), len(runs))
    return torch.sparse_coo_tensor(place[:, known], values[known], size, check_invariants=False).coalesce()


@lru_cache(maxsize=100_000)
def _runs_of(text: str) -> tuple[tuple[str, int], ...]:
    """The runs of three characters of a text's words, each with how often it occurs.

    >>> _runs_of("an ant")
    ((' an', 2), ('an ', 1), ('ant', 1), ('nt ', 1))
    """
    words = [f" {word} " for word in text.split()]
    return tuple(Counter(word[at : at + RUN] for word in words for at in range(len(word) - RUN + 1)).items())
