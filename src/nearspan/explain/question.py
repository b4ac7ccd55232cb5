"""The question: a span of a document, as a network is asked about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from nearspan.document import Fragment, Span
from nearspan.encoders import Batch
from nearspan.errors import NearspanError
from nearspan.explain.neighbour import NULL
from nearspan.heads import CrfHead
from nearspan.model.network import Network
from nearspan.model.sentence_windows import prepare
from nearspan.segment import Sentence
from nearspan.segment.sentence_windows import Window, split_windows


@dataclass(frozen=True)
class Question:
    """A span to explain: runs of words of a batch of one sentence, and that sentence's words."""

    span: Span
    text: str  # of the span
    batch: Batch
    words: Sequence[str]
    places: tuple[Fragment, ...]  # first word and stop; one, or the fragments of a discontinuous span

    @classmethod
    def of(cls, network: Network, sentences: Sequence[Sentence], span: Span, text: str) -> Question:
        """Ask about a span of a document with these sentences; refused where the network does not consider it."""
        if span.discontinuous and network.fragment_linker is None:
            reason = (
                "tells a label from its fragments one by one: ask about each of them"
                if network.typing
                else "joins no fragments: its training data held no discontinuous entity, or its recipe leaves "
                "`joining` out"
            )
            raise NearspanError(f"{text!r} is discontinuous, and this model {reason}")
        part, places = _located(network, sentences, span, text)
        prepared = prepare(network, [part.sentence], [[(*place, NULL) for place in places]])
        return cls(span, text, prepared.batch(torch.tensor([0])), part.sentence.tokens, tuple(places))

    def rows(self, network: Network) -> list[int]:
        """The candidates that the places are; a place that is none, being too wide, is left out."""
        spans = network.candidates(self.batch)
        found = (((spans.first == first) & (spans.stop == stop)).nonzero().flatten() for first, stop in self.places)
        return [int(row) for rows in found for row in rows]


def _located(
    network: Network, sentences: Sequence[Sentence], span: Span, text: str
) -> tuple[Window, list[tuple[int, int]]]:
    """The part of the document that answers for a span, and the words of its fragments in it."""
    for sentence in sentences:
        if not sentence.start <= span.start < span.end <= sentence.end:
            continue
        for part in split_windows(sentence, network.max_width):
            starts, stops = part.sentence.starts, part.sentence.stops
            edges = [(starts.get(start), stops.get(end)) for start, end in span.fragments]
            places = [(first, stop) for first, stop in edges if first is not None and stop is not None]
            if len(places) < len(edges) or not part.owns(places[0][0]):
                continue
            widest = max(stop - first for first, stop in places)
            if widest > network.max_width and not isinstance(network.head, CrfHead):
                raise NearspanError(
                    f"{text!r} has {widest} {sentence.unit}{' in a row' * span.discontinuous}; "
                    f"this model considers spans of at most {network.max_width} (suggester.max_width)"
                )
            return part, places
    runs = "made of runs" if span.discontinuous else "a run"
    raise NearspanError(f"{text!r} is not {runs} of whole words inside one sentence")
