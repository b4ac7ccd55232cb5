"""An encoder: word features side by side, then context."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from nearspan.encoders.characters import Characters, CharacterSettings
from nearspan.encoders.highway import Highway, HighwaySettings
from nearspan.encoders.inputs import Batch, Prepared
from nearspan.encoders.recurrent import Recurrent, RecurrentSettings
from nearspan.encoders.transformer import Transformer, TransformerSettings
from nearspan.encoders.words import Words, WordSettings
from nearspan.settings import Settings
from nearspan.text import Sentence


@dataclass(frozen=True)
class Encoded:
    """What an encoder made of a batch."""

    batch: Batch
    features: dict[str, Tensor]  # of each embedder [B, T, its size], before any context but a transformer's own
    layers: tuple[Tensor, ...]  # a transformer's [B, T, size], embeddings first; empty unless they were asked for
    states: Tensor  # [B, T, size]

    @property
    def beside(self) -> Tensor | None:
        """The features that do not come from a transformer [B, T, their size], side by side."""
        others = [tensor for name, tensor in self.features.items() if name != "transformer"]
        return torch.cat(others, dim=-1) if others else None

    def sentence_vectors(self) -> Tensor:
        """Mean word vectors [B, E], by which similar sentences are found: static ones where there are any."""
        name = next(name for name in ("words", "transformer", "characters") if name in self.features)
        mask = self.batch.mask[..., None]
        return (self.features[name] * mask).sum(1) / mask.sum(1)


class EncoderSettings(Settings):
    """Which features a word has, and what reads them; a part that is left out is not built."""

    words: WordSettings | None = None
    characters: CharacterSettings | None = None
    transformer: TransformerSettings | None = None
    highway: HighwaySettings | None = None
    recurrent: RecurrentSettings | None = None


KINDS: dict[str, type[Words] | type[Characters] | type[Transformer]] = {
    "words": Words,
    "characters": Characters,
    "transformer": Transformer,
}


class Encoder(nn.Module):
    """Word states [B, T, size] of a batch of sentences."""

    def __init__(self, settings: EncoderSettings, embedders: dict[str, Words | Characters | Transformer]) -> None:
        super().__init__()
        self.settings = settings
        self.embedders = nn.ModuleDict(embedders)
        self.width = width = sum(embedder.size for embedder in embedders.values())  # of all features side by side
        self.highway = Highway(settings.highway, width) if settings.highway else None
        self.recurrent = Recurrent(settings.recurrent, width) if settings.recurrent else None
        self.size = self.recurrent.size if self.recurrent else width

    @classmethod
    def learn(cls, settings: EncoderSettings, train: Sequence[Sentence], others: Sequence[Sentence] = ()) -> Encoder:
        """Build an encoder for a corpus: vocabularies from `train`, pretrained vectors for `others` too."""
        parts = {
            name: kind.learn(getattr(settings, name), train, others)
            for name, kind in KINDS.items()
            if getattr(settings, name) is not None
        }
        return cls(settings, parts)

    def save(self, folder: Path, write: Callable[[str, Any], None]) -> None:
        """Hand each vocabulary to `write(name, content)`; a transformer writes its own files to `folder`."""
        for name, embedder in self.embedders.items():
            if isinstance(embedder, Transformer):
                embedder.save(folder / "encoder")
            else:
                write(name, embedder.vocabulary)

    @classmethod
    def restore(cls, settings: EncoderSettings, folder: Path, read: Callable[[str], Any]) -> Encoder:
        """The encoder as `save` wrote it, with weights still to be filled in."""
        parts: dict[str, Words | Characters | Transformer] = {}
        if settings.words is not None:
            parts["words"] = Words(settings.words, read("words"))
        if settings.characters is not None:
            parts["characters"] = Characters(settings.characters, read("characters"))
        if settings.transformer is not None:
            parts["transformer"] = Transformer.restore(settings.transformer, folder / "encoder")
        return cls(settings, parts)

    def prepare(self, sentences: Sequence[Sentence]) -> Prepared:
        """Turn sentences into tensors once; batches are gathered from them."""
        features = {name: embedder.prepare(sentences) for name, embedder in self.embedders.items()}  # type: ignore[operator]
        return Prepared.of([len(sentence) for sentence in sentences], features)

    @property
    def transformer(self) -> Transformer | None:
        """The pretrained encoder, where there is one."""
        return next((one for one in self.embedders.values() if isinstance(one, Transformer)), None)

    def forward(self, batch: Batch) -> Encoded:
        """Read a batch."""
        layers: tuple[Tensor, ...] = ()
        features: dict[str, Tensor] = {}
        for name, embedder in self.embedders.items():
            given = batch.prepared.features[name]
            if isinstance(embedder, Transformer):
                *lower, features[name] = embedder.layers(batch, given)
                layers = (*lower, features[name])
            else:
                features[name] = embedder(batch, given)
        states = torch.cat(list(features.values()), dim=-1)
        if self.highway is not None:
            states = self.highway(states)
        if self.recurrent is not None:
            states = self.recurrent(states, batch.mask)
        return Encoded(batch, features, layers, states)
