"""Spans: candidates, and the vectors that represent them [S, H]."""

from nearspan.spans.candidates import (
    Candidates,
    CandidateSettings,
    SpanLabels,
    WordTarget,
    enumerate_spans,
    how_many,
)
from nearspan.spans.minus import Minus, MinusSettings
from nearspan.spans.reach import Reached, WordEntity, reach
from nearspan.spans.sums import WordSums

RepresentationSettings = MinusSettings  # one kind so far; further ones are told apart by `kind`

__all__ = [
    "CandidateSettings",
    "Candidates",
    "Minus",
    "MinusSettings",
    "Reached",
    "RepresentationSettings",
    "SpanLabels",
    "WordEntity",
    "WordSums",
    "WordTarget",
    "enumerate_spans",
    "how_many",
    "reach",
]
