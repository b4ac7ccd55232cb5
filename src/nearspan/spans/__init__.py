"""Spans: candidates, and the vectors that represent them [S, H]."""

from typing import Annotated

from pydantic import Field

from nearspan.spans.asked import Asked, Placed
from nearspan.spans.attended import Attended, AttendedSettings
from nearspan.spans.bottleneck import Bottleneck, BottleneckSettings, Gaussian
from nearspan.spans.candidates import (
    Candidates,
    CandidateSettings,
    SpanLabels,
    WordTarget,
    candidates_of,
    enumerate_spans,
    how_many,
    number_of,
)
from nearspan.spans.deep import Deep, DeepSettings
from nearspan.spans.endpoints import Endpoints, EndpointsSettings
from nearspan.spans.ends import Ends, EndsSettings
from nearspan.spans.fragments import BatchFragments, GoldFragments
from nearspan.spans.labelled import LabelledSentences
from nearspan.spans.minus import Minus, MinusSettings
from nearspan.spans.pooling import Pooling, PoolingSettings
from nearspan.spans.reach import Reached, WordEntity, reach
from nearspan.spans.sums import EndSums, WordSums

RepresentationSettings = Annotated[
    MinusSettings | PoolingSettings | DeepSettings | EndpointsSettings | EndsSettings | AttendedSettings,
    Field(discriminator="kind"),
]
Representation = Minus | Pooling | Deep | Endpoints | Ends | Attended

__all__ = [
    "Asked",
    "Attended",
    "AttendedSettings",
    "BatchFragments",
    "Bottleneck",
    "BottleneckSettings",
    "CandidateSettings",
    "Candidates",
    "Deep",
    "DeepSettings",
    "EndSums",
    "Endpoints",
    "EndpointsSettings",
    "Ends",
    "EndsSettings",
    "Gaussian",
    "GoldFragments",
    "LabelledSentences",
    "Minus",
    "MinusSettings",
    "Placed",
    "Pooling",
    "PoolingSettings",
    "Reached",
    "Representation",
    "RepresentationSettings",
    "SpanLabels",
    "WordEntity",
    "WordSums",
    "WordTarget",
    "candidates_of",
    "enumerate_spans",
    "how_many",
    "number_of",
    "reach",
]
