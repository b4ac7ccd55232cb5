"""Spans: candidates, and the vectors that represent them [S, H]."""

from typing import Annotated

from pydantic import Field

from nearspan.spans.additive_spans import EndSums, WordSums
from nearspan.spans.bottleneck import Bottleneck, BottleneckSettings, Gaussian
from nearspan.spans.candidates import Candidates, candidate_number, count_candidates, enumerate_spans
from nearspan.spans.endpoint_mean import EndpointMean, EndpointMeanSettings
from nearspan.spans.endpoint_mlp import EndpointMLP, EndpointMLPSettings
from nearspan.spans.fragments import BatchFragments, GoldFragments
from nearspan.spans.given_spans import GivenEntities
from nearspan.spans.labelled_sentences import LabelledSentences
from nearspan.spans.lstm_minus import LstmMinus, LstmMinusSettings
from nearspan.spans.pooling import Pooling, PoolingSettings
from nearspan.spans.reachability import CandidateRules, Reachability, WordEntity, align_to_candidates
from nearspan.spans.scored_span import Fragments, ScoredSpan, spans_by_sentence
from nearspan.spans.span_bilstm import SpanBiLSTM, SpanBiLSTMSettings
from nearspan.spans.span_labels import SpanLabels, WordTarget
from nearspan.spans.span_transformer import SpanTransformer, SpanTransformerSettings
from nearspan.spans.string_majority import StringMajority
from nearspan.spans.suggesters import AllSpans, GivenSpans, SuggesterSettings

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
    "AllSpans",
    "BatchFragments",
    "Bottleneck",
    "BottleneckSettings",
    "CandidateRules",
    "Candidates",
    "EndSums",
    "EndpointMLP",
    "EndpointMLPSettings",
    "EndpointMean",
    "EndpointMeanSettings",
    "Fragments",
    "Gaussian",
    "GivenEntities",
    "GivenSpans",
    "GoldFragments",
    "LabelledSentences",
    "LstmMinus",
    "LstmMinusSettings",
    "Pooling",
    "PoolingSettings",
    "Reachability",
    "Representation",
    "RepresentationSettings",
    "ScoredSpan",
    "SpanBiLSTM",
    "SpanBiLSTMSettings",
    "SpanLabels",
    "SpanTransformer",
    "SpanTransformerSettings",
    "StringMajority",
    "SuggesterSettings",
    "WordEntity",
    "WordSums",
    "WordTarget",
    "align_to_candidates",
    "candidate_number",
    "count_candidates",
    "enumerate_spans",
    "spans_by_sentence",
]
