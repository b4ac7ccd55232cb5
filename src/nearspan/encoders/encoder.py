"""An encoder: word features side by side, then context."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from pydantic import Field
from torch import Tensor, nn

from nearspan.encoders.batches import Batch, EncodedCorpus
from nearspan.encoders.bilstm import BiLSTM, BiLSTMSettings
from nearspan.encoders.character_cnn import CharacterCNNSettings, CharacterFeature, known_characters
from nearspan.encoders.highway import Highway, HighwaySettings
from nearspan.encoders.intnet import IntNetSettings
from nearspan.encoders.sentence_context import SentenceContext, SentenceContextSettings, WordLabel, examples
from nearspan.encoders.static_vectors import StaticVectors, StaticVectorSettings
from nearspan.encoders.transformer import Transformer, TransformerSettings
from nearspan.encoders.word_memory import Attention, WordMemory, WordMemorySettings
from nearspan.errors import ConfigError
from nearspan.segment import Sentence
from nearspan.settings import Settings


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


class EncoderSettings(Settings):
    """Which features a word has, and what reads them; a part that is left out is not built."""

    vectors: StaticVectorSettings | None = None
    characters: CharacterCNNSettings | IntNetSettings | None = Field(default=None, discriminator="kind")
    transformer: TransformerSettings | None = None
    highway: HighwaySettings | None = None
    bilstm: BiLSTMSettings | None = None
    sentence_context: SentenceContextSettings | None = None
    word_memory: WordMemorySettings | None = None


Embedder = StaticVectors | CharacterFeature | Transformer


class Encoder(nn.Module):
    """Word states [B, T, size] of a batch of sentences."""

    def __init__(
        self,
        settings: EncoderSettings,
        embedders: dict[str, Embedder],
        context: SentenceContext | None = None,
        finder: StaticVectors | None = None,
    ) -> None:
        super().__init__()
        if settings.bilstm is None and (settings.sentence_context or settings.word_memory):
            raise ConfigError(
                "encoder.sentence_context and encoder.word_memory stand around a BiLSTM: set encoder.bilstm"
            )
        self.settings = settings
        self.embedders = nn.ModuleDict(embedders)
        self.sentence_context = context
        self.finder = finder  # static vectors that are not read, and by which similar sentences are found
        self.word_memory: WordMemory | None = None
        width = sum(embedder.size for embedder in embedders.values()) + (context.size if context else 0)
        self.width = width  # of all features side by side
        self.highway = Highway(settings.highway, width) if settings.highway else None
        self.bilstm = BiLSTM(settings.bilstm, width) if settings.bilstm else None
        self.size = self.bilstm.size if self.bilstm else width

    @classmethod
    def from_corpus(
        cls,
        settings: EncoderSettings,
        train: Sequence[Sentence],
        others: Sequence[Sentence] = (),
        entities: Sequence[Sequence[WordLabel]] = (),
    ) -> Encoder:
        """Build an encoder for a corpus: vocabularies from `train`, pretrained vectors for `others` too.

        Label vectors (`encoder.sentence_context`) begin as means over the `entities` of the training sentences.
        """
        parts: dict[str, Embedder] = {}
        words = StaticVectors.from_corpus(settings.vectors, train, others) if settings.vectors is not None else None
        if words is not None and words.settings.read:
            parts["vectors"] = words
        if settings.characters is not None:
            parts["characters"] = settings.characters.build(known_characters(train))
        if settings.transformer is not None:
            parts["transformer"] = Transformer.from_corpus(settings.transformer, train, others)
        if not parts:
            raise ConfigError(
                "an encoder needs something to read: set encoder.vectors (but for encoder.vectors.read=false), "
                "encoder.characters or encoder.transformer"
            )
        labels = sorted({label for own in entities for _, _, label in own})
        context = SentenceContext(settings.sentence_context, parts, labels) if settings.sentence_context else None
        encoder = cls(settings, parts, context, None if "vectors" in parts else words)
        if encoder.sentence_context is not None and encoder.sentence_context.names:
            encoder._place_labels(encoder.sentence_context, train, entities)
        if settings.word_memory is not None:
            encoder.word_memory = WordMemory.from_corpus(settings.word_memory, train, encoder.key_size, encoder.size)
        return encoder

    def save(self, folder: Path, write: Callable[[str, Any], None]) -> None:
        """Hand each vocabulary to `write(name, content)`; a transformer writes its files to a folder of its own."""
        for name, embedder in self.embedders.items():
            if isinstance(embedder, Transformer):
                embedder.save(folder)
            else:
                write(name, embedder.vocabulary)
        if self.finder is not None:
            write("vectors", self.finder.vocabulary)
        if self.sentence_context is not None:
            write("sentence_context", {"labels": self.sentence_context.names})
        if self.word_memory is not None:
            write("word_memory", self.word_memory.vocabulary)

    @classmethod
    def from_disk(cls, settings: EncoderSettings, folder: Path, read: Callable[[str], Any]) -> Encoder:
        """The encoder as `save` wrote it, with weights still to be filled in."""
        parts: dict[str, Embedder] = {}
        words = StaticVectors(settings.vectors, read("vectors")) if settings.vectors is not None else None
        if words is not None and words.settings.read:
            parts["vectors"] = words
        if settings.characters is not None:
            parts["characters"] = settings.characters.build(read("characters"))
        if settings.transformer is not None:
            parts["transformer"] = Transformer.from_disk(settings.transformer, folder)
        context = (
            SentenceContext(settings.sentence_context, parts, read("sentence_context")["labels"])
            if settings.sentence_context
            else None
        )
        encoder = cls(settings, parts, context, None if "vectors" in parts else words)
        if settings.word_memory is not None:
            encoder.word_memory = WordMemory(settings.word_memory, read("word_memory"), encoder.key_size, encoder.size)
        return encoder

    def prepare(self, sentences: Sequence[Sentence], training: bool = False) -> EncodedCorpus:
        """Turn sentences into tensors once; batches are gathered from them.

        `training`: they are the very sentences that this encoder has learned from, so that it may write them to its
        memory, and none of their words recalls itself.
        """
        features = {name: embedder.prepare(sentences) for name, embedder in self.embedders.items()}  # type: ignore[operator]
        if self.finder is not None:
            features["finder"] = self.finder.prepare(sentences)
        if self.word_memory is not None:
            features["word_memory"] = self.word_memory.prepare(sentences, own=training)
        return EncodedCorpus.of([len(sentence) for sentence in sentences], features)

    @property
    def vectors(self) -> StaticVectors | None:
        """The static word vectors that are read, where there are any."""
        return next((one for one in self.embedders.values() if isinstance(one, StaticVectors)), None)

    @property
    def transformer(self) -> Transformer | None:
        """The pretrained encoder, where there is one."""
        return next((one for one in self.embedders.values() if isinstance(one, Transformer)), None)

    @property
    def key_size(self) -> int:
        """K, the width of a key that differs from slot to slot; 0 where the word says it all."""
        return self.transformer.size if self.transformer is not None else 0

    def forward(self, batch: Batch) -> Encoded:
        """Read a batch."""
        encoded = self._read(batch)
        if self.word_memory is None:
            return encoded
        given = batch.prepared.features["word_memory"]
        return replace(encoded, states=self.word_memory(batch, given, _keys(encoded), encoded.states))

    def sentence_vectors(self, encoded: Encoded) -> Tensor:
        """Mean word vectors [B, E], by which similar sentences are found: static ones where there are any.

        Sentences of which no word is known to a `finder` are like each other and like no other sentence.
        """
        batch, features = encoded.batch, encoded.features
        mask = batch.mask[..., None]
        if self.finder is None:
            name = next(name for name in ("vectors", "transformer", "characters") if name in features)
            return (features[name] * mask).sum(1) / mask.sum(1)
        means = (self.finder(batch, batch.prepared.features["finder"]) * mask).sum(1) / mask.sum(1)
        return torch.cat([means, (means == 0).all(1, keepdim=True)], dim=1)

    @torch.no_grad()
    def write(self, prepared: EncodedCorpus) -> None:
        """Write the training sentences, as they are seen now, to the memory that words recall from."""
        if self.word_memory is None:
            return
        training = self.training
        self.eval()
        for ids in prepared.order(prepared.first.device):
            encoded = self._read(prepared.batch(ids))
            self.word_memory.write(encoded.batch, prepared.features["word_memory"], _keys(encoded), encoded.states)
        self.word_memory.close()
        self.train(training)

    def attention(self, encoded: Encoded) -> Attention | None:
        """What each word of an encoded batch recalls, where there is a memory for that."""
        if self.word_memory is None:
            return None
        batch = encoded.batch
        return self.word_memory.attention(batch, batch.prepared.features["word_memory"], _keys(encoded))

    def _features(self, batch: Batch) -> tuple[dict[str, Tensor], tuple[Tensor, ...]]:
        """What each embedder says of a batch's words [B, T, its size], and a transformer's layers."""
        layers: tuple[Tensor, ...] = ()
        features: dict[str, Tensor] = {}
        for name, embedder in self.embedders.items():
            given = batch.prepared.features[name]
            if isinstance(embedder, Transformer):
                *lower, features[name] = embedder.layers(batch, given)
                layers = (*lower, features[name])
            else:
                features[name] = embedder(batch, given)
        return features, layers

    def _read(self, batch: Batch) -> Encoded:
        """What there is of a batch before anything is recalled."""
        features, layers = self._features(batch)
        states = torch.cat(list(features.values()), dim=-1)
        if self.sentence_context is not None:
            sentences = self.sentence_context(batch, dict(self.embedders.items()), features)  # [B, size]
            states = torch.cat([states, sentences[:, None].expand(-1, states.shape[1], -1)], dim=-1)
        if self.highway is not None:
            states = self.highway(states)
        if self.bilstm is not None:
            states = self.bilstm(states, batch.mask)
        return Encoded(batch, features, layers, states)

    @torch.no_grad()
    def _place_labels(
        self, context: SentenceContext, train: Sequence[Sentence], entities: Sequence[Sequence[WordLabel]]
    ) -> None:
        """Put each label's vector where the mean of its entities' words is."""
        chosen = examples(entities, context.names)
        numbers = sorted({sentence for places in chosen.values() for sentence, _, _ in places})
        self.eval()
        prepared = self.prepare([train[number] for number in numbers])
        vectors = torch.empty(int(prepared.lengths.sum()), context.labels.shape[1])
        for ids in prepared.order(vectors.device):
            batch = prepared.batch(ids)
            vectors[batch.rows[batch.mask]] = self._features(batch)[0][context.space][batch.mask]
        starts = dict(zip(numbers, prepared.first.tolist(), strict=True))
        for row, places in enumerate(chosen.values()):
            words = [starts[sentence] + word for sentence, first, stop in places for word in range(first, stop)]
            context.labels[row] = vectors[words].mean(0)
        self.train()


def _keys(encoded: Encoded) -> Tensor:
    """What words are known by when they are recalled [B, T, K]: a pretrained encoder's states, or their vectors."""
    name = next(name for name in ("transformer", "vectors", "characters") if name in encoded.features)
    return encoded.features[name]
