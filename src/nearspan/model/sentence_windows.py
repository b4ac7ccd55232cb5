"""Sentences as a network reads them: as tensors, very long ones in windows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from nearspan.encoders import EncodedCorpus
from nearspan.model.network import Network
from nearspan.segment import Sentence
from nearspan.segment.windows import Window, split_windows
from nearspan.spans import ScoredSpan, WordEntity


@dataclass(frozen=True)
class SentenceWindows:
    """Sentences, the windows they are read in, and these windows as tensors."""

    sentences: Sequence[Sentence]
    counts: Sequence[int]  # the windows of each sentence
    windows: Sequence[Window]
    corpus: EncodedCorpus

    @classmethod
    def of(cls, network: Network, sentences: Sequence[Sentence]) -> SentenceWindows:
        """Sentences for a network, on its device."""
        by_sentence = [split_windows(sentence, network.max_width) for sentence in sentences]
        windows = [window for group in by_sentence for window in group]
        corpus = encode_corpus(network, [window.sentence for window in windows])
        return cls(sentences, list(map(len, by_sentence)), windows, corpus)

    def merge(self, by_window: Sequence[Sequence[ScoredSpan]]) -> Iterator[list[ScoredSpan]]:
        """The spans of each sentence: each from the window that owns it, and of whole words only."""
        windows = iter(zip(self.windows, by_window, strict=True))
        for sentence, count in zip(self.sentences, self.counts, strict=True):
            spans = [
                span.shift(window.start)
                for window, in_window in islice(windows, count)
                for span in in_window
                if window.owns(span.first)
            ]
            yield _of_whole_words(sentence, spans)


def encode_corpus(
    network: Network,
    sentences: Sequence[Sentence],
    entities: Sequence[Sequence[WordEntity]] | None = None,
    training: bool = False,
) -> EncodedCorpus:
    """Sentences as tensors on the network's device; `training`: the very ones it was trained on.

    Their entities are needed where the suggester takes its candidates from them.
    """
    corpus = network.encoder.prepare(sentences, training)
    if entities is not None:
        corpus = network.suggester.with_spans(corpus, entities)
    return corpus.to(network.device)


def _of_whole_words(sentence: Sentence, spans: list[ScoredSpan]) -> list[ScoredSpan]:
    """Those of a sentence's spans whose fragments begin and end where a word does."""
    if sentence.wholes is None:
        return spans
    firsts, stops = (set(edges) for edges in zip(*sentence.wholes, strict=True))
    return [span for span in spans if all(first in firsts and stop in stops for first, stop in span.fragments)]
