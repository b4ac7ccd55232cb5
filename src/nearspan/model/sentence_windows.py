"""The input of a network: sentences as tensors, very long ones in windows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from nearspan.encoders import EncodedCorpus, Given
from nearspan.model.decode import ScoredSpan
from nearspan.model.network import Network
from nearspan.segment import Sentence
from nearspan.segment.sentence_windows import Window, split_windows
from nearspan.spans import WordEntity


@dataclass(frozen=True)
class SentenceWindows:
    """Sentences, the parts they are read in, and these parts as tensors."""

    sentences: Sequence[Sentence]
    counts: Sequence[int]  # the parts of each sentence
    parts: Sequence[Window]
    prepared: EncodedCorpus

    @classmethod
    def of(cls, network: Network, sentences: Sequence[Sentence]) -> SentenceWindows:
        """Sentences for a network, on its device."""
        own = [split_windows(sentence, network.max_width) for sentence in sentences]
        parts = [part for some in own for part in some]
        return cls(sentences, list(map(len, own)), parts, prepare(network, [part.sentence for part in parts]))

    def guesses(self, by_part: Sequence[Sequence[ScoredSpan]]) -> Iterator[list[ScoredSpan]]:
        """Those of each sentence, from those of its parts: each from the part that owns it, and of whole words only."""
        parts = iter(zip(self.parts, by_part, strict=True))
        for sentence, count in zip(self.sentences, self.counts, strict=True):
            own = [
                guess.shifted(part.start)
                for part, some in islice(parts, count)
                for guess in some
                if part.owns(guess.first)
            ]
            yield _whole(sentence, own)


def prepare(
    network: Network,
    sentences: Sequence[Sentence],
    entities: Sequence[Sequence[WordEntity]] | None = None,
    training: bool = False,
) -> EncodedCorpus:
    """Sentences as tensors on the network's device, as they are; `training`: the very ones it has learned from.

    For typing their entities are the given spans.
    """
    prepared = network.encoder.prepare(sentences, training)
    if network.typing and entities is not None:
        prepared = replace(prepared, given=Given.of([[entity[:2] for entity in own] for own in entities]))
    return prepared.to(network.device)


def _whole(sentence: Sentence, guesses: list[ScoredSpan]) -> list[ScoredSpan]:
    """Those of a sentence's guesses whose fragments begin and end where a word does."""
    if sentence.wholes is None:
        return guesses
    firsts, stops = (set(edges) for edges in zip(*sentence.wholes, strict=True))
    return [guess for guess in guesses if all(first in firsts and stop in stops for first, stop in guess.fragments)]
