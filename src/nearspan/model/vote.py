"""The vote of a memory with labels that training did not know, fitted on the memory itself by leaving sentences out."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from nearspan.knn import AS_TRAINED, Datastore, LeaveOneOut, Vote, log_label_sums
from nearspan.model.decode import decode
from nearspan.segment import LabelledSpan

if TYPE_CHECKING:
    from nearspan.model.model import Model

TIMES = (1.0, 2.0, 3.0, 5.0, 8.0, 12.0, 20.0, 30.0, 50.0, 80.0, 120.0, 200.0)
TEMPERATURES = (1.0, 0.5, 0.7, 1.5, 2.0, 3.0)
NEIGHBOURS = (10, 25, 50, 100, 200)
MOST = 60  # sentences that are left out, one at a time; of those without a new label as many again
MORE = 1.25  # times as many sentences as it was fitted on, and a vote is fitted again
LOSS = 0.002  # of F1 that labels which training knew may lose


@torch.inference_mode()
def fit_vote(model: Model, datastore: Datastore) -> Vote:
    """How the spans of a datastore should count, so that its sentences are read right, each by the others.

    Labels that training knew keep their weight, and where the datastore has any, its temperature and its number of
    neighbours too.
    """
    known = frozenset(model.trained_labels)
    fit = _Fit.of(model, datastore, known)
    if fit is None:
        return AS_TRAINED
    plain = replace(AS_TRAINED, known=known, fitted=new_sentences(datastore, known))
    fit.drop_nulls()
    if fit.old:
        return fit.best(replace(plain, times=times) for times in TIMES)
    vote = fit.best(replace(plain, temperature=each, times=times) for each in TEMPERATURES for times in TIMES)
    if model.network.head.search != "nearest":
        return vote
    return fit.best([vote, *(replace(vote, neighbours=each, times=times) for each in NEIGHBOURS for times in TIMES)])


def is_due(vote: Vote, datastore: Datastore, known: frozenset[str]) -> bool:
    """Whether a vote should be fitted again: the sentences that it is fitted on have become more by a fourth."""
    return new_sentences(datastore, known) > MORE * vote.fitted


def new_sentences(datastore: Datastore, known: frozenset[str]) -> int:
    """How many sentences have a label that training did not know."""
    if known.issuperset(datastore.names[1:]):
        return 0
    return sum(any(entity.label not in known for entity in sentence.entities) for sentence in datastore.sentences)


class _Fit:
    """Sentences of a datastore, each read by the others."""

    def __init__(self, model: Model, datastore: Datastore, new: Sequence[int], old: Sequence[int]) -> None:
        self.model, self.datastore, self.new, self.old = model, datastore, new, old
        self.others = LeaveOneOut.of(replace(datastore, vote=AS_TRAINED))
        self.places = torch.tensor([*new, *old])
        counts, starts = datastore.counts[self.places].tolist(), datastore.starts[self.places].tolist()
        self.rows = [torch.arange(start, start + count) for start, count in zip(starts, counts, strict=True)]
        self.sums: dict[tuple[float, int], list[Tensor]] = {}

    @classmethod
    def of(cls, model: Model, datastore: Datastore, known: frozenset[str]) -> _Fit | None:
        """What a vote is fitted on; None where there is no label that training did not know, or too little of it."""
        if known.issuperset(datastore.names[1:]) or not model.network.head.open_labels:
            return None
        kinds = [{entity.label for entity in sentence.entities} for sentence in datastore.sentences]
        new = [place for place, labels in enumerate(kinds) if labels - known]
        if len(new) < 2 or len({datastore.sentences[place].text for place in new}) < 2:
            return None
        chance = random.Random(0)
        old = [place for place, labels in enumerate(kinds) if labels & known and not labels - known]
        return cls(model, datastore, *(sorted(chance.sample(part, min(MOST, len(part)))) for part in (new, old)))

    def best(self, votes: Iterable[Vote]) -> Vote:
        """The vote by which most is read right; of equal ones the first.

        Sentences with labels that training knew may lose a little, compared with the first one.
        """
        chosen, highest, least = AS_TRAINED, -1.0, -1.0
        for vote in votes:
            predictions = self._predict(vote)
            old = self._f1(predictions, self.old)
            least = least if highest >= 0 else old - LOSS
            score = self._f1(predictions, self.new)
            if score > highest and old >= least:
                chosen, highest = vote, score
        return chosen

    def _f1(self, predictions: Mapping[int, Sequence[LabelledSpan[int]]], places: Sequence[int]) -> float:
        """The mean of F1 over entities and F1 over their spans, whatever the label.

        A label with one example has no other to be read by, but its span has.
        """
        pairs: list[tuple[set[Any], set[Any]]] = [(set(), set()), (set(), set())]
        for place in places:
            gold = [each for each in self.datastore.sentences[place].entities if not each.discontinuous]
            pairs[0][0].update((place, each.fragments, each.label) for each in gold)
            pairs[1][0].update((place, each.fragments) for each in gold)
            names = self.datastore.names
            pairs[0][1].update((place, each.fragments, names[each.label]) for each in predictions[place])
            pairs[1][1].update((place, each.fragments) for each in predictions[place])
        return sum(len(gold & read) / max(1, len(gold) + len(read)) for gold, read in pairs)

    def _predict(self, vote: Vote) -> dict[int, list[LabelledSpan[int]]]:
        """The entities of each sentence, read by the others."""
        weights = vote.label_weights(self.datastore.names).to(self.datastore.labels.device)
        predictions = {}
        for place, rows, sums in zip(self.places.tolist(), self.rows, self._log_sums(vote), strict=True):
            probabilities = (sums + weights.log()).softmax(1).nan_to_num_(0.0)
            chosen, labels = self.model.network.head.choose(probabilities)
            first, stop = self.datastore.first[rows[chosen]], self.datastore.stop[rows[chosen]]
            columns = (first, stop, labels, probabilities[chosen, labels])
            spans = [LabelledSpan.of(*values) for values in zip(*(each.tolist() for each in columns), strict=True)]
            predictions[place] = decode(spans, self.model.overlap)
        return predictions

    def _log_sums(self, vote: Vote) -> list[Tensor]:
        """log of the weights of each label's spans for the spans of each sentence, the sentence itself left out."""
        key = (vote.temperature, vote.neighbours)
        if key not in self.sums:
            self.sums[key] = self._sum_up(vote)
        return self.sums[key]

    def _sum_up(self, vote: Vote) -> list[Tensor]:
        datastore, head, others = self.datastore, self.model.network.head, self.others
        vectors = [datastore.rows(rows).float() / vote.temperature for rows in self.rows]
        groups = others.duplicate_group[self.places]
        if head.search != "nearest":
            sizes = [len(rows) for rows in self.rows]
            of_span = torch.repeat_interleave(groups, torch.tensor(sizes, device=groups.device))
            probabilities, totals = others.probabilities(torch.cat(vectors), of_span)
            return list((probabilities.log() + totals[:, None]).split(sizes))
        count = vote.neighbours or head.settings.neighbours
        near = others.nearest_sentences(datastore.sentence_vectors[self.places], groups, count)
        return log_label_sums(datastore, vectors, near)

    def drop_nulls(self) -> None:
        """Ask no more about spans that are null with any vote: most are."""
        most = torch.tensor(max(TIMES)).log()
        sums = self._sum_up(AS_TRAINED)
        kept = [(part[:, 1:].logsumexp(1) + most >= part[:, 0]).nonzero().flatten().cpu() for part in sums]
        self.rows = [rows[places] for rows, places in zip(self.rows, kept, strict=True)]
