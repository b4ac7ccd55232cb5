"""Spans: candidates, and the vectors that represent them [S, H]."""

from nearspan.spans.candidates import (
    Candidates,
    CandidateSettings,
    SpanLabels,
    WordTarget,
    enumerate_spans,
    how_many,
    number_of,
)
from nearspan.spans.minus import Minus, MinusSettings
from nearspan.spans.reach import Reached, WordEntity, reach

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
    "WordTarget",
    "enumerate_spans",
    "how_many",
    "number_of",
    "reach",
]
