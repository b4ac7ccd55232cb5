"""A memory put together from sentences of others, without computing their vectors again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from nearspan.memory.store import Memory, Remembered
from nearspan.memory.words import WordTable, spread
from nearspan.spans import WordSums


def gathered(sources: Sequence[Memory], sentences: Mapping[int, Remembered], labels: Sequence[str]) -> Memory:
    """The memory of some sentences by id, each of which is in one of the sources, perhaps with other labels there."""
    place = {number: position for position, number in enumerate(n for source in sources for n in source.ids)}
    ids = sorted(sentences)
    chosen = torch.tensor([place[number] for number in ids], dtype=torch.long)
    units = [_units(source) for source in sources]
    counts = torch.cat([own for _, own in units])  # [M] of all sources
    means = torch.cat([source.sentence_vectors for source in sources])
    rows, _ = spread((counts.cumsum(0) - counts)[chosen][None], counts[chosen][None])
    chosen, rows = chosen.to(means.device), rows[0].to(means.device)
    vectors = _joined([own for own, _ in units], rows)
    kept = [sentences[number] for number in ids]
    return Memory.of(kept, labels, sources[0].max_width, vectors, means.index_select(0, chosen), ids)


def _units(memory: Memory) -> tuple[Tensor | WordSums, Tensor]:
    """What a memory keeps vectors of, words or spans, and how many of them each sentence has [M]."""
    if isinstance(memory.vectors, WordTable):
        return memory.vectors.words(), torch.tensor([len(one.words) for one in memory.sentences])
    return memory.vectors, memory.counts.cpu()


def _joined(parts: Sequence[Tensor | WordSums], rows: Tensor) -> Tensor | WordSums:
    """Some rows of all parts, one after the other."""
    words = [part for part in parts if isinstance(part, WordSums)]
    if not words:
        return _rows([part for part in parts if isinstance(part, Tensor)], rows)
    alike = all(torch.equal(part.begins, words[0].begins[:1]) for part in words)
    begins = words[0].begins if alike else _rows([part.begins for part in words], rows)
    return WordSums(begins, _rows([part.steps for part in words], rows))


def _rows(parts: Sequence[Tensor], rows: Tensor) -> Tensor:
    together = torch.cat(list(parts)) if len(parts) > 1 else parts[0]
    return together.index_select(0, rows)
