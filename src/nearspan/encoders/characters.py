"""Characters of a word, read by a convolution (Ma & Hovy, 2016)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from pydantic import Field
from torch import Tensor, nn

from nearspan.encoders.inputs import Batch, Features
from nearspan.settings import Settings
from nearspan.text import Sentence

PADDING, UNKNOWN = 0, 1


class CharacterSettings(Settings):
    """The character convolution of the paper's table 5."""

    size: int = Field(default=30, ge=1)  # width of a character's vector
    filters: int = Field(default=30, ge=1)
    window: int = Field(default=3, ge=1)
    longest: int = Field(default=40, ge=2)  # of a longer word the first and the last half of this many are read
    dropout: float = Field(default=0.0, ge=0, lt=1)


class Characters(nn.Module):
    """Embeds a word's characters, convolves and takes the maximum over its positions."""

    def __init__(self, settings: CharacterSettings, vocabulary: dict[str, Any]) -> None:
        super().__init__()
        self.settings = settings
        self.vocabulary = vocabulary
        self.index = {character: row for row, character in enumerate(vocabulary["characters"], start=2)}
        self.size = settings.filters
        self.table = nn.Embedding(len(self.index) + 2, settings.size, padding_idx=PADDING)
        self.dropout = nn.Dropout(settings.dropout)
        self.convolution = nn.Conv1d(settings.size, settings.filters, settings.window, padding="same")
        bound = (3 / settings.size) ** 0.5
        nn.init.uniform_(self.table.weight, -bound, bound)
        nn.init.zeros_(self.table.weight[PADDING])
        nn.init.xavier_uniform_(self.convolution.weight)
        nn.init.zeros_(self.convolution.bias)  # type: ignore[arg-type]

    @classmethod
    def learn(cls, settings: CharacterSettings, train: Sequence[Sentence], others: Sequence[Sentence]) -> Characters:  # noqa: ARG003
        """The characters of the training sentences; any other is unknown."""
        found = {character for sentence in train for token in sentence.tokens for character in token}
        return cls(settings, {"characters": sorted(found)})

    def prepare(self, sentences: Sequence[Sentence]) -> Features:
        """Each word's spelling [R], and the spellings' characters [spellings, longest]."""
        spellings: dict[str, int] = {}
        rows = [spellings.setdefault(token, len(spellings)) for sentence in sentences for token in sentence.tokens]
        half = self.settings.longest // 2
        table = torch.zeros(len(spellings), min(2 * half, max(map(len, spellings), default=1)), dtype=torch.long)
        for row, word in enumerate(spellings):
            read = word if len(word) <= 2 * half else word[:half] + word[-half:]
            table[row, : len(read)] = torch.tensor([self.index.get(character, UNKNOWN) for character in read])
        return {"rows": torch.tensor(rows, dtype=torch.long), "spellings": table}

    def forward(self, batch: Batch, features: Features) -> Tensor:
        """Embed the batch's words [B, T, filters]."""
        rows: Tensor = features["rows"][batch.rows]
        if rows.is_cuda:  # convolving a spelling twice costs less than waiting to know which ones differ
            return self._convolved(features["spellings"][rows.flatten()]).view(*rows.shape, self.size)
        spellings, back = rows.unique(return_inverse=True)
        characters = features["spellings"][spellings]  # [U, C]
        longest = int((characters != PADDING).sum(1).max())
        return self._convolved(characters[:, :longest])[back]

    def _convolved(self, characters: Tensor) -> Tensor:
        """Spellings [U, C] to vectors [U, filters]."""
        states = self.convolution(self.dropout(self.table(characters)).transpose(1, 2)).relu()  # [U, filters, C]
        states = states.masked_fill((characters == PADDING)[:, None], 0)  # after ReLU, 0 is the least
        longest: Tensor = states.amax(2)
        return longest
