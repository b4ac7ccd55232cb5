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
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

import torch
from torch import Tensor

from nearspan.errors import EditError
from nearspan.heads import Head, Query
from nearspan.knn import Datastore, MemorySentence
from nearspan.memory.edits import CarriedWeights, SpanWeights
from nearspan.memory.held_out import HeldOut
from nearspan.model import Model
from nearspan.model.decode import decode
from nearspan.model.predict import of_whole_words
from nearspan.segment import LabelledSpan, Sentence
from nearspan.segment.windows import LONGEST

Weight = float | Literal["enough"]

LIMIT = 1_000_000.0  # the most that a span is made to count for whatever is near it; and in one step
OWN_LIMIT = 1e30  # the most that one is made to count for its own words alone
LEAST = 2.0  # the least by which a misread span is made to count more often
NULL_LIMIT = 100.0  # the most that a span without a label is made to count for its words elsewhere
LEAD = 2.0  # log of how much more often than enough they count: see benchmarks/results/corrections-choices-cpu.json
STEPS = 4  # of bisection, by which the weights that are enough are lowered again


def check_weight(weight: float) -> None:
    """Refuse a number that is no weight."""
    if not (isinstance(weight, int | float) and 0 < weight < math.inf):
        raise EditError(
            f"a weight is a number above 0, or 'enough' (as much as is needed, which it is where none is given), "
            f"not {weight!r}"
        )


def limited_spans(sentence: MemorySentence, carried: CarriedWeights) -> list[tuple[int, int]]:
    """The carried spans of a sentence that count less elsewhere than others would, so as not to draw the same words."""
    entities = {gold.fragments for gold in sentence.entities}
    return [
        (first, stop)
        for first, stop, own, like in carried
        if like < (own if ((first, stop),) in entities else min(own, NULL_LIMIT))
    ]


@dataclass(frozen=True)
class Target:
    """Sentences to be read with the entities that the datastore holds them with, once or several times."""

    sentences: Sequence[Sentence]
    queries: Sequence[Query]  # of all of them; each is encoded once
    ids: Sequence[Sequence[int]]  # of each sentence in the datastore
    aside: Collection[int] = ()  # those that are put aside if they are misread


@dataclass(frozen=True)
class Outcome:
    """The spans of a sentence that must count more than once for it to be read right, or why none are enough."""

    span_weights: SpanWeights = ()
    failure: str = ""
    carried: CarriedWeights = ()  # instead of `span_weights`, where the head compares the same words wherever they are
    weight: float = 1.0  # of the sentence; 0: it is put aside
    limited: tuple[str, ...] = ()  # words that count less elsewhere, where they may have other labels


@torch.inference_mode()
def reweight(model: Model, datastore: Datastore, target: Target) -> list[Outcome]:
    """For each sentence the spans that must count more than once for it to be read right.

    What the datastore has no part in is not looked at: discontinuous entities, those wider than a candidate, and spans
    that were removed from it. First misread spans count more often until no sentence is wrong, and those that it does
    not help are given up. Then the weights that are enough are lowered again.
    """
    if len(target.sentences) != len(target.ids) or any(len(each.words) > LONGEST for each in target.sentences):
        return [Outcome(failure="it would be read in other parts than it is remembered in")] * len(target.ids)
    position = {number: place for place, number in enumerate(datastore.ids)}
    copies = [[position[number] for number in ids] for ids in target.ids]
    rows = [
        datastore.starts[places][:, None]
        + torch.arange(int(datastore.counts[places[0]]), device=datastore.starts.device)
        for places in copies
    ]
    carries = model.network.head.sums_inner_products
    remembered = [datastore.sentences[places[0]] for places in copies]
    trial = _Trial(model, datastore, target, rows, remembered, copies, carries)
    limit, logs = math.log(trial.limit), [torch.zeros(each.shape[1], device=each.device) for each in rows]
    standing, failures = list(range(len(copies))), dict[int, str]()
    wrong = trial.misread(logs, standing)
    while wrong:
        for i, step in wrong.items():
            misread = step > 0
            if not bool(misread.any()) or bool((logs[i][misread] >= limit).any()):
                failures[i] = trial.reason(i, misread & (logs[i] >= limit))
                standing.remove(i)
                logs[i].zero_()
            else:
                logs[i] = (logs[i] + step).clamp(max=limit)
        # some that were right may be so no more
        wrong = trial.misread(logs, wrong.keys() - failures) or trial.misread(logs, standing)
    highest = logs
    raised = [i for i, log in enumerate(highest) if bool(log.any())]
    low, high = dict.fromkeys(raised, 0.0), dict.fromkeys(raised, 1.0)  # exponents: a sentence's go down together
    for _ in range(STEPS if raised else 0):
        middle = {i: (low[i] + high[i]) / 2 for i in raised}
        lower = [log * middle.get(i, 1.0) for i, log in enumerate(highest)]
        wrong = trial.misread(lower, raised)
        low |= {i: middle[i] for i in wrong}
        high |= {i: middle[i] for i in raised if i not in wrong}
    logs = [log * high.get(i, 1.0) for i, log in enumerate(highest)]
    if raised and trial.misread(logs, standing):  # sentences that leant on each other
        logs = highest
    if carries:
        by_sentence = _carry(trial, logs, standing, failures)
        return [
            Outcome((), failures.get(i, ""), carried, trial.sentence_weight(i, carried), trial.limited(i, carried))
            for i, carried in enumerate(by_sentence)
        ]
    outcomes = []
    for i, log in enumerate(logs):
        raised_spans = log > 0
        heavy, weights = rows[i][0][raised_spans], log[raised_spans].exp().clamp(max=LIMIT).tolist()
        places = zip(datastore.first[heavy].tolist(), datastore.stop[heavy].tolist(), weights, strict=True)
        outcomes.append(Outcome(tuple(places), failures.get(i, "")))
    return outcomes


@dataclass(eq=False)
class _Trial:
    """Sentences of a datastore, on which weights of their spans are tried."""

    model: Model
    datastore: Datastore
    target: Target
    rows: Sequence[Tensor]  # of each sentence [copies, S]
    remembered: Sequence[MemorySentence]
    copies: Sequence[Sequence[int]]  # where each is in the datastore
    carries: bool = False  # whether the weights are for the same words in the same sentence alone
    bases: dict[frozenset[int], tuple[Datastore, dict[int, _Base]]] = field(default_factory=dict)  # see `_base`

    @property
    def limit(self) -> float:
        """The most that a span is made to count."""
        return OWN_LIMIT if self.carries else LIMIT

    @cached_property
    def alike(self) -> list[list[int]]:
        """For each sentence those, itself among them, that read the same."""
        groups: dict[tuple[str, ...], list[int]] = {}
        for i, sentence in enumerate(self.remembered):
            groups.setdefault(tuple(word.casefold() for word in sentence.tokens), []).append(i)
        return [groups[tuple(word.casefold() for word in sentence.tokens)] for sentence in self.remembered]

    def own_sums(self, query: Query, weights: Sequence[Tensor]) -> Tensor:
        """log of what spans with the log weights [S] add to each label [S, 1 + Y] in a batch of their sentences."""
        datastore, vote = self.datastore, self.datastore.vote
        votes = vote.label_weights(datastore.names).to(query.vectors.device).log()
        sums = query.vectors.new_full((len(query.vectors), len(votes)), -math.inf, dtype=torch.double)
        begin = 0
        for i, count in zip(query.batch.ids.tolist(), query.candidates.counts.tolist(), strict=True):
            for other in self.alike[i]:
                heavy = (weights[other] > 0).nonzero().flatten()
                rows, asked = self.rows[other][0][heavy], begin + heavy
                scores = (query.vectors[asked].double() * datastore.rows(rows).double()).sum(1) / vote.temperature
                scores += weights[other][heavy] + votes[datastore.labels[rows]] + math.log(len(self.rows[other]))
                sums[asked, datastore.labels[rows]] = torch.logaddexp(sums[asked, datastore.labels[rows]], scores)
            begin += count
        return sums

    def with_weights(self, weights: Sequence[Tensor]) -> Datastore:
        """The datastore where spans of the sentences have the log weights [S]."""
        log_weights = self.datastore.log_weights.clone()
        for rows, logs in zip(self.rows, weights, strict=True):
            log_weights[rows] = logs
        return replace(self.datastore, log_weights=log_weights)

    def in_sentences(self, weights: Sequence[Tensor]) -> list[CarriedWeights]:
        """Spans of the sentences with log weights [S] as carried ones, which count nowhere else."""
        carried = list[CarriedWeights]()
        for rows, logs in zip(self.rows, weights, strict=True):
            heavy, times = rows[0][logs > 0], logs[logs > 0].exp().tolist()
            spans = zip(self.datastore.first[heavy].tolist(), self.datastore.stop[heavy].tolist(), times, strict=True)
            carried.append(tuple((first, stop, own, 0.0) for first, stop, own in spans))
        return carried

    def with_carried(self, carried: Sequence[CarriedWeights]) -> Datastore:
        """The datastore where spans of the sentences are carried."""
        return self._weigh(carried, [self.sentence_weight(i, spans) for i, spans in enumerate(carried)])

    def _weigh(self, carried: Sequence[CarriedWeights], weights: Sequence[float]) -> Datastore:
        """The datastore with these of each sentence."""
        sentences, log_weights = list(self.datastore.sentences), self.datastore.log_weights.clone()
        for places, rows, spans, weight in zip(self.copies, self.rows, carried, weights, strict=True):
            log_weights[rows] += 0.0 if weight else -math.inf
            for place in places:
                sentences[place] = replace(sentences[place], carried=spans, weight=weight)
        return self.datastore.with_weights(sentences, log_weights)

    def sentence_weight(self, number: int, carried: CarriedWeights) -> float:
        """How often a sentence counts beside the spans of it that are carried."""
        return 0.0 if carried and number in self.target.aside else 1.0

    def text(self, number: int, first: int = 0, stop: int | None = None) -> str:
        """The words `first` to `stop` of a sentence, or all."""
        sentence = self.remembered[number]
        return sentence.span(first, len(sentence.words) if stop is None else stop).text(sentence.text)

    def limited(self, number: int, carried: CarriedWeights) -> tuple[str, ...]:
        """The words of a sentence that count less elsewhere than others would."""
        return tuple(self.text(number, *place) for place in limited_spans(self.remembered[number], carried))

    def misread(self, weights: Sequence[Tensor], checked: Collection[int]) -> dict[int, Tensor]:
        """Those of some sentences that are not read as they should be where their spans have the log weights [S].

        For each the log of how much more often its spans [S] should count, 0 for those with the right labels.
        """
        if not self.carries:
            return self.misread_with(self.with_weights(weights), checked)
        aside = frozenset(i for i, logs in enumerate(weights) if i in self.target.aside and bool(logs.any()))
        wrong: dict[int, Tensor] = {}
        for number, _ in self._asked(checked):
            base = self._base(number, aside)
            wrong |= self._misread_of(base.query, base.probabilities(self.own_sums(base.query, weights)), checked)
        return wrong

    def misread_with(self, datastore: Datastore, checked: Collection[int]) -> dict[int, Tensor]:
        """The same with a datastore."""
        wrong: dict[int, Tensor] = {}
        for _, query in self._asked(checked):
            query = query.with_datastore(datastore)
            wrong |= self._misread_of(query, self.model.network.eval().predict_proba(query), checked)
        return wrong

    def _asked(self, checked: Collection[int]) -> Iterator[tuple[int, Query]]:
        """The batches that some of the sentences are in, by their numbers."""
        for number, query in enumerate(self.target.queries):
            if any(i in checked for i in query.batch.ids.tolist()):
                yield number, query

    def _base(self, number: int, aside: frozenset[int]) -> _Base:
        """What a batch is read as where no weights are raised, and some sentences are aside."""
        datastore, bases = self.bases.get(aside, (None, {}))
        if datastore is None:
            weights = [0.0 if i in aside else 1.0 for i in range(len(self.rows))]
            datastore = self._weigh([()] * len(weights), weights) if aside else self.datastore
            self.bases.clear()  # of one state at a time
            self.bases[aside] = (datastore, bases)
        if number not in bases:
            query = self.target.queries[number].with_datastore(datastore)
            network = self.model.network.eval()
            bases[number] = _Base(query, network.head, network.predict_proba(query))
        return bases[number]

    def _misread_of(self, query: Query, probabilities: Tensor, checked: Collection[int]) -> dict[int, Tensor]:
        """The same of a batch, given P(y|s) [S, 1 + Y]."""
        network, datastore, numbers = self.model.network, self.datastore, query.batch.ids.tolist()
        wrong: dict[int, Tensor] = {}
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
        by_sentence = network.predict(query, probabilities, link=self.model.linked_overlap != "any")
        split = steps.split(query.candidates.counts.tolist())
        for i, spans, step in zip(numbers, by_sentence, split, strict=True):
            if i not in checked:
                continue
            words, remembered = self.target.sentences[i], self.remembered[i]
            whole = spans if words.wholes is None else of_whole_words(words, spans)
            decoded = decode(whole, self.model.overlap, self.model.linked_overlap)
            read = {LabelledSpan(span.fragments, datastore.names[span.label]) for span in decoded}
            for span in read ^ set(remembered.entities):
                first, stop = place = span.fragments[0]
                reachable = not span.discontinuous and stop - first <= datastore.max_width
                if reachable and place not in remembered.removed:
                    wrong[i] = step  # of what the datastore has a part in, something is read otherwise
        return wrong

    def reason(self, number: int, stuck: Tensor) -> str:
        """Why no weight is enough, given the spans [S] that are misread however often they count."""
        rows, words = self.rows[number][0][stuck], self.target.sentences[number]
        places = zip(self.datastore.first[rows].tolist(), self.datastore.stop[rows].tolist(), strict=True)
        names = ", ".join(repr(words.span(first, stop).text(words.document.text)) for first, stop in places)
        if not names:
            return "this model cannot say so of all its entities at once: of those that overlap it keeps the likeliest"
        return f"not even {self.limit:,.10g} times are enough for {names}"


@dataclass(eq=False)
class _Base:
    """A batch as it is read while no weights are raised."""

    query: Query
    head: Head
    read: Tensor  # P(y|s) [S, 1 + Y]
    raised: Tensor | None = None  # the rows [R] of which `sums` are
    sums: Tensor | None = None  # log of what the spans of each label weigh together [R, 1 + Y]

    def probabilities(self, own: Tensor) -> Tensor:
        """P(y|s) [S, 1 + Y] where spans add so much, in logs [S, 1 + Y], to the labels' weights."""
        rows = (own > -math.inf).any(1).nonzero().flatten()
        if not len(rows):
            return self.read
        if self.raised is None or self.sums is None or not torch.equal(rows, self.raised):
            self.raised, self.sums = rows, self.head.log_label_sums(self.query, rows).double()
        probabilities = self.read.clone()
        probabilities[rows] = torch.logaddexp(self.sums, own[rows]).softmax(1).to(probabilities.dtype)
        return probabilities


def _carry(
    trial: _Trial, logs: Sequence[Tensor], standing: Sequence[int], failures: dict[int, str]
) -> list[CarriedWeights]:
    """How often the spans of each sentence count here and elsewhere, given the log weights [S] that are enough.

    They count more often than is enough, so that they have a lead: in their sentence, and elsewhere too. What took
    little to correct counts little where other words are read surely. What is no entity counts `NULL_LIMIT` times
    elsewhere at most, or it would take away entities that are read surely. And none draws the memory's spans of the
    same words, held out, that have another label. Where they would draw words of these very sentences, they count
    nowhere else. What is misread all the same is a failure.
    """
    if not any(bool(log.any()) for log in logs):
        return [()] * len(logs)
    _ = trial.datastore.word_index  # computed here it is kept with an edit, and the next one has it
    datastore = trial.with_carried(trial.in_sentences(logs))
    held_out, carried = HeldOut(trial.model, datastore), list[CarriedWeights]()
    for rows, log in zip(trial.rows, logs, strict=True):
        spans = list[tuple[int, int, float, float]]()
        for row, enough in zip(rows[0][log > 0].tolist(), log[log > 0].tolist(), strict=True):
            own, room = math.exp(enough + LEAD), held_out.room(row)
            most = own if int(datastore.labels[row]) else min(own, NULL_LIMIT)
            like = math.exp(room) if room < math.log(most) else most
            spans.append((int(datastore.first[row]), int(datastore.stop[row]), own, like))
        carried.append(tuple(spans))
    if wrong := trial.misread_with(trial.with_carried(carried), standing):
        texts = [trial.text(i).casefold() for i in wrong]
        for i, spans_of in enumerate(carried):
            names = [trial.text(i, first, stop).casefold() for first, stop, *_ in spans_of]
            carried[i] = tuple(
                (first, stop, own, 0.0 if any(name in text for text in texts) else like)
                for name, (first, stop, own, like) in zip(names, spans_of, strict=True)
            )
        for i, step in trial.misread_with(trial.with_carried(carried), standing).items():
            carried[i], failures[i] = (), trial.reason(i, (step > 0) & (logs[i] >= math.log(trial.limit)))
    return carried
