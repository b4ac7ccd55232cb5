"""Receipts: what an edit brought in or took out, in plain words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from nearspan.knn import MemorySentence
from nearspan.memory.sentences import SentenceView
from nearspan.segment import Coverage

FILES = (
    "Still on disk: memory.jsonl and journal.jsonl keep the text, so that undo can bring it back. "
    "`nearspan memory MODEL build` without a corpus writes both anew without it."
)
TRAINED = (
    "Still in the weights: what training took from these sentences. The encoder and, in a head that has weights, the "
    "labels' scores were fitted to them, and the words of the vocabularies may come from them. No edit of the memory "
    "changes that; only training again without the document does."
)
RECALLED = (
    "Still on disk: model.safetensors keeps what the encoder recalled of these words, and memory.safetensors vectors "
    "of other sentences that this was part of. `nearspan memory MODEL build` without a corpus erases the one and "
    "computes the others anew. The checkpoint of training, where the folder has one, keeps it too: delete it."
)
ADDED = "Not in the weights: these sentences were added after training, which never saw them."


def count_noun(count: int, noun: str) -> str:
    """A number with its noun.

    >>> count_noun(1, "sentence"), count_noun(1200, "sentence")
    ('1 sentence', '1,200 sentences')
    """
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def weights_summary(weights: Sequence[Sequence[float] | None]) -> str:
    """What was found where spans of sentences were to count as often as it takes; None: nothing is enough.

    >>> weights_summary([()]), weights_summary([(36.6, 2)])
    ('counting once is enough', '2 spans count up to 36.6 times, which is enough')
    >>> weights_summary([(3,), None])
    '1 span counts 3 times, which is enough; for 1 sentence no weight is, so it counts once'
    """
    times = [weight for sentence in weights for weight in sentence or ()]
    lost, parts = sum(sentence is None for sentence in weights), []
    if len(times) == 1:
        parts.append(f"1 span counts {times[0]:.3g} times, which is enough")
    elif times:
        parts.append(f"{len(times):,} spans count up to {max(times):.3g} times, which is enough")
    elif lost < len(weights):
        parts.append("counting once is enough")
    if lost:
        so = "it counts" if lost == 1 else "they count"
        parts.append(f"for {count_noun(lost, 'sentence')} no weight is{'' if parts else ' enough'}, so {so} once")
    return "; ".join(parts)


def misread_lines(reasons: Mapping[int, str]) -> list[str]:
    """The sentences, by id, that are not read as they were annotated, and why no weight is enough for that."""
    return [f"sentence {number} is still misread: {reason}" for number, reason in reasons.items()]


def added_lines(sentences: Mapping[int, MemorySentence], coverage: Coverage) -> list[str]:
    """What was added, and which entities the model's spans cannot hold."""
    lines = [str(SentenceView.of(number, sentence)) for number, sentence in sentences.items()]
    unreachable = [f"{count:,} not remembered: {reason}" for reason, count in coverage.unreachable.items() if count]
    return [*lines, *unreachable]


def removed_lines(sentences: Mapping[int, MemorySentence]) -> list[str]:
    """What was removed."""
    return [str(SentenceView.of(number, sentence)) for number, sentence in sentences.items()]


def forgotten_words_lines(slots: int) -> list[str]:
    """What the encoder recalls no more; nothing where it never recalled any of it.

    >>> forgotten_words_lines(1)[0], forgotten_words_lines(0)
    ('1 word is recalled no more', [])
    """
    return [f"{count_noun(slots, 'word')} {'is' if slots == 1 else 'are'} recalled no more", RECALLED] if slots else []


def traces_left(trained: bool) -> list[str]:
    """What is left of a forgotten document outside the memory; `trained` where some of it came with the model."""
    return [FILES, TRAINED if trained else ADDED]
