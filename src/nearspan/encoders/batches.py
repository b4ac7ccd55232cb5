"""Sentences as tensors: prepared once for a corpus, gathered into batches on the device.

Shapes: B sentences in a batch, T words in its longest sentence, M sentences and R words in the whole corpus.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from nearspan.encoders.word_keys import word_keys
from nearspan.segment import LabelledSpan, Sentence, contiguous

CPU_WORDS, GPU_WORDS = 2048, 8192  # padded words in a batch that is only read
PIECES = 4  # padded pieces that it may have for each of them: words of many pieces are rare

Features = dict[str, Any]  # tensors, which follow the device, and whatever else a word feature keeps of a corpus


@dataclass(frozen=True)
class SpanTable:
    """Spans of a corpus's sentences, where not all spans are candidates: those of sentence m begin at `starts[m]`.

    They are sorted within a sentence, and each is there once.

    >>> entities = [[LabelledSpan.of(1, 2, "A"), LabelledSpan.of(0, 2, "B")], [], [LabelledSpan.of(0, 1, "A")]]
    >>> table = SpanTable.of(entities)
    >>> table.first.tolist(), table.counts.tolist(), table.starts.tolist()
    ([0, 1, 0], [2, 0, 1], [0, 2, 2])
    """

    first: Tensor  # [N] first word
    stop: Tensor  # [N] the word after the last
    counts: Tensor  # [M] spans of each sentence, on the CPU like all that shapes depend on
    starts: Tensor  # [M]

    @classmethod
    def of(cls, entities: Sequence[Sequence[LabelledSpan[str]]]) -> SpanTable:
        """The spans of the contiguous entities of each sentence."""
        distinct = [sorted({span.fragments[0] for span in contiguous(of_sentence)}) for of_sentence in entities]
        flat = torch.tensor([span for spans_of_sentence in distinct for span in spans_of_sentence], dtype=torch.long)
        first, stop = flat.view(-1, 2).unbind(1)
        counts = torch.tensor([len(spans_of_sentence) for spans_of_sentence in distinct], dtype=torch.long)
        return cls(first, stop, counts, counts.cumsum(0) - counts)

    def to(self, device: torch.device | str) -> SpanTable:
        """The same spans on a device."""
        return replace(self, first=self.first.to(device), stop=self.stop.to(device))

    def select(self, ids: Tensor) -> SpanTable:
        """Those of some sentences [B]; what shapes depend on is known without a wait."""
        counts = self.counts[ids]
        starts = counts.cumsum(0) - counts
        shifts = torch.stack([counts, self.starts[ids] - starts]).to(self.first.device, non_blocking=True)
        total = int(counts.sum())
        rows = torch.arange(total, device=self.first.device) + shifts[1].repeat_interleave(shifts[0], output_size=total)
        return SpanTable(self.first[rows], self.stop[rows], counts, starts)


@dataclass(frozen=True)
class EncodedCorpus:
    """A corpus for one encoder: what each word feature keeps of it, usually tensors with a row for each word.

    Rows of one sentence are neighbours: sentence m has the rows from `first[m]` to `first[m] + lengths[m]`.
    """

    lengths: Tensor  # [M] words in each sentence, on the CPU so that shapes are known without a wait
    first: Tensor  # [M] on the device
    features: dict[str, Features]
    passages: list[list[int]]  # sentences that an encoder reads together; a batch holds all of them or none
    sizes: list[tuple[int, int, int]]  # of each passage the words, and of its windows the most pieces and the number
    given_spans: SpanTable | None = None  # the candidates, where these are given; else all spans are
    sentences: Sequence[Sentence] = ()

    def __len__(self) -> int:
        return len(self.lengths)

    @classmethod
    def of(
        cls, lengths: Sequence[int], features: dict[str, Features], sentences: Sequence[Sentence] = ()
    ) -> EncodedCorpus:
        """Number the rows of sentences with these lengths."""
        words = torch.tensor(lengths, dtype=torch.long)
        passages: dict[int, list[int]] = {}
        read = features.get("transformer", {})
        pieces = read.get("pieces", ())
        for sentence in range(len(lengths)):
            passages.setdefault(pieces[sentence].passage if pieces else sentence, []).append(sentence)
        sizes = [(sum(lengths[sentence] for sentence in passage), 0, 0) for passage in passages.values()]
        if pieces and "states" not in read:  # else they are read already
            whole = (read["passages"][number] for number in passages)
            sizes = [
                (count, passage.longest, len(passage.windows))
                for (count, *_), passage in zip(sizes, whole, strict=True)
            ]
        return cls(words, words.cumsum(0) - words, features, list(passages.values()), sizes, sentences=sentences)

    @cached_property
    def word_keys(self) -> Tensor:
        """The keys [R] of the words' texts in any case, on the CPU: equal where these are."""
        return word_keys(sentence.tokens for sentence in self.sentences)

    def to(self, device: torch.device | str) -> EncodedCorpus:
        """The same corpus on a device; lengths stay on the CPU."""
        features = {
            name: {key: value.to(device) if isinstance(value, Tensor) else value for key, value in content.items()}
            for name, content in self.features.items()
        }
        spans = self.given_spans.to(device) if self.given_spans is not None else None
        return replace(self, first=self.first.to(device), features=features, given_spans=spans)

    def training_batches(
        self, size: int, generator: torch.Generator | None = None, chosen: Collection[int] | None = None
    ) -> list[Tensor]:
        """Batches of `size` sentences of like length, shuffled when a generator is given; of all, or of `chosen` ones.

        Sentences are shuffled first and sorted by words and pieces after (a stable sort), so those of equal size meet
        in another order each time; then the batches are shuffled. Sentences of one passage stay together, and their
        size is that of all of them.

        >>> [batch.tolist() for batch in EncodedCorpus.of([3, 1, 2, 1], {}).training_batches(2)]
        [[1, 3], [2, 0]]
        """
        count = len(self.passages)
        order = torch.arange(count) if generator is None else torch.randperm(count, generator=generator)
        batches: list[list[int]] = []
        numbers = order.tolist()
        if chosen is not None:
            numbers = [number for number in numbers if any(each in chosen for each in self.passages[number])]
        for passage in sorted(numbers, key=self.sizes.__getitem__):
            if not batches or len(batches[-1]) + len(self.passages[passage]) > size:
                batches.append([])
            batches[-1].extend(self.passages[passage])
        if generator is not None:
            batches = [batches[i] for i in torch.randperm(len(batches), generator=generator).tolist()]
        return [torch.tensor(batch) for batch in batches]

    def reading_batches(self) -> Iterator[Batch]:
        """Batches of like lengths for reading the whole corpus, as large as its device takes."""
        most = CPU_WORDS if self.first.device.type == "cpu" else GPU_WORDS
        lengths, ids = self.lengths.tolist(), list[int]()
        longest = windows = widest = 0  # words of a sentence, windows, pieces of a window
        for number in sorted(range(len(self.passages)), key=self.sizes.__getitem__, reverse=True):
            passage, (_, pieces, more) = self.passages[number], self.sizes[number]
            long, wide = max(longest, *(lengths[i] for i in passage)), max(widest, pieces)
            padded_words, padded_pieces = (len(ids) + len(passage)) * long, (windows + more) * wide
            if ids and (padded_words > most or padded_pieces > PIECES * most):
                yield self.batch(torch.tensor(ids))
                ids, windows = [], 0
                long, wide = max(lengths[i] for i in passage), pieces
            ids.extend(passage)
            longest, windows, widest = long, windows + more, wide
        if ids:
            yield self.batch(torch.tensor(ids))

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
