"""Sentences as tensors: prepared once for a corpus, gathered into batches on the device.

Shapes: B sentences in a batch, T words in its longest sentence, M sentences and R words in the whole corpus.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

CPU_WORDS, GPU_WORDS = 2048, 8192  # padded words in a batch that is only read
PIECES = 4  # padded pieces that it may have for each of them: words of many pieces are rare

Features = dict[str, Any]  # tensors, which follow the device, and whatever else a word feature keeps of a corpus


@dataclass(frozen=True)
class SpanTable:
    """Spans of a corpus's sentences, where not all spans are candidates: those of sentence m begin at `starts[m]`.

    They are sorted within a sentence, and each is there once.

    >>> table = SpanTable.of([[(1, 2), (0, 2)], [], [(0, 1)]])
    >>> table.first.tolist(), table.counts.tolist(), table.starts.tolist()
    ([0, 1, 0], [2, 0, 1], [0, 2, 2])
    """

    first: Tensor  # [N] first word
    stop: Tensor  # [N] the word after the last
    counts: Tensor  # [M] spans of each sentence, on the CPU like all that shapes depend on
    starts: Tensor  # [M]

    @classmethod
    def of(cls, spans: Sequence[Iterable[tuple[int, int]]]) -> SpanTable:
        """The spans (first, stop) of each sentence."""
        distinct = [sorted(set(spans_of_sentence)) for spans_of_sentence in spans]
        flat = torch.tensor([span for spans_of_sentence in distinct for span in spans_of_sentence], dtype=torch.long)
        first, stop = flat.view(-1, 2).unbind(1)
        counts = torch.tensor([len(spans_of_sentence) for spans_of_sentence in distinct], dtype=torch.long)
        return cls(first, stop, counts, counts.cumsum(0) - counts)

    def to(self, device: torch.device | str) -> SpanTable:
        """The same spans on a device."""
        return replace(self, first=self.first.to(device), stop=self.stop.to(device))


@dataclass(frozen=True)
class PaddedSize:
    """What sentences take when they are read side by side, padded to the longest."""

    sentences: int = 0
    longest: int = 0  # words
    windows: int = 0
    widest: int = 0  # pieces

    def __add__(self, other: PaddedSize) -> PaddedSize:
        longest, widest = max(self.longest, other.longest), max(self.widest, other.widest)
        return PaddedSize(self.sentences + other.sentences, longest, self.windows + other.windows, widest)

    def exceeds(self, words: int) -> bool:
        """Whether there are more padded words than that, or more padded pieces than go with so many words."""
        return self.sentences * self.longest > words or self.windows * self.widest > PIECES * words


@dataclass(frozen=True)
class EncodedCorpus:
    """A corpus for one encoder: what each word feature keeps of it, usually tensors with a row for each word.

    Rows of one sentence are neighbours: sentence m has the rows from `first[m]` to `first[m] + lengths[m]`.
    """

    lengths: Tensor  # [M] words in each sentence, on the CPU so that shapes are known without a wait
    first: Tensor  # [M] on the device
    features: dict[str, Features]
    passages: list[list[int]]  # sentences that an encoder reads together; a batch holds all of them or none
    given_spans: SpanTable | None = None  # the candidates, where these are given; else all spans are

    def __len__(self) -> int:
        return len(self.lengths)

    @classmethod
    def of(cls, lengths: Sequence[int], features: dict[str, Features]) -> EncodedCorpus:
        """Number the rows of sentences with these lengths."""
        sizes = torch.tensor(lengths, dtype=torch.long)
        passages: dict[int, list[int]] = {}
        pieces = features.get("transformer", {}).get("pieces", ())
        for sentence in range(len(lengths)):
            passages.setdefault(pieces[sentence].passage if pieces else sentence, []).append(sentence)
        return cls(sizes, sizes.cumsum(0) - sizes, features, list(passages.values()))

    def to(self, device: torch.device | str) -> EncodedCorpus:
        """The same corpus on a device; lengths stay on the CPU."""
        features = {
            name: {key: value.to(device) if isinstance(value, Tensor) else value for key, value in content.items()}
            for name, content in self.features.items()
        }
        spans = self.given_spans.to(device) if self.given_spans is not None else None
        return replace(self, first=self.first.to(device), features=features, given_spans=spans)

    @cached_property
    def sizes(self) -> list[tuple[int, int, int]]:
        """Of each passage the words, and of the windows that are read of it the most pieces and the number."""
        lengths, read = self.lengths.tolist(), self.features.get("transformer", {})
        words = [sum(lengths[i] for i in sentences) for sentences in self.passages]
        if "pieces" not in read or "states" in read:  # no pieces, or read already
            return [(count, 0, 0) for count in words]
        passages = (read["passages"][read["pieces"][sentences[0]].passage] for sentences in self.passages)
        sizes = zip(words, passages, strict=True)
        return [(count, passage.longest, len(passage.windows)) for count, passage in sizes]

    def training_batches(self, size: int, generator: torch.Generator | None = None) -> list[Tensor]:
        """Batches of `size` sentences of like length, shuffled when a generator is given.

        Sentences are shuffled first and sorted by words and pieces after (a stable sort), so those of equal size meet
        in another order each time; then the batches are shuffled. Sentences of one passage stay together, and their
        size is that of all of them.

        >>> [batch.tolist() for batch in EncodedCorpus.of([3, 1, 2, 1], {}).training_batches(2)]
        [[1, 3], [2, 0]]
        """
        count = len(self.passages)
        order = torch.arange(count) if generator is None else torch.randperm(count, generator=generator)
        batches: list[list[int]] = []
        for passage in sorted(order.tolist(), key=self.sizes.__getitem__):
            if not batches or len(batches[-1]) + len(self.passages[passage]) > size:
                batches.append([])
            batches[-1].extend(self.passages[passage])
        if generator is not None:
            batches = [batches[i] for i in torch.randperm(len(batches), generator=generator).tolist()]
        return [torch.tensor(batch) for batch in batches]

    def reading_batches(self, device: torch.device, sentences: Collection[int] | None = None) -> Iterator[Tensor]:
        """Batches of like lengths for reading the whole corpus, as large as the device takes.

        Or for reading some of its sentences, and those of the same passages.
        """
        most = CPU_WORDS if device.type == "cpu" else GPU_WORDS
        batch: list[int] = []
        size, lengths = PaddedSize(), self.lengths.tolist()
        chosen = set(range(len(self)) if sentences is None else sentences)
        for number in sorted(range(len(self.passages)), key=self.sizes.__getitem__, reverse=True):
            passage, (_, widest, windows) = self.passages[number], self.sizes[number]
            if chosen.isdisjoint(passage):
                continue
            more = PaddedSize(len(passage), max(lengths[i] for i in passage), windows, widest)
            if batch and (size + more).exceeds(most):
                yield torch.tensor(batch)
                batch, size = [], PaddedSize()
            batch.extend(passage)
            size += more
        if batch:
            yield torch.tensor(batch)

    def batch(self, ids: Tensor) -> Batch:
        """The batch of the sentences `ids` [B], a CPU tensor."""
        lengths = self.lengths[ids]
        device = self.first.device
        numbers = ids.to(device, non_blocking=True)
        sizes = lengths.to(device, non_blocking=True)
        steps = torch.arange(int(lengths.max()), device=device)
        mask = steps < sizes[:, None]  # [B, T]
        rows = (self.first[numbers][:, None] + steps) * mask  # padding points at row 0
        return Batch(self, ids, lengths, rows, mask)


@dataclass(frozen=True)
class Batch:
    """Some sentences of an encoded corpus, padded to the longest."""

    corpus: EncodedCorpus
    ids: Tensor  # [B] on the CPU
    lengths: Tensor  # [B] on the CPU
    rows: Tensor  # [B, T] rows of the corpus's words
    mask: Tensor  # [B, T] true for words

    def __len__(self) -> int:
        return len(self.ids)
