"""An encoder: word features side by side, then context."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Self, cast

import torch
from pydantic import Field, field_validator
from torch import Tensor, nn

from nearspan import registry
from nearspan.encoders.batches import Batch, EncodedCorpus
from nearspan.encoders.bilstm import BiLSTM, BiLSTMSettings
from nearspan.encoders.character_cnn import CharacterCNNSettings
from nearspan.encoders.highway import Highway, HighwaySettings
from nearspan.encoders.intnet import IntNetSettings
from nearspan.encoders.sentence_context import SentenceContext, SentenceContextSettings, example_entities
from nearspan.encoders.spelling import SpellingSettings
from nearspan.encoders.static_vectors import StaticVectors, StaticVectorSettings
from nearspan.encoders.transformer import Transformer, TransformerSettings
from nearspan.encoders.word_feature import WordFeature, first_named
from nearspan.encoders.word_memory import Attention, WordMemory, WordMemorySettings
from nearspan.errors import ConfigError
from nearspan.segment import LabelledSpan, Sentence, contiguous
from nearspan.settings import PartField, PartName, PartSettings, Settings, drop_none

KEYS = ("transformer", "vectors", "characters")  # the features that words are recalled by: the first that there is


class EncoderSettings(Settings):
    """Which features a word has, and what reads them; a part that is left out is not built."""

    vectors: StaticVectorSettings | None = None
    characters: CharacterCNNSettings | IntNetSettings | None = Field(default=None, discriminator="kind")
    spelling: SpellingSettings | None = None
    transformer: TransformerSettings | None = None
    features: dict[PartName, Annotated[PartSettings, PartField("word_feature")]] = Field(default={})
    highway: HighwaySettings | None = None
    bilstm: BiLSTMSettings | None = None
    sentence_context: SentenceContextSettings | None = None
    word_memory: WordMemorySettings | None = None

    _leave_out = field_validator("features", mode="before")(drop_none)

    def word_features(self) -> dict[str, Any]:
        """The settings of all features, by the names that the encoder has for them."""
        slots = {
            "vectors": self.vectors,
            "characters": self.characters,
            "spelling": self.spelling,
            "transformer": self.transformer,
        }
        chosen = {name: settings for name, settings in slots.items() if settings is not None}
        return chosen | {f"feature_{name}": settings for name, settings in self.features.items()}


@dataclass(frozen=True)
class Encoded:
    """What an encoder made of a batch."""

    batch: Batch
    features: dict[str, Tensor]  # of each word feature [B, T, its size], before any context but a transformer's own
    layers: tuple[Tensor, ...]  # a transformer's [B, T, size], embeddings first where all of them are read
    states: Tensor  # [B, T, size]

    @property
    def beside_transformer(self) -> Tensor | None:
        """The features that do not come from the transformer [B, T, their size], side by side."""
        vectors = [tensor for name, tensor in self.features.items() if name != "transformer"]
        return torch.cat(vectors, dim=-1) if vectors else None


class Encoder(nn.Module):
    """Word states [B, T, size] of a batch of sentences.

    encoder = Encoder.from_corpus(recipe.encoder, sentences)
    corpus = encoder.prepare(sentences)
    encoder(corpus.batch(torch.tensor([0, 1]))).states
    """

    def __init__(
        self, settings: EncoderSettings, features: Mapping[str, WordFeature], labels: Sequence[str] = ()
    ) -> None:
        super().__init__()
        finder = features["vectors"] if settings.vectors is not None and not settings.vectors.read else None
        features = {name: feature for name, feature in features.items() if feature is not finder}
        if not features:
            raise ConfigError(
                "an encoder needs something to read: set encoder.vectors (but for encoder.vectors.read=false), "
                "encoder.characters or encoder.transformer"
            )
        if settings.bilstm is None and (settings.sentence_context or settings.word_memory):
            raise ConfigError(
                "encoder.sentence_context and encoder.word_memory stand around a BiLSTM: set encoder.bilstm"
            )
        self.settings = settings
        self.features = nn.ModuleDict(features)
        self.word_features = dict(features)  # the same, by their type
        self.sentence_feature = first_named(features, "vectors", "transformer", "characters")
        context = SentenceContext(settings.sentence_context, features, labels) if settings.sentence_context else None
        self.sentence_context = context
        # static vectors that are not read, and by which similar sentences are found
        self.finder = cast(StaticVectors | None, finder)
        self.word_memory: WordMemory | None = None
        width = sum(feature.size for feature in features.values()) + (context.size if context else 0)
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
        entities: Sequence[Sequence[LabelledSpan[str]]] = (),
    ) -> Self:
        """Build an encoder for a corpus: vocabularies from `train`, pretrained vectors for `others` too.

        Label vectors (`encoder.sentence_context`) begin as means over the `entities` of the training sentences.
        """
        features = {
            name: registry.part("word_feature", feature.kind).from_corpus(feature, train, others)
            for name, feature in settings.word_features().items()
        }
        labels = sorted({gold.label for of_sentence in entities for gold in contiguous(of_sentence)})
        encoder = cls(settings, features, labels)
        if encoder.sentence_context is not None and encoder.sentence_context.names:
            encoder._initialize_labels(encoder.sentence_context, train, entities, encoder.sentence_context.names)
        if settings.word_memory is not None:
            encoder.word_memory = WordMemory.from_corpus(settings.word_memory, train, encoder.key_size, encoder.size)
        return encoder

    def grow(
        self,
        train: Sequence[Sentence],
        others: Sequence[Sentence] = (),
        entities: Sequence[Sequence[LabelledSpan[str]]] = (),
    ) -> None:
        """Let the vocabularies know the words, characters and labels of training sentences that are new to them too.

        `train` are all that it is to learn from: what words recall is of these alone. All that it knows stays.
        """
        for name, feature in list(self.word_features.items()):
            self.word_features[name] = grown = feature.grow(train, others)
            self.features[name] = grown
        self.finder = self.finder.grow(train, others) if self.finder is not None else None
        context = self.sentence_context
        if context is not None and self.settings.sentence_context is not None:
            labels = {gold.label for of_sentence in entities for gold in contiguous(of_sentence)}
            new = sorted(labels.difference(context.names)) if context.names else []
            grown_context = context.grow(self.settings.sentence_context, self.word_features, [*context.names, *new])
            self.sentence_context = grown_context
            self._initialize_labels(grown_context, train, entities, new)
        if self.settings.word_memory is not None:
            self.word_memory = WordMemory.from_corpus(self.settings.word_memory, train, self.key_size, self.size)

    def save(self, folder: Path, write: Callable[[str, Any], None]) -> None:
        """Hand each vocabulary to `write(name, content)`; a transformer writes its files to a folder of its own."""
        for name, feature in self.word_features.items():
            feature.save(_folder(folder, name))
            if feature.vocabulary is not None:
                write(name, feature.vocabulary)
        if self.finder is not None:
            write("vectors", self.finder.vocabulary)
        if self.sentence_context is not None:
            write("sentence_context", {"labels": self.sentence_context.names})
        if self.word_memory is not None:
            write("word_memory", self.word_memory.vocabulary)

    @classmethod
    def from_disk(cls, settings: EncoderSettings, folder: Path, read: Callable[[str], Any]) -> Self:
        """The encoder as `save` wrote it, with weights still to be filled in."""
        features = {
            name: registry.part("word_feature", feature.kind).from_disk(
                feature, _folder(folder, name), partial(read, name)
            )
            for name, feature in settings.word_features().items()
        }
        labels = read("sentence_context")["labels"] if settings.sentence_context is not None else ()
        encoder = cls(settings, features, labels)
        if settings.word_memory is not None:
            encoder.word_memory = WordMemory(settings.word_memory, read("word_memory"), encoder.key_size, encoder.size)
        return encoder

    def prepare(self, sentences: Sequence[Sentence], training: bool = False) -> EncodedCorpus:
        """Turn sentences into tensors once; batches are gathered from them.

        `training`: they are the very sentences that this encoder has learned from, so that it may write them to its
        word memory, and none of their words recalls itself.
        """
        features = {name: feature.prepare(sentences) for name, feature in self.word_features.items()}
        if self.finder is not None:
            features["finder"] = self.finder.prepare(sentences)
        if self.word_memory is not None:
            features["word_memory"] = self.word_memory.prepare(sentences, training)
        return EncodedCorpus.of([len(sentence.words) for sentence in sentences], features, sentences)

    @property
    def vectors(self) -> StaticVectors | None:
        """The static word vectors that are read, where there are any."""
        return cast(StaticVectors | None, self.word_features.get("vectors"))

    @property
    def transformer(self) -> Transformer | None:
        """The pretrained encoder, where there is one."""
        return cast(Transformer | None, self.word_features.get("transformer"))

    @property
    def key_size(self) -> int:
        """K, the width of a key that differs from slot to slot; 0 where the word says it all."""
        memory, name = self.settings.word_memory, first_named(self.word_features, *KEYS)
        same = self.transformer is None and memory is not None and memory.keys == "epoch"
        return 0 if same else self.word_features[name].size

    def pretrained_parameters(self) -> list[nn.Parameter]:
        """The weights that come from pretrained encoders."""
        return [weight for feature in self.word_features.values() for weight in feature.pretrained_parameters()]

    def forward(self, batch: Batch, recall: bool = True) -> Encoded:
        """Read a batch; without `recall` nothing is taken from the word memory."""
        prepared = batch.corpus.features
        outputs = {name: feature(batch, prepared[name]) for name, feature in self.features.items()}
        features = {name: output[-1] if isinstance(output, list) else output for name, output in outputs.items()}
        states = torch.cat(list(features.values()), dim=-1)
        if self.sentence_context is not None:
            sentences = self.sentence_context(batch, self.word_features, features)  # [B, size]
            states = torch.cat([states, sentences[:, None].expand(-1, states.shape[1], -1)], dim=-1)
        if self.highway is not None:
            states = self.highway(states)
        if self.bilstm is not None:
            states = self.bilstm(states, batch.mask)
        encoded = Encoded(batch, features, tuple(outputs.get("transformer", ())), states)
        if self.word_memory is None or not recall:
            return encoded
        return replace(encoded, states=self.word_memory(batch, prepared["word_memory"], _keys(encoded), states))

    def sentence_vectors(self, encoded: Encoded) -> Tensor:
        """Mean word vectors [B, E], by which similar sentences are found: static ones where there are any.

        Where a file gives vectors these alone count: other words are 0, as in the paper's footnote 8, and sentences
        of which no word has one are like each other and like no other sentence.
        """
        batch, mask = encoded.batch, encoded.batch.mask[..., None]
        name = "finder" if self.finder else self.sentence_feature
        feature: Any = self.finder or self.features[name]
        if not feature.from_file:
            return (encoded.features[name] * mask).sum(1) / mask.sum(1)
        means = (feature.pretrained_vectors(batch, batch.corpus.features[name]) * mask).sum(1) / mask.sum(1)
        return torch.cat([means, (means == 0).all(1, keepdim=True)], dim=1)

    @torch.no_grad()
    def write_word_memory(self, corpus: EncodedCorpus) -> None:
        """Write the training sentences, as they are seen now, to the memory that words recall from."""
        if self.word_memory is None:
            return
        training = self.training
        self.eval()
        for batch in corpus.reading_batches():
            encoded = self(batch, recall=False)
            self.word_memory.write(encoded.batch, corpus.features["word_memory"], _keys(encoded), encoded.states)
        self.word_memory.finish_writing()
        self.train(training)

    def attention(self, encoded: Encoded) -> Attention | None:
        """What each word of an encoded batch recalls, where there is a memory for that."""
        if self.word_memory is None:
            return None
        batch = encoded.batch
        return self.word_memory.attention(batch, batch.corpus.features["word_memory"], _keys(encoded))

    @torch.no_grad()
    def _initialize_labels(
        self,
        context: SentenceContext,
        train: Sequence[Sentence],
        entities: Sequence[Sequence[LabelledSpan[str]]],
        labels: Sequence[str],
    ) -> None:
        """Put the vectors of some labels where the means of their entities' words are."""
        if not labels:
            return
        chosen = example_entities(entities, labels)
        numbers = sorted({sentence for spans in chosen.values() for sentence, _, _ in spans})
        self.eval()
        corpus = self.prepare([train[number] for number in numbers])
        vectors = torch.empty(int(corpus.lengths.sum()), context.labels.shape[1])
        for batch in corpus.reading_batches():
            vectors[batch.rows[batch.mask]] = self(batch).features[context.space][batch.mask]
        starts = dict(zip(numbers, corpus.first.tolist(), strict=True))
        for label, spans in chosen.items():
            words = [starts[sentence] + word for sentence, first, stop in spans for word in range(first, stop)]
            context.labels[context.names.index(label)] = vectors[words].mean(0)
        self.train()


def _folder(folder: Path, name: str) -> Path:
    """Where a feature's files are: those of the pretrained encoder at the top, as libraries look for them there."""
    return folder if name == "transformer" else folder / name


def _keys(encoded: Encoded) -> Tensor:
    """What words are known by when they are recalled [B, T, K]: a pretrained encoder's states, or their vectors."""
    return encoded.features[first_named(encoded.features, *KEYS)]
