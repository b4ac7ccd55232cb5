"""Encoders: sentences to contextual word states [B, T, H]."""

from nearspan.encoders.encoder import Encoded, Encoder, EncoderSettings
from nearspan.encoders.inputs import Batch, Given, Prepared, buckets
from nearspan.encoders.pieces import Splitter, load_tokenizer

__all__ = [
    "Batch",
    "Encoded",
    "Encoder",
    "EncoderSettings",
    "Given",
    "Prepared",
    "Splitter",
    "buckets",
    "load_tokenizer",
]
