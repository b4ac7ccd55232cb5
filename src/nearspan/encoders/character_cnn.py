"""Characters of a word, read by a convolution (Ma & Hovy, 2016)."""

from collections.abc import Sequence
from typing import Any, ClassVar, Literal, Self

import torch
from pydantic import Field
from torch import Tensor, nn

from nearspan.encoders.batches import Batch, Features
from nearspan.encoders.word_feature import WordFeature
from nearspan.registry import register
from nearspan.segment import Sentence
from nearspan.settings import Settings

PADDING, UNKNOWN = 0, 1


class CharacterCNNSettings(Settings):
    """The character convolution of Ouchi et al. (2020), table 5."""

    kind: Literal["cnn"] = "cnn"
    size: int = Field(default=30, ge=1, le=10_000)  # width of a character's vector
    filters: int = Field(default=30, ge=1, le=10_000)
    window: int = Field(default=3, ge=1, le=1_000)
    longest: int = Field(default=40, ge=2, le=10_000)  # of a longer word this many are read, half at each end
    dropout: float = Field(default=0.0, ge=0, lt=1)


class CharacterFeature(WordFeature):
    """Word vectors from the characters of words; `convolve` says how."""

    capturable: ClassVar[bool] = True

    def __init__(self, settings: Any, vocabulary: dict[str, Any]) -> None:
        super().__init__()
        self.settings, self.vocabulary = settings, vocabulary
        self.index = {character: row for row, character in enumerate(vocabulary["characters"], start=2)}
        self.table = nn.Embedding(len(vocabulary["characters"]) + 2, settings.size, padding_idx=PADDING)
        self.dropout = nn.Dropout(settings.dropout)

    @classmethod
    def from_corpus(cls, settings: Any, train: Sequence[Sentence], others: Sequence[Sentence]) -> Self:
        """The characters of the training sentences are known; any other is unknown."""
        del others
        characters = {character for sentence in train for token in sentence.tokens for character in token}
        return cls(settings, {"characters": sorted(characters)})

    @torch.no_grad()
    def grow(self, train: Sequence[Sentence], others: Sequence[Sentence]) -> Self:
        """The same with the characters of more sentences, which begin as the one of unknown characters."""
        del others
        known = self.vocabulary["characters"]
        new = sorted({letter for sentence in train for token in sentence.tokens for letter in token} - set(known))
        if not new:
            return self
        grown = type(self)(self.settings, {"characters": [*known, *new]})
        weights = self.state_dict()
        unknown = weights["table.weight"][UNKNOWN].expand(len(new), -1)
        weights["table.weight"] = torch.cat([weights["table.weight"], unknown])
        grown.load_state_dict(weights)
        return grown

    def reset_parameters(self) -> None:
        """Fresh weights."""
        bound = (3 / self.table.embedding_dim) ** 0.5
        nn.init.uniform_(self.table.weight, -bound, bound)
        nn.init.zeros_(self.table.weight[PADDING])
        for module in self.modules():
            if isinstance(module, nn.Conv1d):
                nn.init.xavier_uniform_(module.weight)
                nn.init.zeros_(module.bias)  # type: ignore[arg-type]

    def convolve(self, characters: Tensor) -> Tensor:
        """Spellings [U, C], padded at the end, to vectors [U, size]."""
        raise NotImplementedError

    def prepare(self, sentences: Sequence[Sentence]) -> Features:
        """Each word's spelling [R], and the spellings' characters [spellings, longest]."""
        spellings: dict[str, int] = {}
        rows = [spellings.setdefault(token, len(spellings)) for sentence in sentences for token in sentence.tokens]
        half = self.settings.longest // 2
        table = torch.zeros(len(spellings), min(2 * half, max(map(len, spellings), default=1)), dtype=torch.long)
        for row, word in enumerate(spellings):
            spelling = word if len(word) <= 2 * half else word[:half] + word[-half:]
            table[row, : len(spelling)] = torch.tensor([self.index.get(letter, UNKNOWN) for letter in spelling])
        return {"rows": torch.tensor(rows, dtype=torch.long), "spellings": table}

    def forward(self, batch: Batch, features: Features) -> Tensor:
        """Embed the batch's words [B, T, size]."""
        rows: Tensor = features["rows"][batch.rows]
        if rows.is_cuda:  # convolving a spelling twice costs less than waiting to know which ones differ
            return self.convolve(features["spellings"][rows.flatten()]).view(*rows.shape, self.size)
        spellings, back = rows.unique(return_inverse=True)
        characters = features["spellings"][spellings]  # [U, C]
        longest = int((characters != PADDING).sum(1).max())
        return self.convolve(characters[:, :longest])[back]


class CharacterCNN(CharacterFeature):
    """Embeds a word's characters, convolves and takes the maximum over its positions."""

    Settings: ClassVar[type[Settings]] = CharacterCNNSettings

    def __init__(self, settings: CharacterCNNSettings, vocabulary: dict[str, Any]) -> None:
        super().__init__(settings, vocabulary)
        self.size = settings.filters
        self.convolution = nn.Conv1d(settings.size, settings.filters, settings.window, padding="same")
        self.reset_parameters()

    def convolve(self, characters: Tensor) -> Tensor:
        """Spellings [U, C] to vectors [U, filters]."""
        states = self.convolution(self.dropout(self.table(characters)).transpose(1, 2)).relu()  # [U, filters, C]
        states = states.masked_fill((characters == PADDING)[:, None], 0)  # after ReLU, 0 is the least
        vectors: Tensor = states.amax(2)
        return vectors


register("word_feature", CharacterCNN)
