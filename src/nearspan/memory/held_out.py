"""What a correction would change elsewhere: the memory's own spans of the same words, each with its sentence held out.

Probabilities are sums over training spans, so that those of a span without its own sentence are known, and so is what
becomes of them with one more span of any weight: nothing is read again, and each weight is tried in one product.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from nearspan.encoders.word_keys import span_keys, word_keys
from nearspan.knn import Datastore, LeaveOneOut, log_label_sums
from nearspan.model import Model
from nearspan.spans import candidate_number

MOST = 300  # spans of the same words that are looked at: those that are most like the corrected one
SURE = 2.0  # log odds by which a right label must stay ahead: what the model has learned from is read too surely


@dataclass(frozen=True)
class LikeSpans:
    """S spans of the memory with the same words as a corrected one, and what the rest of the memory says of them."""

    rows: Tensor  # [S]
    labels: Tensor  # [S]
    log_sums: Tensor  # [S, 1 + Y] log of the weights of each label's spans
    scores: Tensor  # [S] with the corrected span

    def lead(self, log_sums: Tensor) -> Tensor:
        """By how much the right labels are ahead of all others [S]."""
        gold = functional.one_hot(self.labels, log_sums.shape[1]).bool()
        return log_sums.masked_fill(~gold, -torch.inf).amax(1) - log_sums.masked_fill(gold, -torch.inf).amax(1)

    def changes(self, label: int, log_weight: float, sure: float = 0.0) -> tuple[Tensor, Tensor]:
        """Which of them [S] are read right from now on, and which no more, with the corrected span counting so."""
        sums = self.log_sums.clone()
        sums[:, label] = torch.logaddexp(sums[:, label], self.scores + log_weight)
        before, after = self.lead(self.log_sums), self.lead(sums)
        broken = (before >= 0) & (after < sure) & (after < before)
        return (before < 0) & (after >= 0), broken


class HeldOut:
    """The sentences of a memory, each of which is asked about with itself and its copies left out."""

    def __init__(self, model: Model, datastore: Datastore) -> None:
        self.model, self.datastore = model, datastore
        self._others = LeaveOneOut.of(datastore)
        self._words = word_keys(sentence.tokens for sentence in datastore.sentences)
        self._lengths = torch.tensor([len(sentence.words) for sentence in datastore.sentences])
        self._begins = self._lengths.cumsum(0) - self._lengths
        self._sentence = torch.repeat_interleave(torch.arange(len(self._lengths)), self._lengths)

    @torch.inference_mode()
    def like(self, row: int) -> LikeSpans:
        """The memory's other spans with the words of the one at a row, those first that are most like it."""
        datastore = self.datastore
        number, first, width = (
            int(column) for column in (datastore.sentence[row], datastore.first[row], datastore.stop[row])
        )
        width -= first
        place = self._begins[number] + first
        places = torch.arange(len(self._words))
        places = places[: max(0, len(places) - width + 1)]
        own = span_keys(self._words, place[None], place[None] + width)
        same = places[span_keys(self._words, places, places + width) == own]
        sentences = self._sentence[same]
        firsts = same - self._begins[sentences]
        groups = self._others.duplicate_group.cpu()
        kept = (firsts + width <= self._lengths[sentences]) & (groups[sentences] != groups[number])
        sentences, firsts = sentences[kept], firsts[kept]
        numbers = candidate_number(firsts, firsts + width, self._lengths[sentences], datastore.max_width)
        rows = (datastore.starts.cpu()[sentences] + numbers).to(datastore.labels.device)
        rows = rows[datastore.labels[rows] >= 0]
        vote, corrected = datastore.vote, datastore.rows(torch.tensor([row], device=rows.device)).float()[0]
        scores = datastore.rows(rows).float() @ corrected / vote.temperature
        scores += vote.label_weights(datastore.names)[datastore.labels[row]].log()
        best = scores.topk(min(MOST, len(scores)))
        rows, scores = rows[best.indices], best.values
        return LikeSpans(rows, datastore.labels[rows], self._log_sums(rows), scores)

    def _log_sums(self, rows: Tensor) -> Tensor:
        """log of the weights of each label's spans [S, 1 + Y] for the spans at some rows, their sentences left out."""
        datastore, count, others = self.datastore, len(self.datastore.names), self._others
        if not len(rows):
            return datastore.log_weights.new_zeros(0, count)
        head, vectors = self.model.network.head, datastore.rows(rows).float()
        sentences, of_sentence = datastore.sentence[rows].unique(return_inverse=True)
        if head.search != "nearest":
            probabilities, totals = others.probabilities(vectors, others.duplicate_group[datastore.sentence[rows]])
            return probabilities.log() + totals[:, None]
        groups, vote = others.duplicate_group[sentences], datastore.vote
        neighbours = vote.neighbours or head.settings.neighbours
        near = others.nearest_sentences(datastore.sentence_vectors[sentences], groups, neighbours)
        by_sentence = [(of_sentence == number).nonzero().flatten() for number in range(len(sentences))]
        parts = log_label_sums(datastore, [vectors[places] / vote.temperature for places in by_sentence], near)
        sums = vectors.new_empty(len(rows), count)
        sums[torch.cat(by_sentence)] = torch.cat(parts)
        return sums + vote.label_weights(datastore.names).to(rows.device).log()
