"""Reweighting: how often spans of a sentence must count for a model to read the sentence as it should be read.

With the nearest-neighbour head a span that counts w times has the weight w exp(|s|^2) for itself, so it wins once w is
large enough. That a whole sentence counted w times would not do: its spans without a label would grow along with the
one that the model misses among them. So the spans that are misread count more often, and again, until the sentence is
right; a span that they then draw to their label is misread in its turn.

How much more often: where another label has r times the probability of the right one, of which the span itself has at
most all, it must count at least r times as often. It is made to count r times as often, and twice where r is below 2.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import torch
from torch import Tensor

from nearspan.errors import EditError
from nearspan.heads import Query
from nearspan.knn import Datastore
from nearspan.memory.edits import SpanWeights
from nearspan.model import Model
from nearspan.model.decode import decode
from nearspan.model.predict import of_whole_words
from nearspan.segment import LabelledSpan, Sentence
from nearspan.segment.windows import LONGEST

Weight = float | Literal["enough"]

LIMIT = 1_000_000.0  # the most that a span is made to count
LEAST = 2.0  # the least by which a misread span is made to count more often
STEPS = 4  # of bisection, by which the weights that are enough are lowered again
TRIAL: SpanWeights = ((0, 1, 2.0),)  # what sentences must have in a datastore where their weights are to be tried


def check_weight(weight: Weight) -> None:
    """Refuse what is no weight."""
    if weight != "enough" and not (isinstance(weight, int | float) and 0 < weight < math.inf):
        raise EditError(
            f"a weight is a number above 0, or 'enough' (as much as is needed, which it is where none is given), "
            f"not {weight!r}"
        )


@dataclass(frozen=True)
class Target:
    """Sentences to be read with the entities that the datastore holds them with, set apart: once or several times."""

    sentences: Sequence[Sentence]
    queries: Sequence[Query]  # of all of them; each is encoded once
    ids: Sequence[Sequence[int]]  # of each sentence in the datastore


@dataclass(frozen=True)
class Outcome:
    """The spans of a sentence that must count more than once for it to be read right, or why none are enough."""

    span_weights: SpanWeights = ()
    failure: str = ""


def reweight(model: Model, datastore: Datastore, target: Target) -> list[Outcome]:
    """For each sentence the spans that must count more than once for it to be read right.

    What the datastore has no part in is not looked at: discontinuous entities, those wider than a candidate, and spans
    that were removed from it.
    """
    everything = range(len(target.sentences))
    if len(everything) != len(target.ids) or any(len(sentence.words) > LONGEST for sentence in target.sentences):
        return [Outcome(failure="it would be read in other parts than it is remembered in")] * len(target.ids)
    trial = _Trial(model, datastore, target)
    trial.raise_weights()
    highest = trial.logs
    raised = [i for i in everything if bool(highest[i].any())]
    low, high = dict.fromkeys(raised, 0.0), dict.fromkeys(raised, 1.0)  # exponents: a sentence's go down together
    for _ in range(STEPS if raised else 0):
        middle = {i: (low[i] + high[i]) / 2 for i in raised}
        trial.logs = [logs * middle.get(i, 1.0) for i, logs in enumerate(highest)]
        wrong = trial.misread(raised)
        low |= {i: middle[i] for i in wrong}
        high |= {i: middle[i] for i in raised if i not in wrong}
    trial.logs = [logs * high.get(i, 1.0) for i, logs in enumerate(highest)]
    if raised and trial.misread(everything):  # sentences that leant on each other
        trial.logs = highest
    outcomes = []
    for i, logs in enumerate(trial.logs):
        rows, weights = trial.rows[i][0][logs > 0], logs[logs > 0].exp().clamp(max=LIMIT)
        columns = (datastore.first[rows].tolist(), datastore.stop[rows].tolist(), weights.tolist())
        outcomes.append(Outcome(tuple(zip(*columns, strict=True)), trial.failures.get(i, "")))
    return outcomes


class _Trial:
    """Sentences of a datastore, and the weights of their spans that are tried on them."""

    def __init__(self, model: Model, datastore: Datastore, target: Target) -> None:
        self.model, self.network, self.datastore, self.target = model, model.network.eval(), datastore, target
        position = {number: place for place, number in enumerate(datastore.ids)}
        copies = [[position[number] for number in ids] for ids in target.ids]
        runs = [(datastore.starts[places][:, None], int(datastore.counts[places[0]])) for places in copies]
        device = datastore.labels.device
        self.rows = [starts + torch.arange(count, device=device) for starts, count in runs]  # each [copies, spans]
        self.logs = [torch.zeros(count, device=device) for _, count in runs]
        self.sentences = [datastore.sentences[places[0]] for places in copies]
        self.failures: dict[int, str] = {}

    def raise_weights(self) -> None:
        """Let misread spans count more often until no sentence is wrong; give those up that it does not help."""
        limit, everything = math.log(LIMIT), range(len(self.logs))
        wrong = self.misread(everything)
        while wrong:
            for i, step in wrong.items():
                logs, misread = self.logs[i], step > 0
                if not bool(misread.any()) or bool((logs[misread] >= limit).any()):
                    self.failures[i] = self._reason(i, misread & (logs >= limit))
                    logs.zero_()
                else:
                    self.logs[i] = (logs + step).clamp(max=limit)
            wrong = self.misread(wrong) or self.misread(everything)  # some that were right may be so no more

    @torch.inference_mode()
    def misread(self, sentences: Collection[int]) -> dict[int, Tensor]:
        """Those of some sentences that are not read as they should be, but for those given up.

        For each the log of how much more often its spans [S] should count, 0 for those with the right labels.
        """
        checked = {i for i in sentences if i not in self.failures}
        network, log_weights = self.network, self.datastore.log_weights.clone()
        for rows, logs in zip(self.rows, self.logs, strict=True):
            log_weights[rows] = logs
        datastore = replace(self.datastore, log_weights=log_weights)
        wrong: dict[int, Tensor] = {}
        for query in self.target.queries:
            numbers = query.batch.ids.tolist()
            if checked.isdisjoint(numbers):
                continue
            query.datastore = datastore
            probabilities = network.predict_proba(query)  # [S, 1 + Y]
            chosen, gold = torch.zeros_like(probabilities), torch.zeros_like(probabilities)
            chosen[network.head.choose(probabilities)] = 1
            rows = torch.cat([self.rows[i][0] for i in numbers])  # [S]
            labels = datastore.labels[rows]
            gold.scatter_(1, torch.cat([labels.clamp(min=0)[None], datastore.further[:, rows]]).T, 1)
            gold[:, 0] = labels <= 0
            right, rival = (probabilities * gold).amax(1), (probabilities * (1 - gold)).amax(1)
            steps = (rival.log() - right.log()).clamp(math.log(LEAST), math.log(LIMIT))
            steps *= (chosen[:, 1:] != gold[:, 1:]).any(1) & (labels >= 0)  # not of those that were removed
            # no contiguous entity gives way to a discontinuous one where these may overlap as they like
            spans = network.select(query, probabilities, link=self.model.linked_overlap != "any")
            by_sentence = zip(numbers, spans, steps.split(query.candidates.counts.tolist()), strict=True)
            wrong |= {i: step for i, read, step in by_sentence if i in checked and self._is_misread(i, read)}
        return wrong

    def _is_misread(self, number: int, spans: list[LabelledSpan[int]]) -> bool:
        """Whether entities differ, of those that the datastore has a part in, given the spans that may be entities."""
        words, remembered = self.target.sentences[number], self.sentences[number]
        whole = spans if words.wholes is None else of_whole_words(words, spans)
        decoded = decode(whole, self.model.overlap, self.model.linked_overlap)
        entities = {(*span.fragments[0], self.model.labels[span.label]) for span in decoded if len(span.fragments) == 1}
        differing = entities ^ set(remembered.entities)
        widest = self.network.max_width
        return any(stop - first <= widest and (first, stop) not in remembered.removed for first, stop, _ in differing)

    def _reason(self, sentence: int, stuck: Tensor) -> str:
        """Why no weight is enough, given the spans [S] that are misread however often they count."""
        rows, words = self.rows[sentence][0][stuck], self.target.sentences[sentence]
        places = list(zip(self.datastore.first[rows].tolist(), self.datastore.stop[rows].tolist(), strict=True))
        if not places:
            return "this model cannot say so of all its entities at once: of those that overlap it keeps the likeliest"
        names = ", ".join(repr(words.span(first, stop).text(words.document.text)) for first, stop in places)
        return f"not even {LIMIT:,.0f} times are enough for {names}"
