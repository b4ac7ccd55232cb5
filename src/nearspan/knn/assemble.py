"""A datastore put together from sentences of others, without computing their vectors again."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import reduce

import torch
from torch import Tensor
from torch.nn import functional

from nearspan.knn.datastore import Datastore, label_names, label_spans
from nearspan.knn.memory_sentence import MemorySentence
from nearspan.knn.word_index import WordIndex
from nearspan.knn.word_table import WordTable, run_rows
from nearspan.spans import AllSpans, WordSums

JOINED = ("labels", "first", "stop", "counts", "log_weights")  # columns that are one after the other as they are


def assemble_datastore(
    sources: Sequence[Datastore], sentences: Mapping[int, MemorySentence], labels: Sequence[str], suggester: AllSpans
) -> Datastore:
    """The datastore of some sentences by id; each is in one of the sources, perhaps with other labels there."""
    ids = sorted(sentences)
    if ids == [number for source in sources for number in source.ids]:
        return relabel(concatenate(sources) if len(sources) > 1 else sources[0], sentences, suggester)
    position = {number: place for place, number in enumerate(n for source in sources for n in source.ids)}
    chosen = torch.tensor([position[number] for number in ids], dtype=torch.long)
    tables = [source.vectors.words() for source in sources if isinstance(source.vectors, WordTable)]
    sizes = [
        [len(sentence.words) for sentence in source.sentences] if tables else source.counts.tolist()
        for source in sources
    ]
    counts = torch.tensor([count for size in sizes for count in size])  # [M] of all sources: words, or spans
    sentence_vectors = torch.cat([source.sentence_vectors for source in sources])
    [rows] = run_rows((counts.cumsum(0) - counts)[chosen][None], counts[chosen][None])
    chosen, rows = chosen.to(sentence_vectors.device), rows.to(sentence_vectors.device)
    vectors: Tensor | WordSums
    if tables:
        alike = all(torch.equal(table.begins, tables[0].begins[:1]) for table in tables)
        begins = tables[0].begins if alike else torch.cat([table.begins for table in tables])[rows]
        vectors = WordSums(begins, torch.cat([table.steps for table in tables])[rows])
    else:
        vectors = torch.cat([source.vectors for source in sources if isinstance(source.vectors, Tensor)])[rows]
    kept = [sentences[number] for number in ids]
    datastore = Datastore.of(kept, labels, suggester, vectors, sentence_vectors.index_select(0, chosen), ids)
    return replace(datastore, metric=sources[0].metric).with_vote(sources[0].vote)


def concatenate(sources: Sequence[Datastore]) -> Datastore:
    """Several datastores as one, in their order: nothing is laid out anew."""
    own = sources[0].own_labels
    new = {name for source in sources for name in source.names[1 + own :]}
    sources = [source.with_names(("", *sources[0].own_names, *sorted(new))) for source in sources]
    sizes, spans = [len(source.sentences) for source in sources], [len(source.labels) for source in sources]
    most = max(len(source.further) for source in sources)
    further = [functional.pad(source.further, (0, 0, 0, most - len(source.further))) for source in sources]
    tables = [source.vectors for source in sources if isinstance(source.vectors, WordTable)]
    vectors = [source.vectors for source in sources if isinstance(source.vectors, Tensor)]
    joined = {name: torch.cat([getattr(source, name) for source in sources]) for name in JOINED}
    datastore = Datastore(
        sentences=[sentence for source in sources for sentence in source.sentences],
        ids=[number for source in sources for number in source.ids],
        max_width=sources[0].max_width,
        vectors=WordTable.concatenate(tables) if tables else torch.cat(vectors),
        further=torch.cat(further, dim=1),
        sentence_vectors=torch.cat([source.sentence_vectors.T for source in sources], dim=1).contiguous().T,
        sentence=torch.cat([source.sentence + sum(sizes[:place]) for place, source in enumerate(sources)]),
        starts=torch.cat([source.starts + sum(spans[:place]) for place, source in enumerate(sources)]),
        names=sources[0].names,
        own_labels=own,
        forgotten=sources[0].forgotten,
        vote=sources[0].vote,
        metric=sources[0].metric,
        **joined,
    )
    return _with_derived(datastore, sources)


def _with_derived(datastore: Datastore, sources: Sequence[Datastore]) -> Datastore:
    """A datastore of several, with what the first has computed; of the others, which are small, it is computed here."""
    first, *others = sources
    known, values = first.__dict__, datastore.__dict__
    if "word_index" in known:
        values["word_index"] = reduce(WordIndex.and_then, [source.word_index for source in sources])
    for name in ("sentence_marks", "entity_directions"):
        if name in known:
            values[name] = torch.cat([getattr(source, name) for source in sources])
    if "labels_by_text" in known:
        labels = dict(first.labels_by_text)
        for text, names in (pair for source in others for pair in source.labels_by_text.items()):
            labels[text] = labels.get(text, frozenset()) | names
        values["labels_by_text"] = labels
    return datastore


def weigh(datastore: Datastore, sentences: Mapping[int, MemorySentence], suggester: AllSpans) -> Datastore:
    """The same spans, where some sentences by id have other weights and nothing else has changed."""
    place = {number: at for at, number in enumerate(datastore.ids)}
    places = [place[number] for number in sentences]
    kept, log_weights = list(datastore.sentences), datastore.log_weights.clone()
    for at, sentence in zip(places, sentences.values(), strict=True):
        kept[at] = sentence
    weighed = list(sentences.values())
    spans = suggester.candidates(
        torch.tensor([len(sentence.words) for sentence in weighed]), [sentence.entities for sentence in weighed]
    )
    _, _, weights = label_spans(weighed, datastore.names, spans, suggester.has_null)
    [rows] = run_rows(datastore.starts[places][None], datastore.counts[places][None])
    log_weights[rows] = weights.to(log_weights.device)
    return datastore.with_weights(kept, log_weights)


def relabel(datastore: Datastore, sentences: Mapping[int, MemorySentence], suggester: AllSpans) -> Datastore:
    """The same sentences by id with other labels or weights, or other spans removed; their words are the same."""
    kept = [sentences[number] for number in datastore.ids]
    pairs = enumerate(zip(datastore.sentences, kept, strict=True))
    changed = [place for place, (old, new) in pairs if not old.is_like(new)]
    if not changed:
        return datastore
    names = label_names(datastore.own_names, kept)
    datastore = datastore.with_names((*names, *(name for name in datastore.names if name not in names)))
    device = datastore.labels.device
    changed_sentences = [kept[place] for place in changed]
    lengths = torch.tensor([len(sentence.words) for sentence in changed_sentences])
    spans = suggester.candidates(lengths, [sentence.entities for sentence in changed_sentences])
    columns = label_spans(changed_sentences, names, spans, suggester.has_null)
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
    changed_datastore = changed_datastore.with_vectors(datastore.vectors, datastore.sentence_vectors)
    return changed_datastore.keep(datastore).with_names(names)
