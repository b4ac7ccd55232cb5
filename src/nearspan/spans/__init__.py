"""Spans: candidates, and the vectors that represent them [S, H]."""

from typing import Annotated

from pydantic import Field

from nearspan.spans.additive_spans import EndSums, WordSums
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
from nearspan.spans.endpoint_mean import EndpointMean, EndpointMeanSettings
from nearspan.spans.endpoint_mlp import EndpointMLP, EndpointMLPSettings
from nearspan.spans.fragments import BatchFragments, GoldFragments
from nearspan.spans.given_spans import Asked, Placed
from nearspan.spans.labelled_sentences import LabelledSentences
from nearspan.spans.lstm_minus import LstmMinus, LstmMinusSettings
from nearspan.spans.pooling import Pooling, PoolingSettings
from nearspan.spans.reachability import Reachability, WordEntity, align_to_candidates
from nearspan.spans.span_bilstm import SpanBiLSTM, SpanBiLSTMSettings
from nearspan.spans.span_transformer import SpanTransformer, SpanTransformerSettings

RepresentationSettings = Annotated[
    LstmMinusSettings
    | PoolingSettings
    | SpanTransformerSettings
    | EndpointMeanSettings
    | EndpointMLPSettings
    | SpanBiLSTMSettings,
    Field(discriminator="kind"),
]
Representation = LstmMinus | Pooling | SpanTransformer | EndpointMean | EndpointMLP | SpanBiLSTM

__all__ = [
    "Asked",
    "BatchFragments",
    "Bottleneck",
    "BottleneckSettings",
    "CandidateSettings",
    "Candidates",
    "EndSums",
    "EndpointMLP",
    "EndpointMLPSettings",
    "EndpointMean",
    "EndpointMeanSettings",
    "Gaussian",
    "GoldFragments",
    "LabelledSentences",
    "LstmMinus",
    "LstmMinusSettings",
    "Placed",
    "Pooling",
    "PoolingSettings",
    "Reachability",
    "Representation",
    "RepresentationSettings",
    "SpanBiLSTM",
    "SpanBiLSTMSettings",
    "SpanLabels",
    "SpanTransformer",
    "SpanTransformerSettings",
    "WordEntity",
    "WordSums",
    "WordTarget",
    "align_to_candidates",
    "candidates_of",
    "enumerate_spans",
    "how_many",
    "number_of",
]
