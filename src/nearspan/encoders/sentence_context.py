"""Sentence-level context: a vector of the sentence for each of its words (Luo et al., 2020, equations 5 to 8)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, cast

import torch
from pydantic import Field, field_validator
from torch import Tensor, nn
from torch.nn import functional

from nearspan.encoders.batches import Batch
from nearspan.encoders.bilstm import BiLSTM, BiLSTMSettings
from nearspan.encoders.character_cnn import UNKNOWN, CharacterFeature
from nearspan.encoders.static_vectors import StaticVectors
from nearspan.encoders.word_feature import WordFeature, first_named
from nearspan.segment import LabelledSpan, contiguous
from nearspan.settings import Settings

MOST = 300  # entities of a label whose words make its first vector


class SentenceContextSettings(Settings):
    """A sentence's vector, from a BiLSTM of its own."""

    pooling: Literal["labels", "mean"] = "labels"  # weigh words by their likeness to a label, or all the same
    size: int = Field(default=64, ge=1, le=10_000)  # hidden units of the BiLSTM in each direction
    dropout: float = Field(default=0.5, ge=0, lt=1)  # on its input
    window: int = Field(default=55, ge=1, le=10_000)  # k, odd: words whose likenesses make one word's weight

    @field_validator("window")
    @classmethod
    def _odd(cls, window: int) -> int:
        if window % 2 == 0:
            raise ValueError("window must be odd: a word and as many on each side")
        return window


class SentenceContext(nn.Module):
    """s = sum_i beta_i v_i over the states v of a BiLSTM that reads word vectors and characters of its own.

    The vectors of the words that training sees begin as the encoder's and then learn apart from them; all other
    vectors, and those of a pretrained encoder, are the encoder's. Labels lie in the space of the word vectors.
    """

    def __init__(
        self, settings: SentenceContextSettings, features: Mapping[str, WordFeature], labels: Sequence[str]
    ) -> None:
        super().__init__()
        words = cast(StaticVectors | None, features.get("vectors"))
        characters = cast(CharacterFeature | None, features.get("characters"))
        self.words = nn.Parameter(words.trained.detach().clone()) if words is not None else None
        self.characters = characters and type(characters)(characters.settings, characters.vocabulary)  # fresh weights
        sizes = {name: feature.size for name, feature in features.items()}
        self.recurrent = BiLSTM(
            BiLSTMSettings(layers=1, size=settings.size, dropout=settings.dropout), sum(sizes.values())
        )
        self.size = self.recurrent.size
        self.names = list(labels) if settings.pooling == "labels" else []
        self.space = first_named(features, "vectors", "transformer", "characters")
        if self.names:
            self.labels = nn.Parameter(torch.empty(len(self.names), sizes[self.space]))
            self.kernel = nn.Parameter(torch.empty(settings.window))  # W of equation 6
            self.bias = nn.Parameter(torch.zeros(len(self.names)))  # b
            nn.init.uniform_(self.labels, -((3 / self.labels.shape[1]) ** 0.5), (3 / self.labels.shape[1]) ** 0.5)
            nn.init.uniform_(self.kernel, -(settings.window**-0.5), settings.window**-0.5)

    @torch.no_grad()
    def grow(
        self, settings: SentenceContextSettings, features: Mapping[str, WordFeature], labels: Sequence[str]
    ) -> SentenceContext:
        """The same for features that have grown and for more labels, which come last and are still to be filled in."""
        grown = type(self)(settings, features, labels)
        words = cast(StaticVectors | None, features.get("vectors"))
        if words is not None and self.words is not None and grown.words is not None:
            grown.words.copy_(self.words[words.places])
        grown.recurrent = self.recurrent
        if self.characters is not None and grown.characters is not None:
            weights, table = self.characters.state_dict(), self.characters.table.weight
            more = grown.characters.table.num_embeddings - len(table)
            weights["table.weight"] = torch.cat([table, table[UNKNOWN].expand(more, -1)])
            grown.characters.load_state_dict(weights)
        if self.names:
            grown.labels[: len(self.names)] = self.labels
            grown.kernel.copy_(self.kernel)
            grown.bias[: len(self.names)] = self.bias
        return grown

    def forward(self, batch: Batch, features: Mapping[str, WordFeature], vectors: Mapping[str, Tensor]) -> Tensor:
        """The vectors [B, size] of a batch's sentences; `vectors` [B, T, their size] are those of the features."""
        inputs, prepared = dict(vectors), batch.corpus.features
        if self.words is not None:
            inputs["vectors"] = features["vectors"](batch, prepared["vectors"], self.words)
        if self.characters is not None:
            inputs["characters"] = self.characters(batch, prepared["characters"])
        states = self.recurrent(torch.cat(list(inputs.values()), dim=-1), batch.mask)  # v [B, T, size]
        if self.names:
            weights = self.weights(inputs[self.space], batch.mask)
        else:
            weights = batch.mask / batch.mask.sum(1, keepdim=True)
        sentences: Tensor = (weights[..., None] * states).sum(1)  # s, equation 8
        return sentences

    def weights(self, vectors: Tensor, mask: Tensor) -> Tensor:
        """beta [B, T] of words with these vectors [B, T, H]."""
        likeness = functional.normalize(vectors.float(), dim=-1) @ functional.normalize(self.labels, dim=-1).T  # (5)
        likeness = (likeness * mask[..., None]).mT  # [B, P, T]
        spread = functional.conv1d(
            likeness.reshape(-1, 1, likeness.shape[2]), self.kernel[None, None], padding=len(self.kernel) // 2
        )
        best = (spread.view_as(likeness) + self.bias[:, None]).amax(1)  # m [B, T], equation 6
        return best.masked_fill(~mask, -torch.inf).softmax(1)  # equation 7


def example_entities(
    entities: Sequence[Sequence[LabelledSpan[str]]], labels: Sequence[str]
) -> dict[str, list[tuple[int, int, int]]]:
    """For each of some labels some of its contiguous entities, evenly from the corpus: sentence, first word, stop."""
    spans: dict[str, list[tuple[int, int, int]]] = {label: [] for label in labels}
    for sentence, of_sentence in enumerate(entities):
        for gold in contiguous(of_sentence):
            if gold.label in spans:
                spans[gold.label].append((sentence, gold.first, gold.stop))
    return {label: places[:: -(-len(places) // MOST) or 1] for label, places in spans.items()}
