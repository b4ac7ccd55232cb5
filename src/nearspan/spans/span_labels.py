"""The labels of all candidates of a corpus, as training wants them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from nearspan.segment import Fragments, LabelledSpan
from nearspan.spans.candidates import Candidates, candidate_number, count_candidates


@dataclass(frozen=True)
class SpanLabels:
    """The labels of every candidate of a corpus [N]; those of sentence m begin at `starts[m]`."""

    labels: Tensor  # [N] 0 is null
    starts: Tensor  # [M]
    further: Tensor  # [W, N] the second and later labels of spans that have several, 0 elsewhere

    @classmethod
    def of_all_spans(
        cls, lengths: Tensor, entities: Sequence[Sequence[LabelledSpan[int]]], max_width: int
    ) -> SpanLabels:
        """Label all spans of sentences of these lengths; the labels of a span keep their order."""
        counts = count_candidates(lengths, max_width)
        starts = counts.cumsum(0) - counts
        rows = [
            (rank, m, span.first, span.stop, span.label)
            for m, spans in enumerate(entities)
            for rank, span in _rank_labels(spans)
        ]
        rank, sentence, first, stop, label = torch.tensor(rows, dtype=torch.long).view(-1, 5).unbind(1)
        labels = torch.zeros(int(rank.max()) + 1 if rows else 1, int(counts.sum()), dtype=torch.long)
        number = candidate_number(first, stop, lengths[sentence], max_width)
        narrow = stop - first <= max_width
        labels[rank[narrow], (starts[sentence] + number)[narrow]] = label[narrow]
        return cls(labels[0], starts, labels[1:])

    @classmethod
    def of_given_spans(cls, entities: Sequence[Sequence[LabelledSpan[int]]]) -> SpanLabels:
        """Label the spans of some entities, sentence after sentence, each once and sorted."""
        spans = [sorted({span.fragments for span in of_sentence}) for of_sentence in entities]
        counts = torch.tensor([len(sentence) for sentence in spans], dtype=torch.long)
        starts = counts.cumsum(0) - counts
        row_of = {(m, span): int(starts[m]) + i for m, sentence in enumerate(spans) for i, span in enumerate(sentence)}
        ranked = [(m, *pair) for m, of_sentence in enumerate(entities) for pair in _rank_labels(of_sentence)]
        rows = [(rank, row_of[m, span.fragments], span.label) for m, rank, span in ranked]
        rank, row, label = torch.tensor(rows, dtype=torch.long).view(-1, 3).unbind(1)
        labels = torch.zeros(int(rank.max()) + 1 if rows else 1, len(row_of), dtype=torch.long)
        labels[rank, row] = label
        return cls(labels[0], starts, labels[1:])

    def to(self, device: torch.device | str) -> SpanLabels:
        """The same labels on a device."""
        return SpanLabels(self.labels.to(device), self.starts.to(device), self.further.to(device))

    def targets(self, ids: Tensor, candidates: Candidates) -> Tensor:
        """The labels [S] of a batch's candidates, the first where there are several; `ids` [B] are its sentences."""
        return self.labels[self._rows(ids, candidates)]

    def one_hot_targets(self, ids: Tensor, candidates: Candidates, labels: int) -> Tensor:
        """All labels of a batch's candidates as ones in [S, 1 + Y]; `labels` is 1 + Y, the first column is null."""
        rows = self._rows(ids, candidates)
        return one_hot_labels(self.labels[rows], self.further[:, rows], labels)

    def _rows(self, ids: Tensor, candidates: Candidates) -> Tensor:
        starts = self.starts[ids.to(self.starts.device, non_blocking=True)]
        return starts[candidates.sentence] + candidates.number


def one_hot_labels(labels: Tensor, further: Tensor, count: int) -> Tensor:
    """Labels [...], -1 for spans that were removed, and further ones [W, ...] as ones in [..., count]."""
    one_hot = functional.one_hot(labels.clamp(min=0), count).float()
    for more in further[..., None]:
        one_hot.scatter_add_(-1, more, (more > 0).float())
    return one_hot


def _rank_labels(entities: Sequence[LabelledSpan[int]]) -> Iterator[tuple[int, LabelledSpan[int]]]:
    """A sentence's entities, each with how many before it are on the same span."""
    before: Counter[Fragments] = Counter()
    for entity in entities:
        yield before[entity.fragments], entity
        before[entity.fragments] += 1
