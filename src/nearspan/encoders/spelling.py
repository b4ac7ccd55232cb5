"""Learned vectors of words and of their spellings, in a table of fixed size that words are hashed into.

A word's vector is the sum of a row each for the word, its lower case, its beginnings and ends, and its shape (as in
fastText, Bojanowski et al., 2017, and spaCy's hash embeddings). No vocabulary is kept: any word has its rows, and two
words that share one by chance differ in others.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, Literal, Self
from zlib import crc32

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional

from nearspan.encoders.batches import Batch, Features
from nearspan.encoders.word_feature import WordFeature
from nearspan.registry import register
from nearspan.segment import Sentence
from nearspan.settings import Settings


class SpellingSettings(Settings):
    """How large the table is, and what is dropped of a word's vector in training."""

    kind: Literal["spelling"] = "spelling"
    size: int = Field(default=64, ge=1, le=10_000)
    rows: int = Field(default=8192, ge=16, le=100_000_000)
    dropout: float = Field(default=0.0, ge=0, lt=1)


class Spelling(WordFeature):
    """Sums the rows of a word's forms."""

    Settings: ClassVar[type[Settings]] = SpellingSettings
    capturable: ClassVar[bool] = True

    def __init__(self, settings: SpellingSettings) -> None:
        super().__init__()
        self.settings, self.size = settings, settings.size
        self.table = nn.Parameter(torch.empty(settings.rows, settings.size))
        nn.init.normal_(self.table, std=len(word_forms("x")) ** -0.5 / 2)
        self.dropout = nn.Dropout(settings.dropout)

    @classmethod
    def from_vocabulary(cls, settings: SpellingSettings, vocabulary: None) -> Self:
        """The feature; it has no vocabulary."""
        del vocabulary
        return cls(settings)

    @classmethod
    def from_disk(cls, settings: SpellingSettings, folder: Path, read_vocabulary: Callable[[], Any]) -> Self:
        """The feature with weights still to be filled in; there is no file to read."""
        del folder, read_vocabulary
        return cls(settings)

    def prepare(self, sentences: Sequence[Sentence]) -> Features:
        """The rows of each word's forms [R, forms]."""
        spellings: dict[str, int] = {}
        rows = [spellings.setdefault(token, len(spellings)) for sentence in sentences for token in sentence.tokens]
        hashed = [[crc32(form.encode("utf-8", "replace")) for form in word_forms(word)] for word in spellings]
        table = torch.tensor(hashed, dtype=torch.long).view(-1, len(word_forms("x"))) % self.settings.rows
        return {"rows": torch.tensor(rows, dtype=torch.long), "hashed": table}

    def forward(self, batch: Batch, features: Features) -> Tensor:
        """Embed the batch's words [B, T, size]."""
        hashed = features["hashed"][features["rows"][batch.rows]]  # [B, T, forms]
        bags = functional.embedding_bag(hashed.flatten(0, 1), self.table, mode="sum")
        vectors: Tensor = self.dropout(bags).view(*batch.rows.shape, self.size)
        return vectors


@lru_cache(maxsize=100_000)
def word_forms(word: str) -> tuple[str, ...]:
    """What is known of a word's spelling; the first letter says which form it is.

    >>> word_forms("Lübecks")
    ('wLübecks', 'llübecks', '1L', '3lüb', '5lübec', '2ks', '4ecks', 'sXxxxx')
    """
    lower = word.lower()
    return (
        f"w{word}",
        f"l{lower}",
        f"1{word[:1]}",
        f"3{lower[:3]}",
        f"5{lower[:5]}",
        f"2{lower[-2:]}",
        f"4{lower[-4:]}",
        f"s{word_shape(word)}",
    )


def word_shape(word: str) -> str:
    """Its letters as X and x, its digits as d, all else as it is; of a run of one kind four at most.

    >>> word_shape("NF-kappaB1"), word_shape("2014")
    ('XX-xxxxXd', 'dddd')
    """
    shape: list[str] = []
    for letter in word:
        kind = "d" if letter.isdigit() else letter if not letter.isalpha() else "X" if letter.isupper() else "x"
        if shape[-4:] != [kind] * 4:
            shape.append(kind)
    return "".join(shape)


register("word_feature", Spelling)
