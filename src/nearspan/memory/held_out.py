"""How far a correction may go: the memory's own spans of the same words, each with its sentence held out.

Probabilities are sums over training spans, so that those of a span without its own sentence are known, and so is how
often one more span may count before it outweighs them. Nothing is read again.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from nearspan.knn import Datastore, LeaveOneOut, log_label_sums
from nearspan.knn.carried import reach_of
from nearspan.model import Model
from nearspan.spans import candidate_number, one_hot_labels

MOST = 100  # spans of the same words with other labels that are looked at: those that are most like the corrected one
SURE = 3.0  # log odds by which their labels must stay ahead: what the model has learned from is read too surely


class HeldOut:
    """The sentences of a memory, each of which is asked about with itself and its copies left out."""

    def __init__(self, model: Model, datastore: Datastore) -> None:
        self.model, self.datastore = model, datastore
        self._others = LeaveOneOut.of(datastore)

    @torch.inference_mode()
    def room(self, row: int) -> float:
        """log of how often the span at a row may count for the same words elsewhere; infinite where nothing is there.

        So often that none of the memory's other spans of these words, with other labels and read right without it, is
        read otherwise with it.
        """
        datastore = self.datastore
        label, rows = datastore.labels[row], self._same_words(row)
        rows = rows[~datastore.has_label(int(label))[rows]]
        vote, corrected = datastore.vote, datastore.rows(rows.new_tensor([row])).float()[0]
        scores = datastore.rows(rows).float() @ corrected / vote.temperature
        scores += vote.label_weights(datastore.names).to(scores.device)[label].log()
        best = scores.topk(min(MOST, len(scores)))
        rows, scores = rows[best.indices], best.values
        gold = one_hot_labels(datastore.labels[rows], datastore.further[:, rows], len(datastore.names)) > 0
        sums = self._with_corrections(rows, self._log_sums(rows))
        right, rival = (sums.masked_fill(mask, -torch.inf).amax(1) for mask in (~gold, gold))
        left = right + torch.log1p(-(sums[:, label] - right).exp()) - scores - SURE
        return min(left[right > rival].tolist(), default=math.inf)

    def _same_words(self, row: int) -> Tensor:
        """The rows of the memory's spans that the one at a row would be compared with, in other sentences."""
        datastore, groups = self.datastore, self._others.duplicate_group.cpu()
        number, first, stop = (
            int(column) for column in (datastore.sentence[row], datastore.first[row], datastore.stop[row])
        )
        begin, end = reach_of(datastore.sentences[number], first, stop, int(datastore.labels[row]))
        sentences, begins = datastore.word_index.find(number, begin, end)
        firsts = begins + first - begin
        kept = groups[sentences] != groups[number]
        sentences, firsts = sentences[kept], firsts[kept]
        lengths = torch.tensor([len(datastore.sentences[at].words) for at in sentences.tolist()], dtype=torch.long)
        numbers = candidate_number(firsts, firsts + stop - first, lengths, datastore.max_width)
        return (datastore.starts.cpu()[sentences] + numbers).to(datastore.labels.device)

    def _with_corrections(self, rows: Tensor, sums: Tensor) -> Tensor:
        """The same sums [S, 1 + Y] with what spans that were corrected say of themselves, so that they stay so."""
        datastore, carried = self.datastore, self.datastore.carried
        if carried is None:
            return sums
        vote, own = datastore.vote, dict(zip(carried.rows.tolist(), carried.own.tolist(), strict=True))
        votes = vote.label_weights(datastore.names).log()
        for place, row in enumerate(rows.tolist()):
            if row in own:
                label, vector = int(datastore.labels[row]), datastore.rows(rows[place : place + 1]).float()[0]
                score = vector @ vector / vote.temperature + own[row] + float(votes[label])
                sums[place, label] = torch.logaddexp(sums[place, label], score)
        return sums

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
