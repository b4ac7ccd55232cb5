"""Enough: how often spans of a sentence must count for a model to read the sentence as it should be read.

With the instance head a span that counts w times has the weight w exp(|s|^2) for itself, so it wins once w is large
enough. That a whole sentence counted w times would not do: its spans without a label would grow along with the one that
the model misses among them. So the spans that are misread count more often, and again, until the sentence is right; a
span that they then draw to their label is misread in its turn.

How much more often: where another label has r times the probability of the right one, of which the span itself has at
most all, it must count at least r times as often. It is made to count r times as often, and twice where r is below 2.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Literal

import torch
from torch import Tensor

from nearspan.document import Entity, Span
from nearspan.knn import Datastore
from nearspan.model import Model
from nearspan.model.decode import ScoredSpan
from nearspan.model.sentence_windows import SentenceWindows
from nearspan.spans import Candidates, SpanLabels, WordEntity

Weight = float | Literal["enough"]
Heavier = tuple[tuple[int, int, float], ...]  # first word, stop, how often the span counts

LIMIT = 1_000_000.0  # the most that a span is made to count
LEAST = 2.0  # the least by which a misread span is made to count more often
STEPS = 4  # of bisection, by which the weights found are lowered again
APART: Heavier = ((0, 1, 2.0),)  # what sentences must have in a memory where their weights are to be tried


@dataclass(frozen=True)
class Wanted:
    """How some sentences should be read, and where the memory holds them, standing apart: once or several times."""

    given: SentenceWindows
    entities: Sequence[Sequence[WordEntity]]
    ids: Sequence[Sequence[int]]


@dataclass(frozen=True)
class Found:
    """The spans of a sentence that must count more than once for it to be read as wanted, or why none are enough."""

    heavier: Heavier = ()
    lost: str = ""


def enough(model: Model, memory: Datastore, wanted: Wanted) -> list[Found]:
    """For each sentence the spans that must count more than once for it to be read so.

    What the memory has no part in is not looked at: discontinuous entities, those wider than a candidate, and spans
    that were removed from it.
    """
    if len(wanted.given.parts) != len(wanted.entities):
        return [Found(lost="it would be read in other parts than it is remembered in")] * len(wanted.entities)
    return _Search(model, memory, wanted).found()


class _Search:
    """Weights of the spans of sentences, found by trying."""

    def __init__(self, model: Model, memory: Datastore, wanted: Wanted) -> None:
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
        self.gone = [memory.labels[rows[0]] < 0 for rows in self.rows]  # [spans] removed: neither entities nor none
        self.logs = [torch.zeros(count, device=device) for count in self.counts]
        self.lost: dict[int, str] = {}

    def found(self) -> list[Found]:
        """Raise until all is right, lower as far as it stays right."""
        every = range(len(self.logs))
        self._raise()
        highest = self.logs
        raised = [i for i in every if bool(highest[i].any())]
        low, high = dict.fromkeys(raised, 0.0), dict.fromkeys(raised, 1.0)  # exponents: a sentence's go down together
        for _ in range(STEPS if raised else 0):
            middle = {i: (low[i] + high[i]) / 2 for i in raised}
            self._lower(highest, middle)
            wrong = self._wrong(raised)
            low |= {i: middle[i] for i in wrong}
            high |= {i: middle[i] for i in raised if i not in wrong}
        self._lower(highest, high)
        if raised and self._wrong(every):  # sentences that leant on each other
            self.logs = highest
        return [Found(lost=self.lost[i]) if i in self.lost else Found(self._heavier(i)) for i in every]

    def _lower(self, highest: Sequence[Tensor], exponents: dict[int, float]) -> None:
        self.logs = [own * exponents.get(i, 1.0) for i, own in enumerate(highest)]

    def _raise(self) -> None:
        """Let misread spans count more often until no sentence is wrong; give those up that it does not help."""
        limit, every = float(torch.tensor(LIMIT).log()), range(len(self.logs))
        wrong = self._wrong(every)
        while wrong:
            for i, step in wrong.items():
                own, misread = self.logs[i], step > 0
                if not bool(misread.any()) or bool((own[misread] >= limit).any()):
                    self.lost[i] = self._why(i, misread & (own >= limit))
                    own.zero_()
                else:
                    self.logs[i] = (own + step).clamp(max=limit)
            wrong = self._wrong(wrong) or self._wrong(every)  # of those that were right some may be so no more

    def _weigh(self) -> Datastore:
        logs = self.memory.log_weights.clone()
        for rows, own in zip(self.rows, self.logs, strict=True):
            logs[rows] = own
        return replace(self.memory, log_weights=logs)

    @torch.inference_mode()
    def _wrong(self, sentences: Collection[int]) -> dict[int, Tensor]:
        """Those of some sentences that are not read as they should be, but for those given up.

        For each the log of how much more often its spans [S] should count, 0 for those with the right labels.
        """
        asked = [i for i in sentences if i not in self.lost]
        self.model.memory = memory = self._weigh()
        network, given = self.model.network.eval(), self.wanted.given
        guesses: list[list[ScoredSpan]] = [[] for _ in given.parts]
        steps: dict[int, Tensor] = {}
        for ids in given.prepared.order(self.model.device, asked):
            batch = given.prepared.batch(ids)
            encoded, candidates = network.encoder(batch), network.candidates(batch)
            probabilities, vectors = network.judged(encoded, candidates, memory)
            some = self._steps(ids, candidates, probabilities).split(candidates.counts.tolist())
            told = network.guessed(encoded, candidates, probabilities, vectors)
            for i, own, step in zip(ids.tolist(), told, some, strict=True):
                guesses[i], steps[i] = own, step * ~self.gone[i]
        said = self.model.decoded(given, guesses)
        return {i: steps[i] for i in asked if self._looked_at(i, said[i]) != self._looked_at(i, self._gold(i))}

    def _gold(self, sentence: int) -> list[Entity]:
        """The entities that a sentence should be read with."""
        one = self.wanted.given.sentences[sentence]
        return [Entity(one.span(first, stop), label) for first, stop, label in self.wanted.entities[sentence]]

    def _looked_at(self, sentence: int, entities: Iterable[Entity]) -> set[tuple[Span, str]]:
        """Those of a sentence's entities that the memory has a part in."""
        one, widest = self.wanted.given.sentences[sentence], self.model.network.max_width
        starts, stops = one.starts, one.stops
        gone = {one.span(*place) for place in self._places(sentence, self.gone[sentence])}
        whole = [entity for entity in entities if not entity.span.discontinuous and entity.span not in gone]
        return {(own.span, own.label) for own in whole if stops[own.end] - starts[own.start] <= widest}

    def _steps(self, ids: Tensor, candidates: Candidates, probabilities: Tensor) -> Tensor:
        """The log of how much more often candidates of some sentences should count [S], given P(y|s) [S, 1 + Y]."""
        network = self.model.network
        said = torch.zeros_like(probabilities)
        said[network.chosen(probabilities)] = 1
        hot = self.labels.one_hot_targets(ids, candidates, network.labels)
        misread = (said[:, 1:] != hot[:, 1:]).any(1)
        right, other = (probabilities * hot).amax(1), (probabilities * (1 - hot)).amax(1)
        least, most = float(torch.tensor(LEAST).log()), float(torch.tensor(LIMIT).log())
        return (other.log() - right.log()).clamp(least, most) * misread

    def _why(self, sentence: int, stuck: Tensor) -> str:
        """Why no weight is enough, given the spans [S] that are misread however often they count."""
        places = self._places(sentence, stuck)
        if not places:
            return "this model cannot say so of all its entities at once: of those that overlap it keeps the likeliest"
        one, text = self.wanted.given.sentences[sentence], self.wanted.given.sentences[sentence].document.text
        names = ", ".join(repr(one.span(first, stop).text(text)) for first, stop in places)
        return f"not even {LIMIT:,.0f} times are enough for {names}"

    def _places(self, sentence: int, spans: Tensor) -> list[tuple[int, int]]:
        """First words and stops of some spans [S] of a sentence."""
        rows = self.rows[sentence][0][spans]
        return list(zip(self.memory.first[rows].tolist(), self.memory.stop[rows].tolist(), strict=True))

    def _heavier(self, sentence: int) -> Heavier:
        """The spans that count more than once, as the memory keeps them."""
        own = self.logs[sentence]
        times = own[own > 0].exp().clamp(max=LIMIT).tolist()
        return tuple((*place, each) for place, each in zip(self._places(sentence, own > 0), times, strict=True))
