"""How a memory with labels that training did not know counts its spans, fitted by leaving sentences out."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from nearspan.knn import AS_TRAINED, Datastore, LeaveOneOut, Vote, log_label_sums
from nearspan.model.decode import decode
from nearspan.segment import Fragments, LabelledSpan

if TYPE_CHECKING:
    from nearspan.model.model import Model

TIMES = (1.0, 2.0, 3.0, 5.0, 8.0, 12.0, 20.0, 30.0, 50.0, 80.0, 120.0, 200.0)
TEMPERATURES = (1.0, 0.5, 0.7, 1.5, 2.0, 3.0)
NEIGHBOURS = (10, 25, 50, 100, 200)
MOST = 60  # sentences that are left out, one at a time; of those without a new label as many again
MORE = 1.25  # times as many sentences as it was fitted on, and a vote is fitted again
LOSS = 0.002  # of F1 that labels which training knew may lose


def fit_vote(model: Model, datastore: Datastore) -> Vote:
    """How the spans of a datastore should count, so that its sentences are read right, each by the others.

    Labels that training knew keep their weight and, where the datastore has any, its temperature and number of
    neighbours.
    """
    return best_vote(model, datastore)[0]


@torch.inference_mode()
def best_vote(model: Model, datastore: Datastore) -> tuple[Vote, float]:
    """The vote that `fit_vote` gives, and the F1 of the sentences with new labels; 0 where there is nothing to fit."""
    known, as_trained = frozenset(model.trained_labels), datastore.vote.of_known()
    kinds = [{entity.label for entity in sentence.entities} for sentence in datastore.sentences]
    new = [place for place, labels in enumerate(kinds) if labels - known]
    if len({datastore.sentences[place].text for place in new}) < 2 or not model.network.head.open_labels:
        return as_trained, 0.0
    chance = random.Random(0)
    old = [place for place, labels in enumerate(kinds) if labels & known and not labels - known]
    places = [sorted(chance.sample(part, min(MOST, len(part)))) for part in (new, old)]
    plain = replace(as_trained, known=known, fitted=len(new))
    fit = _Fit(model, datastore, *places)
    if old:
        return fit.best(replace(plain, times=times) for times in TIMES)
    vote, score = fit.best(replace(plain, temperature=each, times=times) for each in TEMPERATURES for times in TIMES)
    if model.network.head.search != "nearest":
        return vote, score
    counts = [count for count in NEIGHBOURS if count < len(datastore.sentences)]
    return fit.best([vote, *(replace(vote, neighbours=each, times=times) for each in counts for times in TIMES)])


def is_due(datastore: Datastore, known: frozenset[str]) -> bool:
    """Whether a datastore's vote should be fitted again: what it is fitted on has become more by a fourth."""
    if known.issuperset(datastore.names[1:]):
        return False
    kinds = ({entity.label for entity in sentence.entities} for sentence in datastore.sentences)
    return sum(bool(labels - known) for labels in kinds) > MORE * datastore.vote.fitted


class _Fit:
    """Sentences of a datastore, each read by the others."""

    def __init__(self, model: Model, datastore: Datastore, new: Sequence[int], old: Sequence[int]) -> None:
        self.model, self.new, self.old = model, new, old
        self.overlap = model.overlap_of(datastore)
        self.datastore = replace(datastore, vote=datastore.vote.of_known())
        self.places = torch.tensor([*new, *old])
        counts, starts = datastore.counts[self.places].tolist(), datastore.starts[self.places].tolist()
        self.rows = [torch.arange(start, start + count) for start, count in zip(starts, counts, strict=True)]
        examples = Counter(label for each in datastore.sentences for label in {gold.label for gold in each.entities})
        self.alone = {label for label, count in examples.items() if count == 1}  # nothing else to be read by
        self.gold = {place: self._gold(place) for place in (*new, *old)}
        self.sums: dict[tuple[float, int], list[Tensor]] = {}
        self._drop_nulls()

    def best(self, votes: Iterable[Vote]) -> tuple[Vote, float]:
        """The vote by which most is read right, and its F1; of equal ones the first.

        Sentences with labels that training knew may lose a little, compared with the first one.
        """
        chosen, highest, least = self.datastore.vote, -1.0, -1.0
        for vote in votes:
            predictions = self._predict(vote)
            old = self._f1(predictions, self.old)
            least = least if highest >= 0 else old - LOSS
            score = self._f1(predictions, self.new)
            if score > highest and old >= least:
                chosen, highest = vote, score
        return chosen, max(highest, 0.0)

    def _gold(self, place: int) -> dict[Fragments, set[str]]:
        """The labels of a sentence's entities; "" for those whose label no other sentence has: any is right there."""
        gold: dict[Fragments, set[str]] = {}
        for entity in self.datastore.sentences[place].entities:
            if not entity.discontinuous:
                label = "" if entity.label in self.alone else entity.label
                gold.setdefault(entity.fragments, set()).add(label)
        return gold

    def _f1(self, predictions: dict[int, list[LabelledSpan[int]]], places: Sequence[int]) -> float:
        """F1 of what is predicted of some sentences."""
        right = read = 0
        for place in places:
            for span in predictions[place]:
                labels = self.gold[place].get(span.fragments, ())
                right += "" in labels or self.datastore.names[span.label] in labels
                read += 1
        return 2 * right / max(1, read + sum(len(labels) for place in places for labels in self.gold[place].values()))

    def _predict(self, vote: Vote) -> dict[int, list[LabelledSpan[int]]]:
        """The entities of each sentence, read by the others."""
        key = (vote.temperature, vote.neighbours)
        if key not in self.sums:
            self.sums[key] = self._sum_up(vote)
        log_votes = vote.label_weights(self.datastore.names).to(self.datastore.labels.device).log()
        sizes = [len(part) for part in self.sums[key]]
        probabilities = (torch.cat(self.sums[key]) + log_votes).softmax(1).nan_to_num_(0.0)
        chosen, labels = self.model.network.head.choose(probabilities)
        rows = torch.cat(self.rows)[chosen.cpu()]
        place = torch.repeat_interleave(self.places, torch.tensor(sizes))[chosen.cpu()]
        columns = (place, self.datastore.first[rows], self.datastore.stop[rows], labels, probabilities[chosen, labels])
        spans: dict[int, list[LabelledSpan[int]]] = {number: [] for number in self.gold}
        for number, *values in zip(*(each.tolist() for each in columns), strict=True):
            spans[number].append(LabelledSpan.of(*values))
        return {number: decode(each, self.overlap) for number, each in spans.items()}

    def _sum_up(self, vote: Vote) -> list[Tensor]:
        """log of the weights of each label's spans for the spans of each sentence, the sentence itself left out."""
        datastore = replace(self.datastore, vote=replace(vote, times=1.0, known_times=1.0))
        head, others = self.model.network.head, LeaveOneOut.of(datastore)
        vectors = [datastore.rows(rows).float() for rows in self.rows]
        groups = others.duplicate_group[self.places]
        if head.search != "nearest":
            sizes = torch.tensor([len(rows) for rows in self.rows], device=groups.device)
            probabilities, totals = others.probabilities(torch.cat(vectors), torch.repeat_interleave(groups, sizes))
            return list((probabilities.log() + totals[:, None]).split(sizes.tolist()))
        count = vote.neighbours or head.settings.neighbours
        near = others.nearest_sentences(datastore.sentence_vectors[self.places], groups, count)
        queries = [each / vote.temperature for each in vectors]
        sums = log_label_sums(datastore, queries, near)
        if datastore.metric is None:
            return sums
        by_label = [datastore.metric.label_scores(each, datastore.names) for each in queries]
        return [each + more for each, more in zip(sums, by_label, strict=True)]

    def _drop_nulls(self) -> None:
        """Ask no more about spans that are null with any vote: most are."""
        most = torch.tensor(max(TIMES)).log()
        sums = self._sum_up(AS_TRAINED)
        kept = [(part[:, 1:].logsumexp(1) + most >= part[:, 0]).nonzero().flatten().cpu() for part in sums]
        self.rows = [rows[places] for rows, places in zip(self.rows, kept, strict=True)]
