"""Reweighting: how often spans of a sentence must count for a model to read the sentence as it should be read.

With the nearest-neighbour head a span that counts w times has the weight w exp(|s|^2) for itself, so it wins once w is
large enough. That a whole sentence counted w times would not do: its spans without a label would grow along with the
one that the model misses among them. So the spans that are misread count more often, and again, until the sentence is
right; a span that they then draw to their label is misread in its turn.

How much more often: where another label has r times the probability of the right one, of which the span itself has at
most all, it must count at least r times as often. It is made to count r times as often, and twice where r is below 2.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import torch
from torch import Tensor

from nearspan.document import Entity, Span
from nearspan.heads import Query
from nearspan.knn import Datastore
from nearspan.memory.edits import SpanWeights
from nearspan.model import Model
from nearspan.model.predict import SentenceWindows
from nearspan.segment import LabelledSpan, WordEntity

Weight = float | Literal["enough"]

LIMIT = 1_000_000.0  # the most that a span is made to count
LEAST = 2.0  # the least by which a misread span is made to count more often
STEPS = 4  # of bisection, by which the weights that are enough are lowered again
TRIAL: SpanWeights = ((0, 1, 2.0),)  # what sentences must have in a datastore where their weights are to be tried


@dataclass(frozen=True)
class Target:
    """How some sentences should be read, and where the datastore holds them, set apart: once or several times."""

    windows: SentenceWindows
    entities: Sequence[Sequence[WordEntity]]
    ids: Sequence[Sequence[int]]


@dataclass(frozen=True)
class Outcome:
    """The spans of a sentence that must count more than once for it to be read right, or why none are enough."""

    span_weights: SpanWeights = ()
    failure: str = ""


def reweight(model: Model, datastore: Datastore, target: Target) -> list[Outcome]:
    """For each sentence the spans that must count more than once for it to be read so.

    What the datastore has no part in is not looked at: discontinuous entities, those wider than a candidate, and spans
    that were removed from it.
    """
    if len(target.windows.windows) != len(target.entities):
        return [Outcome(failure="it would be read in other parts than it is remembered in")] * len(target.entities)
    return _Search(model, datastore, target).run()


class _Search:
    """Weights of the spans of sentences, found by trying. Each sentence is encoded once."""

    def __init__(self, model: Model, datastore: Datastore, target: Target) -> None:
        self.network, self.predictor = model.network.eval(), model.predictor
        self.datastore, self.target = datastore, target
        number = {label: i for i, label in enumerate(model.labels)}
        entities = [[(a, b, number[label]) for a, b, label in sentence] for sentence in target.entities]
        corpus = target.windows.corpus
        self.labels = self.network.suggester.span_labels(corpus.lengths, entities).to(model.device)
        self.queries = [Query(self.network, batch, datastore) for batch in corpus.reading_batches()]
        position = {number: place for place, number in enumerate(datastore.ids)}
        starts = datastore.starts.tolist()
        self.counts = [int(datastore.counts[position[ids[0]]]) for ids in target.ids]
        self.rows = [  # [copies, spans] in the datastore, for each sentence
            torch.stack([torch.arange(count, device=model.device) + starts[position[number]] for number in ids])
            for ids, count in zip(target.ids, self.counts, strict=True)
        ]
        self.removed = [datastore.labels[rows[0]] < 0 for rows in self.rows]  # [spans] neither entities nor none
        self.logs = [torch.zeros(count, device=model.device) for count in self.counts]
        self.failures: dict[int, str] = {}

    def run(self) -> list[Outcome]:
        """Raise until all is right, lower as far as it stays right."""
        everything = range(len(self.logs))
        self._raise_weights()
        highest = self.logs
        raised = [i for i in everything if bool(highest[i].any())]
        low, high = dict.fromkeys(raised, 0.0), dict.fromkeys(raised, 1.0)  # exponents: a sentence's go down together
        for _ in range(STEPS if raised else 0):
            middle = {i: (low[i] + high[i]) / 2 for i in raised}
            self._lower(highest, middle)
            wrong = self._misread(raised)
            low |= {i: middle[i] for i in wrong}
            high |= {i: middle[i] for i in raised if i not in wrong}
        self._lower(highest, high)
        if raised and self._misread(everything):  # sentences that leant on each other
            self.logs = highest
        return [
            Outcome(failure=self.failures[i]) if i in self.failures else Outcome(self._span_weights(i))
            for i in everything
        ]

    def _lower(self, highest: Sequence[Tensor], exponents: dict[int, float]) -> None:
        self.logs = [logs * exponents.get(i, 1.0) for i, logs in enumerate(highest)]

    def _raise_weights(self) -> None:
        """Let misread spans count more often until no sentence is wrong; give those up that it does not help."""
        limit, everything = float(torch.tensor(LIMIT).log()), range(len(self.logs))
        wrong = self._misread(everything)
        while wrong:
            for i, step in wrong.items():
                logs, misread = self.logs[i], step > 0
                if not bool(misread.any()) or bool((logs[misread] >= limit).any()):
                    self.failures[i] = self._reason(i, misread & (logs >= limit))
                    logs.zero_()
                else:
                    self.logs[i] = (logs + step).clamp(max=limit)
            wrong = self._misread(wrong) or self._misread(everything)  # some that were right may be so no more

    def _weighted_datastore(self) -> Datastore:
        logs = self.datastore.log_weights.clone()
        for rows, weights in zip(self.rows, self.logs, strict=True):
            logs[rows] = weights
        return replace(self.datastore, log_weights=logs)

    @torch.inference_mode()
    def _misread(self, sentences: Collection[int]) -> dict[int, Tensor]:
        """Those of some sentences that are not read as they should be, but for those given up.

        For each the log of how much more often its spans [S] should count, 0 for those with the right labels.
        """
        checked = {i for i in sentences if i not in self.failures}
        datastore = self._weighted_datastore()
        spans: list[list[LabelledSpan[int]]] = [[] for _ in self.target.windows.windows]
        steps: dict[int, Tensor] = {}
        for asked in self.queries:
            ids = asked.batch.ids
            if checked.isdisjoint(ids.tolist()):
                continue
            query = asked.with_datastore(datastore)
            probabilities = self.network.predict_proba(query)
            by_sentence = self._steps(ids, query, probabilities).split(query.candidates.counts.tolist())
            predicted = self.network.select(query, probabilities)
            for i, sentence, step in zip(ids.tolist(), predicted, by_sentence, strict=True):
                spans[i], steps[i] = sentence, step * ~self.removed[i]
        entities = self.predictor.decode_windows(self.target.windows, spans)
        return {
            i: steps[i]
            for i in sorted(checked)
            if self._considered(i, entities[i]) != self._considered(i, self._gold(i))
        }

    def _gold(self, sentence: int) -> list[Entity]:
        """The entities that a sentence should be read with."""
        words = self.target.windows.sentences[sentence]
        return [Entity(words.span(first, stop), label) for first, stop, label in self.target.entities[sentence]]

    def _considered(self, sentence: int, entities: Iterable[Entity]) -> set[tuple[Span, str]]:
        """Those of a sentence's entities that the datastore has a part in."""
        words, widest = self.target.windows.sentences[sentence], self.network.max_width
        starts, stops = words.starts, words.stops
        removed = {words.span(*place) for place in self._places(sentence, self.removed[sentence])}
        return {
            (entity.span, entity.label)
            for entity in entities
            if not entity.span.discontinuous
            and entity.span not in removed
            and stops[entity.end] - starts[entity.start] <= widest
        }

    def _steps(self, ids: Tensor, query: Query, probabilities: Tensor) -> Tensor:
        """The log of how much more often candidates of some sentences should count [S], given P(y|s) [S, 1 + Y]."""
        chosen = torch.zeros_like(probabilities)
        chosen[self.network.head.choose(probabilities)] = 1
        gold = self.labels.one_hot_targets(ids, query.candidates, self.network.labels)
        misread = (chosen[:, 1:] != gold[:, 1:]).any(1)
        right, rival = (probabilities * gold).amax(1), (probabilities * (1 - gold)).amax(1)
        least, most = float(torch.tensor(LEAST).log()), float(torch.tensor(LIMIT).log())
        return (rival.log() - right.log()).clamp(least, most) * misread

    def _reason(self, sentence: int, stuck: Tensor) -> str:
        """Why no weight is enough, given the spans [S] that are misread however often they count."""
        places = self._places(sentence, stuck)
        if not places:
            return "this model cannot say so of all its entities at once: of those that overlap it keeps the likeliest"
        words = self.target.windows.sentences[sentence]
        names = ", ".join(repr(words.span(first, stop).text(words.document.text)) for first, stop in places)
        return f"not even {LIMIT:,.0f} times are enough for {names}"

    def _places(self, sentence: int, spans: Tensor) -> list[tuple[int, int]]:
        """First words and stops of some spans [S] of a sentence."""
        rows = self.rows[sentence][0][spans]
        return list(zip(self.datastore.first[rows].tolist(), self.datastore.stop[rows].tolist(), strict=True))

    def _span_weights(self, sentence: int) -> SpanWeights:
        """The spans that count more than once, as the datastore keeps them."""
        logs = self.logs[sentence]
        weights = logs[logs > 0].exp().clamp(max=LIMIT).tolist()
        return tuple((*place, weight) for place, weight in zip(self._places(sentence, logs > 0), weights, strict=True))
