"""Sentences as tensors: prepared once for a corpus, gathered into batches on the device.

Shapes: B sentences in a batch, T words in its longest sentence, R words in the whole corpus.
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

Features = dict[str, Any]  # tensors, which follow the device, and whatever else an embedder keeps


@dataclass(frozen=True)
class Given:
    """Spans that are asked about, where not all spans of a sentence are: those of sentence m follow `starts[m]`.

    They are sorted within a sentence, and each is there once.

    >>> given = Given.of([[(1, 2), (0, 2)], [], [(0, 1)]])
    >>> given.first.tolist(), given.counts.tolist(), given.starts.tolist()
    ([0, 1, 0], [2, 0, 1], [0, 2, 2])
    """

    first: Tensor  # [N] first word
    stop: Tensor  # [N] the word after the last
    counts: Tensor  # [M] spans of each sentence, on the CPU like all that shapes depend on
    starts: Tensor  # [M]

    @classmethod
    def of(cls, spans: Sequence[Iterable[tuple[int, int]]]) -> Given:
        """The spans (first, stop) of some sentences."""
        own = [sorted(set(some)) for some in spans]
        first, stop = torch.tensor([span for some in own for span in some], dtype=torch.long).view(-1, 2).unbind(1)
        counts = torch.tensor([len(some) for some in own], dtype=torch.long)
        return cls(first, stop, counts, counts.cumsum(0) - counts)

    def to(self, device: torch.device | str) -> Given:
        """The same spans on a device."""
        return replace(self, first=self.first.to(device), stop=self.stop.to(device))


@dataclass(frozen=True)
class Load:
    """What sentences take when they are read side by side, padded to the longest."""

    sentences: int = 0
    longest: int = 0  # words
    windows: int = 0
    widest: int = 0  # pieces

    def __add__(self, other: Load) -> Load:
        longest, widest = max(self.longest, other.longest), max(self.widest, other.widest)
        return Load(self.sentences + other.sentences, longest, self.windows + other.windows, widest)

    def exceeds(self, most: int) -> bool:
        """Whether there are more than `most` padded words, or more padded pieces than go with them."""
        return self.sentences * self.longest > most or self.windows * self.widest > PIECES * most


@dataclass(frozen=True)
class EncodedCorpus:
    """A corpus for one encoder: per embedder its tensors, whose rows are words or what it likes.

    Rows of one sentence are neighbours: sentence m owns rows `first[m]` to `first[m] + lengths[m]`.
    """

    lengths: Tensor  # [M] words in each sentence, on the CPU so that shapes are known without a wait
    first: Tensor  # [M] on the device
    features: dict[str, Features]
    together: list[list[int]]  # sentences that an encoder reads in one passage; a batch holds all of them or none
    given: Given | None = None  # the spans that are asked about; none: all there are

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
        moved = {
            name: {key: value.to(device) if isinstance(value, Tensor) else value for key, value in features.items()}
            for name, features in self.features.items()
        }
        given = self.given.to(device) if self.given is not None else None
        return replace(self, first=self.first.to(device), features=moved, given=given)

    @cached_property
    def sizes(self) -> list[tuple[int, int, int]]:
        """What those that are read together take: their words, of the windows that are read the most pieces, and the
        windows."""
        words, read = self.lengths.tolist(), self.features.get("transformer", {})
        sums = [sum(words[i] for i in group) for group in self.together]
        if "pieces" not in read or "states" in read:  # no pieces, or read already
            return [(count, 0, 0) for count in sums]
        own = (read["passages"][read["pieces"][group[0]].passage] for group in self.together)
        return [(count, one.longest, len(one.windows)) for count, one in zip(sums, own, strict=True)]

    def buckets(self, size: int, generator: torch.Generator | None = None) -> list[Tensor]:
        """Batches of sentences of like length: `size` sentences each, shuffled when a generator is given.

        Sentences are shuffled first and sorted by words and pieces after (a stable sort), so those of equal size meet
        in another order each time; then the batches are shuffled. Sentences that are read `together` stay so, and
        their size is that of all of them.

        >>> [batch.tolist() for batch in EncodedCorpus.of([3, 1, 2, 1], {}).buckets(2)]
        [[1, 3], [2, 0]]
        """
        count = len(self.together)
        order = torch.arange(count) if generator is None else torch.randperm(count, generator=generator)
        batches: list[list[int]] = []
        for group in sorted(order.tolist(), key=self.sizes.__getitem__):
            if not batches or len(batches[-1]) + len(self.together[group]) > size:
                batches.append([])
            batches[-1].extend(self.together[group])
        if generator is not None:
            batches = [batches[i] for i in torch.randperm(len(batches), generator=generator).tolist()]
        return [torch.tensor(batch) for batch in batches]

    def order(self, device: torch.device, some: Collection[int] | None = None) -> Iterator[Tensor]:
        """Batches for reading the whole corpus: like lengths together, so many padded words and pieces each at most.

        Or for reading `some` of its sentences, and those that an encoder reads together with them.
        """
        most = CPU_WORDS if device.type == "cpu" else GPU_WORDS
        batch: list[int] = []
        load, lengths = Load(), self.lengths.tolist()
        wanted = set(range(len(self)) if some is None else some)
        for number in sorted(range(len(self.together)), key=self.sizes.__getitem__, reverse=True):
            group, (_, widest, windows) = self.together[number], self.sizes[number]
            if wanted.isdisjoint(group):
                continue
            own = Load(len(group), max(lengths[i] for i in group), windows, widest)
            if batch and (load + own).exceeds(most):
                yield torch.tensor(batch)
                batch, load = [], Load()
            batch.extend(group)
            load += own
        if batch:
            yield torch.tensor(batch)

    def batch(self, ids: Tensor) -> Batch:
        """The batch of the sentences `ids` [B], a CPU tensor."""
        lengths = self.lengths[ids]
        device = self.first.device
        here = ids.to(device, non_blocking=True)
        sizes = lengths.to(device, non_blocking=True)
        steps = torch.arange(int(lengths.max()), device=device)
        mask = steps < sizes[:, None]  # [B, T]
        rows = (self.first[here][:, None] + steps) * mask  # padding points at row 0
        return Batch(self, ids, lengths, rows, mask)


@dataclass(frozen=True)
class Batch:
    """Some sentences of a prepared corpus, padded to the longest."""

    prepared: EncodedCorpus
    ids: Tensor  # [B] on the CPU
    lengths: Tensor  # [B] on the CPU
    rows: Tensor  # [B, T] rows of the corpus's words
    mask: Tensor  # [B, T] true for words

    def __len__(self) -> int:
        return len(self.ids)
