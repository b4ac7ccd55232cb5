"""Encoders: sentences to contextual word states [B, T, H]."""

from nearspan.encoders.encoder import Encoded, Encoder, EncoderSettings
from nearspan.encoders.inputs import Batch, Prepared, buckets

__all__ = ["Batch", "Encoded", "Encoder", "EncoderSettings", "Prepared", "buckets"]
