"""What the rest of a memory says of spans: the sentence that a span is from, and every copy of it, keeps silent."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from nearspan.knn.datastore import Datastore
from nearspan.knn.interpolation import heard, votes
from nearspan.knn.search import highest
from nearspan.segment.sentence_windows import LONGEST

PART, PIECE = 32_768, 512  # rows of the memory, and spans that are asked about, whose scores are held at once
SHARPNESS = 20.0  # a neighbour whose cosine is lower by 1 / SHARPNESS has a weight lower by the factor e

TrainingCallback = Callable[[int, int], None]  # is told how many rows of the memory are done, and of how many


def identity(document: str, number: int, text: str, words: int) -> Hashable:
    """What copies of a sentence share: its text or, for a window of a very long one, its place in the document."""
    return (document, number) if words >= LONGEST else text


@dataclass(frozen=True)
class LeaveOneOut:
    """A memory whose sentences say nothing of spans from themselves and from their copies.

    Asked about n spans, it is given their vectors [n, H] and which sentences have to keep silent: `own` [n], as
    `number` gives it.
    """

    memory: Datastore
    labels: Sequence[str]  # the null label first
    kin: Tensor  # [M] copies of a sentence have the same number
    numbers: dict[Hashable, int]

    @classmethod
    def of(cls, memory: Datastore, labels: Sequence[str]) -> LeaveOneOut:
        """Find the copies of each sentence."""
        numbers: dict[Hashable, int] = {}
        kin = [
            numbers.setdefault(identity(one.document, one.number, one.text, len(one.words)), len(numbers))
            for one in memory.sentences
        ]
        return cls(memory, labels, torch.tensor(kin, device=memory.labels.device), numbers)

    def number(self, document: str, number: int, text: str, words: int) -> int:
        """The number of a sentence's copies in `kin`; -1 where the memory has none."""
        return self.numbers.get(identity(document, number, text, words), -1)

    def nearest(self, vectors: Tensor, own: Tensor, count: int) -> Tensor:
        """The other sentences with the highest cosine, for sentence vectors [B, E]: ids [B, count], or fewer."""
        likeness = functional.normalize(vectors.float(), dim=1) @ self.memory.sentence_vectors.T  # [B, M]
        silent = self.kin == own[:, None]
        left = len(self.kin) - int(torch.bincount(self.kin).max())  # so many others has every sentence
        return highest(likeness.masked_fill_(silent, -torch.inf), min(count, left))

    def shares(self, vectors: Tensor, own: Tensor, watch: TrainingCallback | None = None) -> tuple[Tensor, Tensor]:
        """Equation 2 over all other sentences: P(y|s) [n, 1 + Y], and log of the sum of all exp(score) [n]."""
        best = vectors.new_full((len(vectors), 1), -torch.inf)
        sums = vectors.new_zeros(len(vectors), len(self.labels))
        for rows, piece, scores in self._scores(vectors, own, False, watch):
            before = best[piece]
            # not below the least number, so that a part in which all are silent adds nothing rather than NaN
            higher = torch.maximum(before, scores.amax(1, keepdim=True)).clamp_(min=torch.finfo(scores.dtype).min)
            told = scores.sub_(higher).exp_() @ votes(self.memory, rows, len(self.labels))
            sums[piece] = sums[piece] * (before - higher).exp() + told
            best[piece] = higher
        sums[:, 0] += sums.sum(1) == 0  # nobody else is there to speak
        total = sums.sum(1, keepdim=True)
        return sums / total, (best + total.log()).flatten()

    def vote(self, vectors: Tensor, own: Tensor, count: int, watch: TrainingCallback | None = None) -> Tensor:
        """What the `count` other spans of the highest cosine say, the nearer the louder: shares [n, 1 + Y]."""
        likeness, rows = self._nearest_rows(vectors, own, count, None, watch)
        return heard(self.memory, likeness, rows, 1 / SHARPNESS, len(self.labels))

    def speakers(self, vectors: Tensor, own: Tensor, label: int, count: int, *, cosine: bool) -> tuple[Tensor, Tensor]:
        """The `count` other spans with a label that are nearest: scores [n, count], best first, and rows.

        Where there are fewer, the scores of the rest are -inf, or are left out.
        """
        return self._nearest_rows(vectors, own, min(count, len(self.memory)), label, None, cosine=cosine)

    def _nearest_rows(
        self,
        vectors: Tensor,
        own: Tensor,
        count: int,
        label: int | None,
        watch: TrainingCallback | None,
        *,
        cosine: bool = True,
    ) -> tuple[Tensor, Tensor]:
        best = vectors.new_full((len(vectors), count), -torch.inf)
        found = torch.zeros(len(vectors), count, dtype=torch.long, device=vectors.device)
        for rows, piece, scores in self._scores(vectors, own, cosine, watch, label):
            top = highest(scores, min(count, scores.shape[1]))
            both = torch.cat([best[piece], scores.gather(1, top)], dim=1)
            order = both.topk(count, dim=1)
            best[piece] = order.values
            found[piece] = torch.cat([found[piece], rows[top]], dim=1).gather(1, order.indices)
        return best, found

    def _scores(
        self, vectors: Tensor, own: Tensor, cosine: bool, watch: TrainingCallback | None, label: int | None = None
    ) -> Iterator[tuple[Tensor, slice, Tensor]]:
        """Some rows of the memory [r], some of the spans, and their scores [p, r]; -inf where a row is silent.

        Inner products count the sentences' weights in, cosines do not.
        """
        asked = functional.normalize(vectors.float(), dim=1) if cosine else vectors.float()
        every = self._rows(label)
        for rows in every.split(PART):
            own_vectors = self.memory.rows(rows).float()
            there = (functional.normalize(own_vectors, dim=1) if cosine else own_vectors).T
            kin, gone = self.kin[self.memory.sentence[rows]], self.memory.labels[rows] < 0
            extra = self.memory.log_weights[rows] * (not cosine)
            for first in range(0, len(asked), PIECE):
                piece = slice(first, first + PIECE)
                scores = torch.addmm(extra, asked[piece], there)
                yield rows, piece, scores.masked_fill_((kin == own[piece, None]) | gone, -torch.inf)
            if watch is not None:
                watch(len(rows), len(every))

    def _rows(self, label: int | None) -> Tensor:
        """The rows of the spans that have a label, or of all spans [N]."""
        memory = self.memory
        if label is None:
            return torch.arange(len(memory), device=memory.labels.device)
        has = memory.labels == label
        return ((has | (memory.further == label).any(0)) if label else has).nonzero().flatten()
