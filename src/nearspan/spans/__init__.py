"""Spans: candidates, and the vectors that represent them [S, H]."""

from nearspan.spans.additive_spans import EndSums, WordSums
from nearspan.spans.bottleneck import Bottleneck, BottleneckSettings, Gaussian
from nearspan.spans.candidates import Candidates, candidate_number, count_candidates, enumerate_spans
from nearspan.spans.endpoint_mean import EndpointMean
from nearspan.spans.endpoint_mlp import EndpointMLP
from nearspan.spans.fragments import BatchFragments, GoldFragments
from nearspan.spans.given_spans import GivenEntities
from nearspan.spans.labelled_sentences import LabelledSentences
from nearspan.spans.lstm_minus import LstmMinus
from nearspan.spans.metric import SpanMetric
from nearspan.spans.pooling import Pooling
from nearspan.spans.reachability import CandidateRules, align_to_candidates
from nearspan.spans.representation import Representation, WordEnds
from nearspan.spans.span_bilstm import SpanBiLSTM
from nearspan.spans.span_labels import SpanLabels, one_hot_labels
from nearspan.spans.span_means import SpanMeans
from nearspan.spans.span_transformer import SpanTransformer
from nearspan.spans.string_majority import StringMajority
from nearspan.spans.suggesters import AllSpans, GivenSpans, SuggesterSettings

__all__ = [
    "AllSpans",
    "BatchFragments",
    "Bottleneck",
    "BottleneckSettings",
    "CandidateRules",
    "Candidates",
    "EndSums",
    "EndpointMLP",
    "EndpointMean",
    "Gaussian",
    "GivenEntities",
    "GivenSpans",
    "GoldFragments",
    "LabelledSentences",
    "LstmMinus",
    "Pooling",
    "Representation",
    "SpanBiLSTM",
    "SpanLabels",
    "SpanMeans",
    "SpanMetric",
    "SpanTransformer",
    "StringMajority",
    "SuggesterSettings",
    "WordEnds",
    "WordSums",
    "align_to_candidates",
    "candidate_number",
    "count_candidates",
    "enumerate_spans",
    "one_hot_labels",
]
