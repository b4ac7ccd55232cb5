"""Enough: how often spans of a sentence must count for a model to read the sentence as it should be read.

With the instance head a span that counts w times has the weight w exp(|s|^2) for itself, so it wins once w is large
enough. That a whole sentence counted w times would not do: its spans without a label would grow along with the one that
the model misses among them. So the spans that are misread count twice as often, and again, until the sentence is right;
a span that they then draw to their label is misread in its turn.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Literal

import torch
from torch import Tensor

from nearspan.document import Entity, Span
from nearspan.memory import Memory
from nearspan.model import Input, Model
from nearspan.spans import SpanLabels, WordEntity

Weight = float | Literal["enough"]
Heavier = tuple[tuple[int, int, float], ...]  # first word, stop, how often the span counts

LIMIT = 10_000.0  # the most that a span is made to count
STEPS = 4  # of bisection, by which the weights found are lowered again
APART: Heavier = ((0, 1, 2.0),)  # what sentences must have in a memory where their weights are to be tried


@dataclass(frozen=True)
class Wanted:
    """How some sentences should be read, and where the memory holds them, standing apart: once or several times."""

    given: Input
    entities: Sequence[Sequence[WordEntity]]
    ids: Sequence[Sequence[int]]


def enough(model: Model, memory: Memory, wanted: Wanted) -> list[Heavier | None]:
    """For each sentence the spans that must count more than once for it to be read so; None: `LIMIT` is not enough.

    Discontinuous entities are not looked at: the memory has no part in them.
    """
    if len(wanted.given.parts) != len(wanted.entities):  # it would be read in other parts than it is remembered in
        return [None] * len(wanted.entities)
    return _Search(model, memory, wanted).found()


class _Search:
    """Weights of the spans of sentences, found by trying."""

    def __init__(self, model: Model, memory: Memory, wanted: Wanted) -> None:
        self.model, self.memory, self.wanted = copy(model), memory, wanted
        number = {label: i for i, label in enumerate(model.labels)}
        prepared, width = wanted.given.prepared, model.network.max_width
        entities = [[(a, b, number[label]) for a, b, label in own] for own in wanted.entities]
        self.labels = SpanLabels.of(prepared.lengths, entities, width).to(model.device)
        place = {number: position for position, number in enumerate(memory.ids)}
        starts, device = memory.starts.tolist(), model.device
        self.counts = [int(memory.counts[place[own[0]]]) for own in wanted.ids]
        self.rows = [  # [copies, spans] in the memory, for each sentence
            torch.stack([torch.arange(starts[place[one]], starts[place[one]] + count, device=device) for one in own])
            for own, count in zip(wanted.ids, self.counts, strict=True)
        ]
        self.logs = [torch.zeros(count, device=device) for count in self.counts]
        self.lost: set[int] = set()

    def found(self) -> list[Heavier | None]:
        """Raise until all is right, lower as far as it stays right."""
        self._raise()
        highest = self.logs
        low, high = [0.0] * len(highest), [1.0] * len(highest)  # exponents: all spans of a sentence go down together
        for _ in range(STEPS if any(bool(own.any()) for own in highest) else 0):
            middle = [sum(pair) / 2 for pair in zip(low, high, strict=True)]
            self._lower(highest, middle)
            wrong = self._wrong()
            low = [middle[i] if i in wrong else low[i] for i in range(len(low))]
            high = [high[i] if i in wrong else middle[i] for i in range(len(high))]
        self._lower(highest, high)
        if self._wrong():  # sentences that leant on each other
            self.logs = highest
        return [None if i in self.lost else self._heavier(i) for i in range(len(self.logs))]

    def _lower(self, highest: Sequence[Tensor], exponents: Sequence[float]) -> None:
        self.logs = [own * exponent for own, exponent in zip(highest, exponents, strict=True)]

    def _raise(self) -> None:
        """Let misread spans count twice as often until no sentence is wrong; give those up that it does not help."""
        limit, step = torch.tensor(LIMIT).log(), torch.tensor(2.0).log()
        while wrong := self._wrong():
            for i, misread in zip(wrong, self._misread(wrong), strict=True):
                own = self.logs[i]
                if not bool(misread.any()) or bool((own[misread] >= limit).any()):
                    self.lost.add(i)
                    own.zero_()
                else:
                    own[misread] = (own[misread] + step).clamp(max=float(limit))

    def _weigh(self) -> Memory:
        logs = self.memory.log_weights.clone()
        for rows, own in zip(self.rows, self.logs, strict=True):
            logs[rows] = own
        return replace(self.memory, log_weights=logs)

    def _wrong(self) -> list[int]:
        """The sentences that are not read as they should be, but for those given up."""
        self.model.memory = self._weigh()
        said = self.model.entities(self.wanted.given)
        right = zip(self.wanted.given.sentences, self.wanted.entities, strict=True)
        gold = [{(sentence.span(a, b), label) for a, b, label in own} for sentence, own in right]
        pairs = enumerate(zip(said, gold, strict=True))
        return [i for i, (own, wanted) in pairs if i not in self.lost and _contiguous(own) != wanted]

    @torch.inference_mode()
    def _misread(self, sentences: Sequence[int]) -> list[Tensor]:
        """Which spans [S] of each of some sentences have other labels than they should."""
        network = self.model.network.eval()
        found: dict[int, Tensor] = {}
        for number in sentences:
            batch = self.wanted.given.prepared.batch(torch.tensor([number]))
            probabilities, candidates = network.probabilities(batch, self.model.memory)
            said = torch.zeros_like(probabilities)
            said[network.chosen(probabilities)] = 1
            hot = self.labels.hot(batch.ids, candidates, network.labels)
            found[number] = (said[:, 1:] != hot[:, 1:]).any(1)
        return [found[number] for number in sentences]

    def _heavier(self, sentence: int) -> Heavier:
        """The spans that count more than once, as the memory keeps them."""
        own, rows = self.logs[sentence], self.rows[sentence][0]
        where = own.nonzero().flatten().tolist()
        first, stop = self.memory.first[rows].tolist(), self.memory.stop[rows].tolist()
        return tuple((first[i], stop[i], min(LIMIT, float(own[i].exp()))) for i in where)


def _contiguous(entities: Iterable[Entity]) -> set[tuple[Span, str]]:
    return {(entity.span, entity.label) for entity in entities if not entity.span.discontinuous}
