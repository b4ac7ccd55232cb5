"""Sums over all words of a memory for some spans, as they lie: nothing is copied, so they may be mapped from disk.

Words are read some at a time, and a span is left as soon as those read so far outweigh all entities: what comes later
only adds to the weight of null.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from nearspan.knn.prefix_products import LEAST, SCALES
from nearspan.knn.word_table import WordTable
from nearspan.linear import linear

BLOCK = 32  # words whose spans are summed up together, and looked at again where they weigh most
CELLS = 2**18  # scores at once: what a CPU's caches like
ENOUGH = {
    torch.float32: 0,
    torch.float64: -400,
}  # below 2^ENOUGH what vanishes might count
SAFE = {
    torch.float32: 90,
    torch.float64: 900,
}  # up to 2^SAFE a vanishing step is nothing


@dataclass(frozen=True)
class WordScan:
    """The words of a datastore, to be asked by spans whose vectors are times log2 e."""

    table: WordTable
    inside: Tensor  # [W + L] 0 for the first word of a sentence and beyond the last, else 1
    counted: Tensor | None  # [W] 0 for words of sentences set apart, where there are such
    max_width: int
    longest: float  # of the words' steps

    @classmethod
    def of(cls, table: WordTable, max_width: int) -> WordScan:
        """Of a table, for spans of so many words."""
        words = len(table.steps)
        inside = table.steps.new_ones(words + max_width)
        inside[table.starts] = 0
        inside[words:] = 0
        counted = None
        if bool(table.set_apart.any()):
            lengths = torch.diff(table.starts, append=table.starts.new_tensor([words]))
            counted = torch.repeat_interleave((~table.set_apart).to(inside.dtype), lengths, output_size=words)
        longest = max(
            (float(part.norm(dim=1).max()) for part in table.steps.split(2**16) if len(part)),
            default=0.0,
        )
        return cls(table, inside, counted, max_width, longest)

    def totals(self, vectors: Tensor, least: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """log2 of the weight of all spans of the memory for spans [n, H], in the vectors' precision.

        Those whose total reaches `least` [n] are left there: which are still going on [n]; and of these the sums of
        blocks [m, W / BLOCK], in units that make the total 1. A total may be NaN: it was out of range.
        """
        dtype, count = vectors.dtype, len(vectors)
        totals = torch.full((count,), -torch.inf, dtype=torch.double)
        going, parts = torch.arange(count), list[Tensor]()
        words, first = len(self.table.steps), 0
        while first < words and len(going):
            size = max(BLOCK, CELLS // len(going) // BLOCK * BLOCK)
            sums = self._block_sums(vectors[going], first, min(first + size, words))  # [m, blocks]
            part = sums.double().sum(1).log2() + SCALES[dtype]
            totals[going] = torch.logaddexp2(totals[going], part.where(part < torch.inf, torch.nan))
            kept = ~(totals[going] >= least[going]) & ~totals[going].isnan()
            parts.append(sums)
            if not bool(kept.all()):
                going, parts = going[kept], [part[kept] for part in parts]
            first += size
        totals[going[totals[going] < ENOUGH[dtype]]] = torch.nan
        kept = ~totals[going].isnan()
        going, parts = going[kept], [part[kept] for part in parts]
        blocks = torch.cat(parts, 1) if parts else vectors.new_zeros(len(going), 0)
        goes_on = torch.zeros(count, dtype=torch.bool).index_fill_(0, going, True)
        units = (SCALES[dtype] - totals[going]).exp2().to(dtype)
        return totals, goes_on, blocks * units[:, None]

    def refined(self, vectors: Tensor, blocks: Tensor, most: int) -> tuple[Tensor, Tensor]:
        """Of spans [n, H] the weights of their heaviest blocks [n, k], in log2 and double precision; and which."""
        size = BLOCK + self.max_width - 1
        count = max(0, (len(self.table.steps) - size) // BLOCK + 1)  # of blocks that are followed by enough words
        best = blocks[:, :count].topk(min(most, count), dim=1).indices

        def gather(words: Tensor) -> Tensor:
            """What the words of these blocks have [n, k, w, ...]."""
            row = words[:1].numel()
            windows = words.as_strided((count, size * row), (BLOCK * row, 1))
            return windows.index_select(0, best.flatten()).double().view(*best.shape, size, *words.shape[1:])

        def ask(words: Tensor) -> Tensor:
            return (gather(words).flatten(1, 2) @ vectors[..., None]).view(-1, size)

        begins = None if self.table.alike else ask(self.table.begins)
        inside = gather(self.inside).view(-1, size)
        weights = _start_weights(ask(self.table.steps), begins, inside, self.max_width)[:, :BLOCK]
        if self.counted is not None:
            weights = weights * gather(self.counted).view(-1, size)[:, :BLOCK]
        return (weights.sum(1).log2() + SCALES[torch.float64]).view(best.shape), best

    def _block_sums(self, vectors: Tensor, first: int, stop: int) -> Tensor:
        """The weights [n, blocks] of the spans that begin among some words, times 2^-scale; NaN out of range."""
        end = min(stop + self.max_width - 1, len(self.table.steps))
        more = stop + self.max_width - 1 - end  # beyond the memory's last word
        scores = functional.pad(linear(vectors, self.table.steps[first:end].to(vectors.dtype)), (0, more))
        begins = None
        if not self.table.alike:
            begins = functional.pad(
                linear(vectors, self.table.begins[first:end].to(vectors.dtype)),
                (0, more),
            )
        lowest: Tensor | None = None
        if float(vectors.norm(dim=1).max()) * self.longest >= -LEAST[vectors.dtype] or begins is not None:
            lowest = scores.amin(1) if begins is None else scores.amin(1).clamp(max=0) + begins.amin(1)
        inside = self.inside[first : end + more].to(vectors.dtype)
        weights = _start_weights(scores, begins, inside, self.max_width)[:, : stop - first]
        if self.counted is not None:
            weights *= self.counted[first:stop].to(weights.dtype)
        weights = functional.pad(weights, (0, (first - stop) % BLOCK)) if (stop - first) % BLOCK else weights
        sums: Tensor = weights.unflatten(1, (-1, BLOCK)).sum(2)
        if lowest is not None:  # a factor that vanishes takes the spans over it with it
            safe = SAFE[vectors.dtype] if begins is None else -torch.inf
            lost = (lowest < LEAST[vectors.dtype]) & ~(sums.sum(1).log2() + SCALES[vectors.dtype] < safe)
            sums[lost] = torch.nan
        return sums


def _start_weights(scores: Tensor, begins: Tensor | None, inside: Tensor, max_width: int) -> Tensor:
    """The weights [n, w] of all spans that begin at a word together, times 2^-scale; scores are lost.

    Of the last `max_width - 1` words they have no meaning.
    """
    unit = 2.0 ** -SCALES[scores.dtype]
    factors = scores.exp2_()
    after = (factors * inside).view(-1)[1:]  # 0 where a sentence begins
    start = factors.new_full((), unit)
    inner, other = (factors.new_full((factors.numel(),), unit) for _ in range(2))
    torch.add(start, after, alpha=unit if max_width > 1 else 0, out=inner[:-1])
    for _ in range(max_width - 2):  # inner[a] = 1 + q[a + 1] * inner[a + 1]
        torch.addcmul(start, after, inner[1:], out=other[:-1])
        inner, other = other, inner
    if begins is not None:
        factors *= begins.exp2_()
    return factors.mul_(inner.view_as(factors))
