"""What the words of a span recalled: training occurrences of the same words, as evidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from nearspan.encoders import Encoder
from nearspan.encoders.word_memory import WordMemory
from nearspan.explain.neighbour import NULL, Neighbour
from nearspan.heads import Query
from nearspan.knn import Datastore


@dataclass(frozen=True, slots=True)
class RecalledWord:
    """A word of a span, and the training occurrences of the word that were blended into its state."""

    text: str
    weight: float  # of all the occurrences together in the word's state, 1 - lambda; 0 where training lacks the word
    neighbours: list[Neighbour]  # the word where it occurs, with the label of the entity it is in; weights add up to 1
    unlisted: float  # the weight of the occurrences not listed

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        neighbours = [neighbour.to_dict() for neighbour in self.neighbours]
        return {"text": self.text, "weight": self.weight, "neighbours": neighbours, "unlisted": self.unlisted}


def recalled_words(
    encoder: Encoder, query: Query, words: Sequence[str], first: int, stop: int, count: int
) -> list[RecalledWord]:
    """For each word from `first` to `stop` of a batch of one sentence the `count` occurrences with most weight."""
    attention = encoder.attention(query.encoded)
    if attention is None or encoder.word_memory is None or query.datastore is None:
        return []
    recalled = []
    for word in range(first, stop):
        weight = float(attention.share[word])
        best = attention.weights[word].topk(min(count, attention.weights.shape[1]))
        slots = zip(attention.slots[word][best.indices].tolist(), best.values.tolist(), strict=True)
        occurrences = (_occurrence(query.datastore, encoder.word_memory, *slot) for slot in slots if slot[1] > 0)
        listed = [occurrence for occurrence in occurrences if occurrence is not None]
        rest = max(0.0, 1.0 - sum(occurrence.weight for occurrence in listed)) if weight else 0.0
        recalled.append(RecalledWord(words[word], weight, listed, rest))
    return recalled


def _occurrence(datastore: Datastore, memory: WordMemory, slot: int, weight: float) -> Neighbour | None:
    """A training occurrence in its sentence; none where the datastore does not hold that sentence any more.

    Sentences are told by their words: their ids change when an edited memory is saved or built again.
    """
    number, word = memory.places[slot].tolist()
    position = datastore.by_digest.get(int(memory.digests[number]))
    if position is None:
        return None
    sentence = datastore.sentences[position]
    around = [(stop - first, label) for first, stop, label in sentence.entities if first <= word < stop]
    label = min(around)[1] if around else NULL  # of the narrowest entity that the word is in
    place = (sentence.span(word, word + 1), sentence.text, sentence.document, slot, datastore.ids[position])
    return Neighbour(label, weight, *place)
