"""Candidate spans: every span of a sentence up to a width, numbered so that both ways are arithmetic.

The candidates of a sentence of n words are numbered by first word and then by width. While n - first >= K
each first word has K of them; the last K - 1 words have a triangle of fewer and fewer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from pydantic import Field
from torch import Tensor
from torch.nn import functional

from nearspan.encoders import Batch
from nearspan.settings import Settings

WordTarget = tuple[int, int, int]  # first word, stop, label; label 0 is null


class CandidateSettings(Settings):
    """Which spans are considered."""

    kind: Literal["all", "given"] = "all"  # all spans, or those that the documents give, to be classified
    unit: Literal["words", "pieces"] = "words"  # of spans: words, or the pieces of a pretrained encoder's tokenizer
    max_width: int = Field(default=6, ge=1, le=10_000)  # L of the paper: the most units in a span


@dataclass(frozen=True)
class Candidates:
    """The S candidate spans of a batch, sentence after sentence: all there are, or those that are given."""

    sentence: Tensor  # [S] position in the batch
    number: Tensor  # [S] among the sentence's candidates
    first: Tensor  # [S] first word
    stop: Tensor  # [S] the word after the last
    counts: Tensor  # [B] candidates of each sentence, on the CPU
    lengths: Tensor  # [B] words of each sentence
    max_width: int  # the most words in a candidate

    def __len__(self) -> int:
        return len(self.first)


def how_many(lengths: Tensor, max_width: int) -> Tensor:
    """Candidates in sentences of these lengths.

    >>> how_many(torch.tensor([1, 3]), max_width=2)
    tensor([1, 5])
    """
    full = (lengths - max_width + 1).clamp(min=0)  # first words that have all widths
    tail = lengths - full
    return full * max_width + tail * (tail + 1) // 2


def number_of(first: Tensor, stop: Tensor, length: Tensor, max_width: int) -> Tensor:
    """The numbers of the candidates (first, stop) among those of their sentences of `length` words.

    >>> number_of(torch.tensor([0, 1, 2]), torch.tensor([2, 2, 3]), torch.tensor([3, 3, 3]), max_width=2)
    tensor([1, 2, 4])
    """
    after = length - first  # words from the first one to the end
    tail = how_many(length, max_width) - after * (after + 1) // 2
    return torch.where(after >= max_width, first * max_width, tail) + stop - first - 1


def enumerate_spans(lengths: Tensor, max_width: int, device: torch.device | str = "cpu") -> Candidates:
    """All spans of at most `max_width` words in sentences of these lengths (a CPU tensor).

    Nothing here waits for the device: how many there are is known from the lengths.

    >>> spans = enumerate_spans(torch.tensor([3]), max_width=2)
    >>> list(zip(spans.first.tolist(), spans.stop.tolist()))
    [(0, 1), (0, 2), (1, 2), (1, 3), (2, 3)]
    """
    counts = how_many(lengths, max_width)
    total = int(counts.sum())
    here = torch.stack([lengths, counts, counts.cumsum(0) - counts]).to(device, non_blocking=True)
    sentence = torch.repeat_interleave(torch.arange(len(lengths), device=device), here[1], output_size=total)
    size, count, before = here[:, sentence]
    number = torch.arange(total, device=device) - before
    # in the tail, counted from the end: t words follow the first one, and t + 1 spans begin at it
    from_end = count - 1 - number
    t = ((8 * from_end + 1).double().sqrt().long() - 1) // 2
    in_tail = number >= (size - max_width + 1).clamp(min=0) * max_width
    first = torch.where(in_tail, size - 1 - t, number // max_width)
    stop = torch.where(in_tail, size - from_end + t * (t + 1) // 2, first + number % max_width + 1)
    return Candidates(sentence, number, first, stop, counts, here[0], max_width)


def candidates_of(batch: Batch, max_width: int) -> Candidates:
    """The candidates of a batch: the spans that are given, or else all of at most `max_width` words."""
    device, given = batch.rows.device, batch.prepared.given
    if given is None:
        return enumerate_spans(batch.lengths, max_width, device)
    counts, starts = given.counts[batch.ids], given.starts[batch.ids]
    total = int(counts.sum())
    here = torch.stack([counts, starts, counts.cumsum(0) - counts]).to(device, non_blocking=True)
    sentence = torch.repeat_interleave(torch.arange(len(batch), device=device), here[0], output_size=total)
    number = torch.arange(total, device=device) - here[2, sentence]
    rows = here[1, sentence] + number
    lengths = batch.lengths.to(device, non_blocking=True)
    return Candidates(sentence, number, given.first[rows], given.stop[rows], counts, lengths, max_width)


@dataclass(frozen=True)
class SpanLabels:
    """The labels of every candidate of a corpus [N]; those of sentence m begin at `starts[m]`."""

    labels: Tensor  # [N] 0 is null
    starts: Tensor  # [M]
    further: Tensor  # [W, N] the second and later labels of spans that have several, 0 elsewhere

    @classmethod
    def of(cls, lengths: Tensor, entities: Sequence[Sequence[WordTarget]], max_width: int) -> SpanLabels:
        """Label the candidates that are entities; the labels of a span keep their order."""
        counts = how_many(lengths, max_width)
        starts = counts.cumsum(0) - counts
        found = [(rank, m, *entity) for m, own in enumerate(entities) for rank, entity in _ranked(own)]
        rank, sentence, first, stop, label = torch.tensor(found, dtype=torch.long).view(-1, 5).unbind(1)
        labels = torch.zeros(int(rank.max()) + 1 if found else 1, int(counts.sum()), dtype=torch.long)
        number = number_of(first, stop, lengths[sentence], max_width)
        reach = stop - first <= max_width
        labels[rank[reach], (starts[sentence] + number)[reach]] = label[reach]
        return cls(labels[0], starts, labels[1:])

    @classmethod
    def given(cls, entities: Sequence[Sequence[WordTarget]]) -> SpanLabels:
        """The labels of the spans of some entities, sentence after sentence, as `Given.of` sorts them."""
        spans = [sorted({entity[:2] for entity in own}) for own in entities]
        counts = torch.tensor([len(own) for own in spans], dtype=torch.long)
        starts = counts.cumsum(0) - counts
        rows = {(m, *span): int(starts[m]) + i for m, own in enumerate(spans) for i, span in enumerate(own)}
        ranked = [(m, rank, entity) for m, own in enumerate(entities) for rank, entity in _ranked(own)]
        found = [(rank, rows[m, first, stop], label) for m, rank, (first, stop, label) in ranked]
        rank, row, label = torch.tensor(found, dtype=torch.long).view(-1, 3).unbind(1)
        labels = torch.zeros(int(rank.max()) + 1 if found else 1, len(rows), dtype=torch.long)
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
        found = functional.one_hot(self.labels[rows], labels).float()
        for more in self.further:
            label = more[rows][:, None]
            found.scatter_add_(1, label, (label > 0).float())
        return found

    def _rows(self, ids: Tensor, candidates: Candidates) -> Tensor:
        starts = self.starts[ids.to(self.starts.device, non_blocking=True)]
        return starts[candidates.sentence] + candidates.number


def _ranked(entities: Sequence[WordTarget]) -> Iterator[tuple[int, WordTarget]]:
    """A sentence's entities, each with how many before it are on the same span."""
    before: Counter[tuple[int, int]] = Counter()
    for entity in entities:
        yield before[entity[:2]], entity
        before[entity[:2]] += 1
