"""What the rest of a datastore says of its own spans: a span's sentence, and every copy of it, is left out."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from nearspan.knn.datastore import Datastore
from nearspan.knn.interpolation import weigh_labels
from nearspan.knn.search import top_columns
from nearspan.segment.windows import LONGEST
from nearspan.spans import one_hot_labels

PART, PIECE = 32_768, 512  # rows of the datastore, and spans that are asked about, whose scores are held at once
SHARPNESS = 20.0  # a neighbour whose cosine is lower by 1 / SHARPNESS has a weight lower by the factor e

Progress = Callable[[int, int], None]  # is told how many rows of the datastore are done, and of how many


def sentence_key(document: str, number: int, text: str, words: int) -> Hashable:
    """What copies of a sentence share: its text or, for a window of a very long one, its place in the document."""
    return (document, number) if words >= LONGEST else text


@dataclass(frozen=True)
class LeaveOneOut:
    """A datastore whose sentences say nothing of spans from themselves and from their copies.

    Asked about n spans, it is given their vectors [n, H] and the group of copies to leave out: `group` [n], as
    `group_of` gives it.
    """

    datastore: Datastore
    duplicate_group: Tensor  # [M] copies of a sentence have the same number
    groups: dict[Hashable, int]

    @classmethod
    def of(cls, datastore: Datastore) -> LeaveOneOut:
        """Find the copies of each sentence."""
        groups: dict[Hashable, int] = {}
        numbers = [
            groups.setdefault(
                sentence_key(sentence.document, sentence.number, sentence.text, len(sentence.words)), len(groups)
            )
            for sentence in datastore.sentences
        ]
        return cls(datastore, torch.tensor(numbers, device=datastore.labels.device), groups)

    def group_of(self, document: str, number: int, text: str, words: int) -> int:
        """The group of a sentence's copies; -1 where the datastore has none."""
        return self.groups.get(sentence_key(document, number, text, words), -1)

    def nearest_sentences(self, vectors: Tensor, group: Tensor, count: int) -> Tensor:
        """The other sentences with the highest cosine, for sentence vectors [B, E]: ids [B, count], or fewer."""
        cosines = functional.normalize(vectors.float(), dim=1) @ self.datastore.sentence_vectors.T  # [B, M]
        left_out = (self.duplicate_group == group[:, None]) | self.datastore.aside
        groups = self.duplicate_group[~self.datastore.aside]
        most = len(groups) - int(torch.bincount(groups, minlength=1).max())  # every sentence has them
        return top_columns(cosines.masked_fill_(left_out, -torch.inf), min(count, most))

    def probabilities(self, vectors: Tensor, group: Tensor, progress: Progress | None = None) -> tuple[Tensor, Tensor]:
        """Equation 2 over all other sentences: P(y|s) [n, 1 + Y], and log of the sum of all exp(score) [n]."""
        best = vectors.new_full((len(vectors), 1), -torch.inf)
        datastore, count = self.datastore, len(self.datastore.names)
        sums = vectors.new_zeros(len(vectors), count)
        for rows, piece, scores in self._scores(vectors, group, False, progress):
            before = best[piece]
            # not below the least number, so that a part in which all are left out adds nothing rather than NaN
            higher = torch.maximum(before, scores.amax(1, keepdim=True)).clamp_(min=torch.finfo(scores.dtype).min)
            one_hot = one_hot_labels(datastore.labels[rows], datastore.further[:, rows], count)
            by_label = scores.sub_(higher).exp_() @ one_hot
            sums[piece] = sums[piece] * (before - higher).exp() + by_label
            best[piece] = higher
        sums[:, 0] += sums.sum(1) == 0  # no other span is there
        total = sums.sum(1, keepdim=True)
        return sums / total, (best + total.log()).flatten()

    def knn_probabilities(self, vectors: Tensor, group: Tensor, count: int, progress: Progress | None = None) -> Tensor:
        """P_knn(y|s) [n, 1 + Y] from the `count` other spans of the highest cosine."""
        cosines, rows = self._nearest_rows(vectors, group, count, None, progress)
        return weigh_labels(self.datastore, cosines, rows, 1 / SHARPNESS)

    def nearest_spans(
        self, vectors: Tensor, group: Tensor, label: int, count: int, *, cosine: bool
    ) -> tuple[Tensor, Tensor]:
        """The `count` other spans with a label that are nearest: scores [n, count], best first, and rows.

        Where there are fewer, the scores of the rest are -inf, or are left out.
        """
        return self._nearest_rows(vectors, group, min(count, len(self.datastore)), label, None, cosine=cosine)

    def _nearest_rows(
        self,
        vectors: Tensor,
        group: Tensor,
        count: int,
        label: int | None,
        progress: Progress | None,
        *,
        cosine: bool = True,
    ) -> tuple[Tensor, Tensor]:
        best = vectors.new_full((len(vectors), count), -torch.inf)
        nearest = torch.zeros(len(vectors), count, dtype=torch.long, device=vectors.device)
        for rows, piece, scores in self._scores(vectors, group, cosine, progress, label):
            top = top_columns(scores, min(count, scores.shape[1]))
            both = torch.cat([best[piece], scores.gather(1, top)], dim=1)
            order = both.topk(count, dim=1)
            best[piece] = order.values
            nearest[piece] = torch.cat([nearest[piece], rows[top]], dim=1).gather(1, order.indices)
        return best, nearest

    def _scores(
        self, vectors: Tensor, group: Tensor, cosine: bool, progress: Progress | None, label: int | None = None
    ) -> Iterator[tuple[Tensor, slice, Tensor]]:
        """Some rows of the datastore [r], some of the spans, and their scores [p, r]; -inf where a row is left out.

        Inner products count the sentences' weights and the vote in, cosines do not.
        """
        vote = self.datastore.vote
        queries = functional.normalize(vectors.float(), dim=1) if cosine else vectors.float() / vote.temperature
        votes = vote.label_weights(self.datastore.names).to(queries.device).log()
        log_weights = torch.zeros_like(self.datastore.log_weights) if cosine else self.datastore.log_weights
        votes = torch.zeros_like(votes) if cosine else votes
        all_rows = self._rows(label)
        for rows in all_rows.split(PART):
            keys = self.datastore.rows(rows).float()
            keys = (functional.normalize(keys, dim=1) if cosine else keys).T
            groups = self.duplicate_group[self.datastore.sentence[rows]]
            removed = self.datastore.labels[rows] < 0
            offsets = log_weights[rows] + votes[self.datastore.labels[rows]]
            for first in range(0, len(queries), PIECE):
                piece = slice(first, first + PIECE)
                scores = torch.addmm(offsets, queries[piece], keys)
                if self.datastore.metric is not None and not cosine:
                    by_label = self.datastore.metric.label_scores(queries[piece], self.datastore.names)
                    scores += by_label[:, self.datastore.labels[rows]]
                yield rows, piece, scores.masked_fill_((groups == group[piece, None]) | removed, -torch.inf)
            if progress is not None:
                progress(len(rows), len(all_rows))

    def _rows(self, label: int | None) -> Tensor:
        """The rows of the spans that have a label, or of all spans [N]."""
        datastore = self.datastore
        if label is None:
            return torch.arange(len(datastore), device=datastore.labels.device)
        has_label = datastore.labels == label
        if label:
            has_label = has_label | (datastore.further == label).any(0)
        return has_label.nonzero().flatten()
