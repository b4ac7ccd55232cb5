"""Reweighting: how often spans of a sentence must count for a model to read the sentence as it should be read.

With the nearest-neighbour head a span that counts w times has the weight w exp(|s|^2) for itself, so it wins once w is
large enough. That a whole sentence counted w times would not do: its spans without a label would grow along with the
one that the model misses among them. So the spans that are misread count more often, and again, until the sentence is
right; a span that they then draw to their label is misread in its turn.

How much more often: where another label has r times the probability of the right one, of which the span itself has at
most all, it must count at least r times as often. It is made to count r times as often, and twice where r is below 2.
"""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import torch
from torch import Tensor

from nearspan.errors import EditError
from nearspan.heads import Query
from nearspan.knn import Datastore, MemorySentence
from nearspan.memory.edits import CarriedWeights, SpanWeights
from nearspan.memory.held_out import SURE, HeldOut
from nearspan.model import Model
from nearspan.model.decode import decode
from nearspan.model.predict import of_whole_words
from nearspan.segment import LabelledSpan, Sentence
from nearspan.segment.windows import LONGEST

Weight = float | Literal["enough"]

LIMIT = 1_000_000.0  # the most that a span is made to count
LEAST = 2.0  # the least by which a misread span is made to count more often
UNTRIED = 10.0  # how often a span counts elsewhere, at most, that no other span of the memory speaks for or against
AGREED = 0.8  # of the memory's spans of the same words, at least, have the label that a correction says elsewhere too
LEAD = 1.0  # log of how much more often than enough they count: the right label leads by about so much
LOWER = (0.0, 0.5, 1.0, 2.0, 3.0)  # by how much the log weight may be lower elsewhere
STEPS = 4  # of bisection, by which the weights that are enough are lowered again


def check_weight(weight: float) -> None:
    """Refuse a number that is no weight."""
    if not (isinstance(weight, int | float) and 0 < weight < math.inf):
        raise EditError(
            f"a weight is a number above 0, or 'enough' (as much as is needed, which it is where none is given), "
            f"not {weight!r}"
        )


@dataclass(frozen=True)
class Target:
    """Sentences to be read with the entities that the datastore holds them with, once or several times."""

    sentences: Sequence[Sentence]
    queries: Sequence[Query]  # of all of them; each is encoded once
    ids: Sequence[Sequence[int]]  # of each sentence in the datastore


@dataclass(frozen=True)
class Outcome:
    """The spans of a sentence that must count more than once for it to be read right, or why none are enough."""

    span_weights: SpanWeights = ()
    failure: str = ""
    carried: CarriedWeights = ()  # instead of `span_weights`, where the head compares the same words wherever they are
    mended: int = 0  # held-out spans of the memory with the same words
    broken: int = 0
    limited: tuple[str, ...] = ()  # words that count less elsewhere: they would break too much, or have several labels
    untried: tuple[str, ...] = ()  # words that count a few times at most elsewhere: the memory holds them nowhere else


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
    limit, logs = math.log(LIMIT), [torch.zeros(each.shape[1], device=each.device) for each in rows]
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
        wrong = trial.misread([log * middle.get(i, 1.0) for i, log in enumerate(highest)], raised)
        low |= {i: middle[i] for i in wrong}
        high |= {i: middle[i] for i in raised if i not in wrong}
    logs = [log * high.get(i, 1.0) for i, log in enumerate(highest)]
    if raised and trial.misread(logs, standing):  # sentences that leant on each other
        logs = highest
    if carries:
        held_out = HeldOut(model, datastore) if any(bool(log.any()) for log in logs) else None
        carry = [_carry(datastore, held_out, rows[i][0], log) if held_out else Outcome() for i, log in enumerate(logs)]
        return [replace(outcome, failure=failures.get(i, "")) for i, outcome in enumerate(carry)]
    outcomes = []
    for i, log in enumerate(logs):
        raised_spans = log > 0
        heavy, weights = rows[i][0][raised_spans], log[raised_spans].exp().clamp(max=LIMIT).tolist()
        places = zip(datastore.first[heavy].tolist(), datastore.stop[heavy].tolist(), weights, strict=True)
        outcomes.append(Outcome(tuple(places), failures.get(i, "")))
    return outcomes


def _carry(datastore: Datastore, held_out: HeldOut, rows: Tensor, logs: Tensor) -> Outcome:
    """How often the spans of a sentence at some rows [S] count here and elsewhere, given the log weights [S] that do.

    They count more often than need be here, so that they have a lead. Elsewhere they count as often as mends at least
    as many of the memory's spans of the same words, held out, as it breaks; where there are none, `UNTRIED` times.
    Words that the memory calls now this and now that are left to their contexts: they do not count elsewhere.
    """
    carried: list[tuple[int, int, float, float]] = []
    limited, untried, mended, broken = list[str](), list[str](), 0, 0
    heavy = (logs[logs > 0] + LEAD).clamp(max=math.log(LIMIT)).tolist()
    for row, log in zip(rows[logs > 0].tolist(), heavy, strict=True):
        first, stop, label = (int(column[row]) for column in (datastore.first, datastore.stop, datastore.labels))
        sentence = datastore.sentences[int(datastore.sentence[row])]
        text = sentence.span(first, stop).text(sentence.text)
        like, times = held_out.like(row), 0.0
        if not len(like.rows):
            untried.append(text)
            carried.append((first, stop, math.exp(log), min(math.exp(log), UNTRIED)))
            continue
        agreed = float((like.labels == label).float().mean())
        for lower in LOWER if agreed >= AGREED else ():
            mends, breaks = like.changes(label, log - lower, SURE)
            if int(breaks.sum()) <= int(mends.sum()):
                times = math.exp(log - lower)
                mends, breaks = like.changes(label, log - lower)
                mended, broken = mended + int(mends.sum()), broken + int(breaks.sum())
                break
        if times < math.exp(log):
            limited.append(text)
        carried.append((first, stop, math.exp(log), times))
    return Outcome((), "", tuple(carried), mended, broken, tuple(limited), tuple(untried))


@dataclass(frozen=True)
class _Trial:
    """Sentences of a datastore, on which weights of their spans are tried."""

    model: Model
    datastore: Datastore
    target: Target
    rows: Sequence[Tensor]  # of each sentence [copies, S]
    remembered: Sequence[MemorySentence]
    copies: Sequence[Sequence[int]]  # where each is in the datastore
    carries: bool = False  # whether the weights are for the same words in the same sentence alone

    def _with_weights(self, weights: Sequence[Tensor]) -> Datastore:
        """The datastore where spans of the sentences have the log weights [S]."""
        if not self.carries:
            log_weights = self.datastore.log_weights.clone()
            for rows, logs in zip(self.rows, weights, strict=True):
                log_weights[rows] = logs
            return replace(self.datastore, log_weights=log_weights)
        sentences = list(self.datastore.sentences)
        for places, rows, logs in zip(self.copies, self.rows, weights, strict=True):
            heavy = rows[0][logs > 0]
            spans = zip(self.datastore.first[heavy].tolist(), self.datastore.stop[heavy].tolist(), strict=True)
            times = logs[logs > 0].exp().tolist()
            carried = tuple((*span, own, 0.0) for span, own in zip(spans, times, strict=True))
            for place in places:
                sentences[place] = replace(sentences[place], carried=carried)
        return replace(self.datastore, sentences=sentences)

    @torch.inference_mode()
    def misread(self, weights: Sequence[Tensor], checked: Collection[int]) -> dict[int, Tensor]:
        """Those of some sentences that are not read as they should be where spans have the log weights [S].

        For each the log of how much more often its spans [S] should count, 0 for those with the right labels.
        """
        network, datastore = self.model.network.eval(), self._with_weights(weights)
        wrong: dict[int, Tensor] = {}
        for query in self.target.queries:
            numbers = query.batch.ids.tolist()
            if not any(i in checked for i in numbers):
                continue
            query = query.with_datastore(datastore)
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
        return f"not even {LIMIT:,.0f} times are enough for {names}"
