"""A memory put together from sentences of others, without computing their vectors again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import torch
from torch import Tensor
from torch.nn import functional

from nearspan.knn.datastore import Datastore, log_weights, searchable, span_labels
from nearspan.knn.memory_sentence import MemorySentence
from nearspan.knn.word_table import WordTable, spread
from nearspan.spans import WordSums


def assemble_datastore(
    sources: Sequence[Datastore], sentences: Mapping[int, MemorySentence], labels: Sequence[str]
) -> Datastore:
    """The memory of some sentences by id, each of which is in one of the sources, perhaps with other labels there."""
    ids = sorted(sentences)
    if ids == [number for source in sources for number in source.ids] and _alike(sources):
        return relabelled(joined(sources) if len(sources) > 1 else sources[0], sentences, labels)
    place = {number: position for position, number in enumerate(n for source in sources for n in source.ids)}
    chosen = torch.tensor([place[number] for number in ids], dtype=torch.long)
    units = [_units(source) for source in sources]
    counts = torch.cat([own for _, own in units])  # [M] of all sources
    means = torch.cat([source.sentence_vectors for source in sources])
    [rows] = spread((counts.cumsum(0) - counts)[chosen][None], counts[chosen][None])
    chosen, rows = chosen.to(means.device), rows.to(means.device)
    vectors = _joined([own for own, _ in units], rows)
    kept = [sentences[number] for number in ids]
    return Datastore.of(kept, labels, sources[0].max_width, vectors, means.index_select(0, chosen), ids)


def joined(sources: Sequence[Datastore]) -> Datastore:
    """Several memories as one, in their order: nothing is laid out anew."""
    sizes, spans = [len(source.sentences) for source in sources], [len(source) for source in sources]

    def together(name: str, offsets: Sequence[int] | None = None) -> Tensor:
        parts = [getattr(source, name) for source in sources]
        if offsets is not None:
            parts = [part + sum(offsets[:place]) for place, part in enumerate(parts)]
        return torch.cat(parts)

    most = max(len(source.further) for source in sources)
    further = [functional.pad(source.further, (0, 0, 0, most - len(source.further))) for source in sources]
    tables = [source.vectors for source in sources if isinstance(source.vectors, WordTable)]
    return Datastore(
        [one for source in sources for one in source.sentences],
        [number for source in sources for number in source.ids],
        sources[0].max_width,
        WordTable.joined(tables) if tables else together("vectors"),
        together("labels"),
        torch.cat(further, dim=1),
        searchable(together("sentence_vectors")),
        together("sentence", sizes),
        together("first"),
        together("stop"),
        together("starts", spans),
        together("counts"),
        together("log_weights"),
    ).settled()


def relabelled(memory: Datastore, sentences: Mapping[int, MemorySentence], labels: Sequence[str]) -> Datastore:
    """The same sentences by id with other labels or weights, or other spans removed; their words are the same."""
    kept = [sentences[number] for number in memory.ids]
    pairs = enumerate(zip(memory.sentences, kept, strict=True))
    changed = [place for place, (old, new) in pairs if old is not new and old != new]
    if not changed:
        return memory
    device = memory.labels.device
    table = span_labels([kept[place] for place in changed], labels, memory.max_width).to(device)
    places = torch.tensor(changed, device=device)
    [rows] = spread(memory.starts[places][None], memory.counts[places][None])
    more = max(0, len(table.further) - len(memory.further))
    own, further = memory.labels.clone(), functional.pad(memory.further, (0, 0, 0, more)).clone()
    own[rows], further[:, rows] = table.labels, 0
    further[: len(table.further), rows] = table.further
    weights = memory.log_weights.clone()
    weights[rows] = log_weights([kept[place] for place in changed], memory.max_width).to(device)
    return replace(memory, sentences=kept, labels=own, further=further, log_weights=weights).settled()


def _alike(sources: Sequence[Datastore]) -> bool:
    """Whether vectors are kept in the same way: by spans, or by words that all begin alike, or that do not."""
    tables = [one.vectors for one in sources if isinstance(one.vectors, WordTable)]
    same = (one.alike == tables[0].alike and torch.equal(one.shared, tables[0].shared) for one in tables)
    return all(same) and len(tables) in (0, len(sources))


def _units(memory: Datastore) -> tuple[Tensor | WordSums, Tensor]:
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
