"""Encoders: sentences to contextual word states [B, T, H]."""

from nearspan.encoders.batches import Batch, EncodedCorpus, Features, SpanTable
from nearspan.encoders.encoder import Encoded, Encoder, EncoderSettings
from nearspan.encoders.word_feature import WordFeature
from nearspan.encoders.word_pieces import Splitter, load_tokenizer

__all__ = [
    "Batch",
    "Encoded",
    "EncodedCorpus",
    "Encoder",
    "EncoderSettings",
    "Features",
    "SpanTable",
    "Splitter",
    "WordFeature",
    "load_tokenizer",
]
