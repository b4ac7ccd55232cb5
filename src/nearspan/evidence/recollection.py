"""What the words of a span recalled: training occurrences of the same words, as evidence."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from nearspan.encoders import Batch, Encoder
from nearspan.encoders.recall import written
from nearspan.evidence.evidence import NULL, Neighbour, Recollection
from nearspan.memory import Memory, Remembered


def recollections(
    encoder: Encoder, memory: Memory, batch: Batch, words: Sequence[str], first: int, stop: int, count: int
) -> list[Recollection]:
    """For each word from `first` to `stop` of a batch of one sentence the `count` occurrences with most weight."""
    attention = encoder.attention(batch)
    if attention is None or encoder.recall is None:
        return []
    found = []
    for word in range(first, stop):
        share = float(attention.share[word])
        best = attention.weights[word].topk(min(count, attention.weights.shape[1]))
        slots = attention.slots[word][best.indices].tolist()
        pairs = [(slot, weight) for slot, weight in zip(slots, best.values.tolist(), strict=True) if weight > 0]
        known = [_occurrence(memory, encoder.recall.places[slot], slot, weight) for slot, weight in pairs]
        listed = [one for one in known if one is not None and written(one.text) == written(words[word])]
        rest = max(0.0, 1.0 - sum(one.weight for one in listed)) if share else 0.0
        found.append(Recollection(words[word], share, listed, rest))
    return found


def _occurrence(memory: Memory, place: Tensor, slot: int, weight: float) -> Neighbour | None:
    """A training occurrence in its sentence; none where the memory has been filled with other sentences since."""
    number, word = place.tolist()
    if number >= len(memory.sentences) or word >= len(memory.sentences[number].words):
        return None
    sentence = memory.sentences[number]
    return Neighbour(
        _label(sentence, word), weight, sentence.span(word, word + 1), sentence.text, sentence.document, slot
    )


def _label(sentence: Remembered, word: int) -> str:
    """The label of the narrowest entity that a word is in."""
    around = [(stop - first, label) for first, stop, label in sentence.entities if first <= word < stop]
    return min(around)[1] if around else NULL
