"""What an edit would change: held-out sentences read before and after it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from nearspan.document import Document, count_of
from nearspan.encoders import Batch
from nearspan.heads import Query
from nearspan.knn import Datastore, LeaveOneOut, MemorySentence
from nearspan.memory.edits import Edit
from nearspan.memory.sentences import as_document
from nearspan.model import Model
from nearspan.model.decode import decode
from nearspan.model.network import Network
from nearspan.model.predict import of_whole_words
from nearspan.segment import contiguous

MOST = 60  # sentences of the memory that are read twice: a third nearest to edited ones, others with the same words
FEWER = 20  # the same where each is compared with the whole memory
Read = set[tuple[int, int, str]]  # first, stop, label


@dataclass(frozen=True, slots=True)
class Change:
    """A span of a held-out sentence that is read otherwise after an edit; "" is no entity."""

    sentence: str
    text: str
    before: str
    after: str
    gold: str

    @property
    def effect(self) -> str:
        """`mended`, `broken`, or `other` where it was and stays wrong."""
        return "mended" if self.after == self.gold else "broken" if self.before == self.gold else "other"

    def __str__(self) -> str:
        names = (label or "no entity" for label in (self.before, self.after))
        return f"{self.effect}: {self.text!r} from {' to '.join(names)} in {self.sentence!r}"

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        names = ("text", "before", "after", "gold")
        labels = {name: getattr(self, name) or None for name in names}
        return {"effect": self.effect, "sentence": self.sentence, **labels}


@dataclass(frozen=True)
class Preview:
    """An edit that was not made, and what it would change in held-out sentences."""

    edit: Edit
    sentences: int  # that were held out
    changes: tuple[Change, ...]

    def count(self, effect: str) -> int:
        """How many spans are mended, broken or other."""
        return sum(change.effect == effect for change in self.changes)

    @property
    def harms(self) -> bool:
        """Whether it breaks more than it mends."""
        return self.count("broken") > self.count("mended")

    def __str__(self) -> str:
        held_out = count_of(self.sentences, "held-out sentence", "held-out sentences")
        counts = f"{self.count('mended')} mended, {self.count('broken')} broken, {self.count('other')} otherwise wrong"
        return f"in {held_out}: {counts}" + ". It breaks more than it mends" * self.harms

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "edit": self.edit.to_dict(),
            "held_out": self.sentences,
            "mended": self.count("mended"),
            "broken": self.count("broken"),
            "other": self.count("other"),
            "harms": self.harms,
            "changes": [change.to_dict() for change in self.changes],
        }


def compare_documents(
    model: Model, before: Datastore, after: Datastore, documents: Sequence[Document]
) -> tuple[int, tuple[Change, ...]]:
    """How many documents' sentences there are, and what is read otherwise with another datastore."""
    changes: list[Change] = []
    readings = []
    for datastore in (before, after):
        model.datastore = datastore
        readings.append(list(model.pipe([document.with_entities(()) for document in documents], threshold=0)))
    model.datastore = before
    for document, was, now in zip(documents, *readings, strict=True):
        found = [{(e.span, e.label) for e in each.entities} for each in (document, was, now)]
        for span in sorted({span for span, _ in found[1] ^ found[2]}):
            gold, old, new = (", ".join(sorted(label for at, label in some if at == span)) for some in found)
            sentence = next((s for s in model.split(document) if s.start <= span.start < s.end), None)
            where = sentence.text if sentence is not None else ""
            changes.append(Change(where, span.text(document.text), old, new, gold))
    return sum(len(model.split(document)) for document in documents), tuple(changes)


def compare_memory(model: Model, before: Datastore, after: Datastore) -> tuple[int, tuple[Change, ...]]:
    """The same for sentences of the memory that are like those that differ, each with itself left out."""
    old, new = (dict(zip(store.ids, store.sentences, strict=True)) for store in (before, after))
    edited = sorted(number for number in old.keys() | new.keys() if old.get(number) != new.get(number))
    most = MOST if _searches_sentences(model) else FEWER
    ids = _like(before, after, [number for number in edited if number in new], [n for n in edited if n in old], most)
    readings = [_read(model, store, ids) for store in (before, after)]
    changes = []
    for number, was, now in zip(ids, *readings, strict=True):
        sentence = old[number]
        gold = {(span.first, span.stop, span.label) for span in contiguous(sentence.entities)}
        for first, stop in sorted({each[:2] for each in was ^ now} - set(sentence.removed)):
            labels = [", ".join(sorted(y for a, b, y in some if (a, b) == (first, stop))) for some in (was, now, gold)]
            changes.append(Change(sentence.text, sentence.span(first, stop).text(sentence.text), *labels))
    return len(ids), tuple(changes)


def _like(before: Datastore, after: Datastore, edited: Sequence[int], gone: Sequence[int], most: int) -> list[int]:
    """Ids of sentences, the same before and after, that are nearest to edited ones or hold the same corrected words."""
    chosen: dict[int, None] = {}
    for store, numbers in ((after, edited), (before, gone)):
        place = {number: at for at, number in enumerate(store.ids)}
        changed = [store.sentences[place[number]] for number in numbers]
        texts = {s.span(a, b).text(s.text).casefold() for s in changed for a, b, *_ in s.carried}
        vectors = store.sentence_vectors[[place[number] for number in numbers]]
        cosines = (vectors @ store.sentence_vectors.T).amax(0) if numbers else torch.zeros(0)
        near = cosines.topk(min(most // 3 + len(numbers), len(cosines))).indices.tolist()
        holding = [at for at in cosines.argsort(descending=True).tolist() if _holds(store.sentences[at], texts)]
        chosen |= dict.fromkeys(store.ids[at] for at in [*near, *holding[:most]])
    barred = {*edited, *gone}
    known = set(before.ids) & set(after.ids)
    return [number for number in chosen if number in known and number not in barred][:most]


def _searches_sentences(model: Model) -> bool:
    """Whether a sentence is compared with the sentences that are nearest to it, not with the whole memory."""
    return model.network.head.uses_datastore and model.network.head.search == "nearest"


def _holds(sentence: MemorySentence, texts: Iterable[str]) -> bool:
    folded = sentence.text.casefold()
    return any(text in folded for text in texts)


def _without(datastore: Datastore, hidden: Tensor, network: Network, batch: Batch) -> Query:
    """A batch as a head sees it with a datastore whose sentences [M] are hidden in part."""
    if network.head.uses_datastore:
        return Query(network, batch, datastore, (~hidden).nonzero().flatten()[None])
    labels = datastore.labels.masked_fill(hidden[datastore.sentence], -1)
    return Query(network, batch, replace(datastore, labels=labels))


@torch.inference_mode()
def _read(model: Model, datastore: Datastore, ids: Sequence[int]) -> list[Read]:
    """The entities of some sentences of a datastore, each read with itself and its copies left out."""
    if not ids:
        return []
    network, others = model.network.eval(), LeaveOneOut.of(datastore)
    place = {number: at for at, number in enumerate(datastore.ids)}
    places = torch.tensor([place[number] for number in ids])
    remembered = [datastore.sentences[at] for at in places.tolist()]
    unit = model.recipe.suggester.unit
    whole = [model.split(as_document([sentence], unit))[0] for sentence in remembered]
    groups = others.duplicate_group[places]
    corpus = network.encode(whole)
    if _searches_sentences(model):
        vectors = datastore.sentence_vectors[places]
        count = datastore.vote.neighbours or network.head.settings.neighbours
        near = others.nearest_sentences(vectors, groups, count)
        queries = (Query(network, batch, datastore, near[batch.ids]) for batch in corpus.reading_batches())
    else:  # one by one: together they would leave out what speaks for each other
        batches = (corpus.batch(torch.tensor([number])) for number in range(len(ids)))
        queries = (
            _without(datastore, others.duplicate_group == groups[batch.ids], network, batch) for batch in batches
        )
    read: list[Read] = [set() for _ in ids]
    for query in queries:
        batch = query.batch
        by_sentence = network.predict(query, link=model.linked_overlap != "any")
        for number, spans in zip(batch.ids.tolist(), by_sentence, strict=True):
            words = whole[number]
            of_words = spans if words.wholes is None else of_whole_words(words, spans)
            decoded = contiguous(decode(of_words, model.overlap, model.linked_overlap))
            read[number] = {(span.first, span.stop, datastore.names[span.label]) for span in decoded}
    return read
