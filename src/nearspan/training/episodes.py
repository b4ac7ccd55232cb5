"""Episodes: which sentences an epoch reads, and with which others each of its batches is compared."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from torch import Generator, Tensor, randperm

from nearspan.encoders import EncodedCorpus

LEAST = 32  # rehearsed sentences of an epoch, where there are as many


@dataclass(frozen=True)
class Episodes:
    """Training sentences by the corpus that they are of; batches and neighbours are of one corpus.

    In a warm start some sentences are only rehearsed: an epoch reads all the others, and for each of these so many
    `rehearsal` of them, drawn anew.
    """

    corpora: Sequence[range]  # the sentences of each
    rehearsed: frozenset[int] = frozenset()  # those that the weights know
    rehearsal: float = 0.0
    skipped: frozenset[int] = frozenset()  # those that nothing is to be learned from
    is_warm: bool = False

    def batches(self, corpus: EncodedCorpus, size: int, generator: Generator) -> list[Tensor]:
        """The batches of an epoch, in the order in which they are read; each is of one corpus."""
        if len(self.corpora) == 1 and not self.is_warm:
            return corpus.training_batches(size, generator)
        if self.is_warm:
            read = self._read(generator)
            most = max(1, min(size, len(read) // 2))  # which leaves some to be compared with
            return corpus.training_batches(most, generator, read)
        batches = [batch for numbers in self.corpora for batch in corpus.training_batches(size, generator, numbers)]
        return [batches[place] for place in randperm(len(batches), generator=generator).tolist()]

    def neighbours(self, batch: Sequence[int], count: int, chance: random.Random) -> list[int]:
        """So many other sentences at random of a batch's corpus, half of them new ones where some are rehearsed."""
        own = set(batch)
        numbers = next(numbers for numbers in self.corpora if batch[0] in numbers)
        if not self.is_warm:
            return _draw(numbers, own, count, chance)
        half = max(count // 2, count - len(self._old))
        new = _draw(self._new, own, half, chance)
        return new + _draw(self._old, own, count - len(new), chance)

    @cached_property
    def _new(self) -> list[int]:
        known = self.rehearsed | self.skipped
        return [number for numbers in self.corpora for number in numbers if number not in known]

    @cached_property
    def _old(self) -> list[int]:
        return sorted(self.rehearsed - self.skipped)

    @property
    def drawn(self) -> int:
        """How many of the rehearsed sentences an epoch reads."""
        return min(len(self._old), max(LEAST, round(self.rehearsal * len(self._new)))) if self.rehearsal else 0

    def _read(self, generator: Generator) -> set[int]:
        """The sentences that an epoch of a warm start reads."""
        places = randperm(len(self._old), generator=generator)[: self.drawn].tolist()
        return {*self._new, *(self._old[place] for place in places)}


def _draw(numbers: Sequence[int], own: set[int], count: int, chance: random.Random) -> list[int]:
    """So many of some sentences at random, but not a batch's own."""
    drawn = chance.sample(numbers, min(len(numbers), count + len(own)))
    return [number for number in drawn if number not in own][:count]
