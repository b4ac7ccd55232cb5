"""Encoders: sentences to contextual word states [B, T, H]."""

from nearspan.encoders.encoder import Encoded, Encoder, EncoderSettings
from nearspan.encoders.inputs import Batch, Given, Prepared
from nearspan.encoders.pieces import Splitter, load_tokenizer
from nearspan.encoders.recall import Attention

__all__ = [
    "Attention",
    "Batch",
    "Encoded",
    "Encoder",
    "EncoderSettings",
    "Given",
    "Prepared",
    "Splitter",
    "load_tokenizer",
]
