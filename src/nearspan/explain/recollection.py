"""What the words of a span recalled: training occurrences of the same words, as evidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from nearspan.encoders import Batch, Encoder
from nearspan.encoders.word_memory import WordMemory
from nearspan.explain.neighbour import NULL, Neighbour
from nearspan.knn import Datastore, MemorySentence


@dataclass(frozen=True, slots=True)
class RecalledWord:
    """A word of a span, and the training occurrences of the word that were blended into its state."""

    text: str
    share: float  # of all the occurrences together in the word's state, 1 - lambda; 0 where training lacks the word
    neighbours: list[Neighbour]  # the word where it occurs, with the label of the entity it is in; weights add up to 1
    unlisted: float  # the weight of the occurrences not listed

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "text": self.text,
            "share": self.share,
            "neighbours": [neighbour.to_dict() for neighbour in self.neighbours],
            "unlisted": self.unlisted,
        }


def recollections(
    encoder: Encoder, memory: Datastore, batch: Batch, words: Sequence[str], first: int, stop: int, count: int
) -> list[RecalledWord]:
    """For each word from `first` to `stop` of a batch of one sentence the `count` occurrences with most weight."""
    attention = encoder.attention(batch)
    if attention is None or encoder.word_memory is None:
        return []
    found = []
    for word in range(first, stop):
        share = float(attention.share[word])
        best = attention.weights[word].topk(min(count, attention.weights.shape[1]))
        slots = attention.slots[word][best.indices].tolist()
        pairs = [(slot, weight) for slot, weight in zip(slots, best.values.tolist(), strict=True) if weight > 0]
        known = [_occurrence(memory, encoder.word_memory, slot, weight) for slot, weight in pairs]
        listed = [one for one in known if one is not None]
        rest = max(0.0, 1.0 - sum(one.weight for one in listed)) if share else 0.0
        found.append(RecalledWord(words[word], share, listed, rest))
    return found


def _occurrence(memory: Datastore, recall: WordMemory, slot: int, weight: float) -> Neighbour | None:
    """A training occurrence in its sentence; none where the memory does not hold that sentence any more.

    Sentences are told by their words: their ids change when an edited memory is saved or built again.
    """
    sentence, word = recall.places[slot].tolist()
    at = memory.known.get(int(recall.digests[sentence]))
    if at is None:
        return None
    one = memory.sentences[at]
    return Neighbour(_label(one, word), weight, one.span(word, word + 1), one.text, one.document, slot, memory.ids[at])


def _label(sentence: MemorySentence, word: int) -> str:
    """The label of the narrowest entity that a word is in."""
    around = [(stop - first, label) for first, stop, label in sentence.entities if first <= word < stop]
    return min(around)[1] if around else NULL
