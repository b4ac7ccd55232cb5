"""A datastore put together from sentences of others, without computing their vectors again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import torch
from torch import Tensor
from torch.nn import functional

from nearspan.knn.datastore import Datastore, label_spans
from nearspan.knn.memory_sentence import MemorySentence
from nearspan.knn.word_table import WordTable, run_rows
from nearspan.spans import AllSpans, WordSums


def assemble_datastore(
    sources: Sequence[Datastore], sentences: Mapping[int, MemorySentence], labels: Sequence[str], suggester: AllSpans
) -> Datastore:
    """The datastore of some sentences by id; each is in one of the sources, perhaps with other labels there."""
    ids = sorted(sentences)
    if ids == [number for source in sources for number in source.ids]:
        datastore = concatenate(sources) if len(sources) > 1 else sources[0]
        return relabel(datastore, sentences, labels, suggester)
    position = {number: place for place, number in enumerate(n for source in sources for n in source.ids)}
    chosen = torch.tensor([position[number] for number in ids], dtype=torch.long)
    storage = [_stored_vectors(source) for source in sources]
    counts = torch.cat([count for _, count in storage])  # [M] of all sources
    sentence_vectors = torch.cat([source.sentence_vectors for source in sources])
    [rows] = run_rows((counts.cumsum(0) - counts)[chosen][None], counts[chosen][None])
    chosen, rows = chosen.to(sentence_vectors.device), rows.to(sentence_vectors.device)
    vectors = _select([vectors for vectors, _ in storage], rows)
    kept = [sentences[number] for number in ids]
    return Datastore.of(kept, labels, suggester, vectors, sentence_vectors.index_select(0, chosen), ids)


def concatenate(sources: Sequence[Datastore]) -> Datastore:
    """Several datastores as one, in their order: nothing is laid out anew."""
    sizes, spans = [len(source.sentences) for source in sources], [len(source.labels) for source in sources]
    most = max(len(source.further) for source in sources)
    further = [functional.pad(source.further, (0, 0, 0, most - len(source.further))) for source in sources]
    tables = [source.vectors for source in sources if isinstance(source.vectors, WordTable)]
    vectors = [source.vectors for source in sources if isinstance(source.vectors, Tensor)]
    return Datastore(
        [sentence for source in sources for sentence in source.sentences],
        [number for source in sources for number in source.ids],
        sources[0].max_width,
        WordTable.concatenate(tables) if tables else torch.cat(vectors),
        torch.cat([source.labels for source in sources]),
        torch.cat(further, dim=1),
        torch.cat([source.sentence_vectors.T for source in sources], dim=1).contiguous().T,
        torch.cat([source.sentence + sum(sizes[:place]) for place, source in enumerate(sources)]),
        torch.cat([source.first for source in sources]),
        torch.cat([source.stop for source in sources]),
        torch.cat([source.starts + sum(spans[:place]) for place, source in enumerate(sources)]),
        torch.cat([source.counts for source in sources]),
        torch.cat([source.log_weights for source in sources]),
        forgotten=sources[0].forgotten,
    )


def relabel(
    datastore: Datastore, sentences: Mapping[int, MemorySentence], labels: Sequence[str], suggester: AllSpans
) -> Datastore:
    """The same sentences by id with other labels or weights, or other spans removed; their words are the same."""
    kept = [sentences[number] for number in datastore.ids]
    pairs = enumerate(zip(datastore.sentences, kept, strict=True))
    changed = [place for place, (old, new) in pairs if old is not new and old != new]
    if not changed:
        return datastore
    device = datastore.labels.device
    changed_sentences = [kept[place] for place in changed]
    lengths = torch.tensor([len(sentence.words) for sentence in changed_sentences])
    spans = suggester.layout(lengths, [[entity[:2] for entity in sentence.entities] for sentence in changed_sentences])
    columns = label_spans(changed_sentences, labels, spans, suggester.has_null)
    new_labels, new_further, new_weights = (column.to(device) for column in columns)
    places = torch.tensor(changed, device=device)
    [rows] = run_rows(datastore.starts[places][None], datastore.counts[places][None])
    more = max(0, len(new_further) - len(datastore.further))
    first_labels, further = datastore.labels.clone(), functional.pad(datastore.further, (0, 0, 0, more)).clone()
    first_labels[rows], further[:, rows] = new_labels, 0
    further[: len(new_further), rows] = new_further
    weights = datastore.log_weights.clone()
    weights[rows] = new_weights
    changed_datastore = replace(datastore, sentences=kept, labels=first_labels, further=further, log_weights=weights)
    return changed_datastore.with_current_entities()


def _stored_vectors(datastore: Datastore) -> tuple[Tensor | WordSums, Tensor]:
    """The vectors that a datastore keeps, of words or of spans, and how many of them each sentence has [M]."""
    if isinstance(datastore.vectors, WordTable):
        return datastore.vectors.words(), torch.tensor([len(sentence.words) for sentence in datastore.sentences])
    return datastore.vectors, datastore.counts.cpu()


def _select(parts: Sequence[Tensor | WordSums], rows: Tensor) -> Tensor | WordSums:
    """Some rows of all parts, one after the other."""
    words = [part for part in parts if isinstance(part, WordSums)]
    if not words:
        return _rows([part for part in parts if isinstance(part, Tensor)], rows)
    alike = all(torch.equal(part.begins, words[0].begins[:1]) for part in words)
    begins = words[0].begins if alike else _rows([part.begins for part in words], rows)
    return WordSums(begins, _rows([part.steps for part in words], rows))


def _rows(parts: Sequence[Tensor], rows: Tensor) -> Tensor:
    table = torch.cat(list(parts)) if len(parts) > 1 else parts[0]
    return table.index_select(0, rows)
