"""Word embeddings: pretrained rows that stay as they are, and trained rows for the words without one."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Sequence
from pathlib import Path
from typing import Any, Literal

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional

from nearspan.encoders.inputs import Batch, Features
from nearspan.encoders.vectors import read_vectors
from nearspan.errors import ConfigError, ModelError
from nearspan.settings import Settings
from nearspan.text import Sentence

UNKNOWN, NUMBER = "<unknown>", "<number>"


class WordSettings(Settings):
    """Static word vectors."""

    file: str = ""  # a GloVe, word2vec or fastText text file; without one all rows are trained
    size: int = Field(default=100, ge=1, le=10_000)  # width of the vectors where no file gives it
    read: bool = True  # false: similar sentences are found by them, and nothing else is made of them
    trainable: bool = False  # train the pretrained rows of training words too
    lower: bool = True  # look a word up in lower case where it is not known as it is written
    # all numbers are one word; each digit of a word is a 0; or it is where the word is not known as it is written
    numbers: Literal["one", "shape", "written"] = "one"
    limit: int = Field(default=400_000, ge=0)  # words kept from the file beside those of the corpora
    least: int = Field(default=1, ge=1)  # how often a word without a vector must occur to have a row of its own
    singletons: float = Field(default=0.5, ge=0, le=1)  # how often training hides a word seen once, with no vector


def normal(word: str, lower: bool, numbers: str = "one") -> str:
    """A word without what vectors seldom tell apart: numbers are one word or a shape, and case goes if asked.

    >>> normal("1,024.5", lower=True), normal("Oslo", lower=True)
    ('<number>', 'oslo')
    >>> normal("1,024.5", True, "shape"), normal("B-52", True, "shape")
    ('0,000.0', 'b-00')
    """
    if numbers != "one":
        word = shape(word)
    elif word.lstrip("+-").replace(",", "").replace(".", "").isdecimal():
        return NUMBER
    return word.lower() if lower else word


def shape(word: str) -> str:
    """A word with a 0 for each digit."""
    return re.sub(r"\d", "0", word)


def key(word: str, settings: WordSettings, known: Container[str]) -> str:
    """What a word is looked up by: as it is written where that is known, else as `normal` has it.

    >>> key("Oslo", WordSettings(), {"Oslo"}), key("Oslo", WordSettings(), {"oslo"})
    ('Oslo', 'oslo')
    >>> key("B-52", WordSettings(numbers="written"), {"b-52"}), key("B-52", WordSettings(numbers="written"), {})
    ('b-52', 'b-00')
    """
    found = normal(word, settings.lower, settings.numbers)
    if settings.numbers == "shape":
        word = shape(word)
    elif settings.numbers == "written" and settings.lower and word not in known and word.lower() in known:
        return word.lower()
    if found == NUMBER and settings.read:  # vectors that only find sentences know numbers as they are written
        return found
    return word if word in known else found


def looked_up(sentence: Sentence, settings: WordSettings) -> list[str]:
    """A sentence's words; where they only find sentences, for each of its pieces the whole word that it is of."""
    if settings.read:
        return sentence.tokens
    text, words = sentence.document.text, sentence.words
    return [text[words[a][0] : words[b - 1][1]] for a, b in sentence.runs for _ in range(a, b)]


class Words(nn.Module):
    """Looks words up; rows [0, trained) learn, the rest are pretrained and frozen."""

    def __init__(self, settings: WordSettings, vocabulary: dict[str, Any]) -> None:
        super().__init__()
        self.settings = settings
        self.vocabulary = vocabulary
        trained, frozen = vocabulary["trained"], vocabulary["frozen"]
        if trained[:1] != [UNKNOWN]:
            raise ModelError(f"the vocabulary of words is damaged: its first trained word is not {UNKNOWN}")
        self.index = {word: row for row, word in enumerate([*trained, *frozen])}
        self.size = vocabulary["size"]
        self.trained = nn.Parameter(torch.empty(len(trained), self.size))
        self.frozen: Tensor
        self.register_buffer("frozen", torch.zeros(len(frozen), self.size, dtype=torch.float16))
        self.single: Tensor  # [trained] words that training saw once
        self.register_buffer("single", torch.zeros(len(trained), dtype=torch.bool))
        if settings.read:
            nn.init.uniform_(self.trained, -((3 / self.size) ** 0.5), (3 / self.size) ** 0.5)
        else:
            nn.init.zeros_(self.trained).requires_grad_(False)

    @classmethod
    def learn(cls, settings: WordSettings, train: Sequence[Sentence], others: Sequence[Sentence]) -> Words:
        """Words of the training sentences get rows; pretrained vectors serve any other word.

        Where the vectors are not read no row would ever learn: words without a vector are 0, and a number has its own.
        """
        if not settings.read and (settings.trainable or not settings.file):
            raise ConfigError(
                "vectors that are not read (encoder.words.read=false) find similar sentences as they are: "
                "give encoder.words.file, and leave encoder.words.trainable=false"
            )
        size, table = settings.size, {}
        if settings.file:
            tokens = {token for sentence in (*train, *others) for token in looked_up(sentence, settings)}
            also = {*tokens, *(token.lower() for token in tokens)}
            also |= {normal(token, settings.lower, settings.numbers) for token in tokens}
            words, vectors = read_vectors(Path(settings.file), settings.limit, also)
            table, size = dict(zip(words, vectors, strict=True)), vectors.shape[1]
        counts = Counter(key(token, settings, table) for sentence in train for token in looked_up(sentence, settings))
        if not settings.read and not any(word in table for word in counts):
            raise ConfigError(
                f"no word of the training data has a vector in {settings.file}, and similar sentences are to be found "
                "by it: give vectors of the data's language to encoder.words.file"
            )
        pretrained = [word for word in table if word not in (UNKNOWN, NUMBER)]
        least = settings.least if settings.read else float("inf")
        missing = [word for word in counts if word not in table and word != NUMBER and counts[word] >= least]
        # a row that training never reads has no gradient, so it may as well be frozen
        tuned = [word for word in pretrained if word in counts] if settings.trainable else []
        frozen = [word for word in pretrained if word not in counts] if settings.trainable else pretrained
        own = [UNKNOWN, NUMBER, *missing]
        seen = sorted({token for sentence in train for token in sentence.tokens})
        content = {"trained": [*own, *tuned], "frozen": frozen, "size": size, "own": len(own), "seen": seen}
        module = cls(settings, content)
        if tuned:
            module.trained.data[len(own) :] = torch.stack([torch.from_numpy(table[word]) for word in tuned]).float()
        if frozen:
            module.frozen.copy_(torch.stack([torch.from_numpy(table[word]) for word in frozen]))
        rare = torch.tensor([counts[word] == 1 for word in missing], dtype=torch.bool)
        module.single[2 : 2 + len(missing)] = rare
        return module

    def prepare(self, sentences: Sequence[Sentence]) -> Features:
        """Each word's row [R]."""
        index, settings = self.index, self.settings
        unknown = index[UNKNOWN]
        rows = [
            index.get(key(token, settings, index), unknown)
            for sentence in sentences
            for token in looked_up(sentence, settings)
        ]
        return {"rows": torch.tensor(rows, dtype=torch.long)}

    @property
    def pretrained(self) -> list[str]:
        """The words that have a pretrained vector."""
        return [*self.vocabulary["trained"][self.vocabulary["own"] :], *self.vocabulary["frozen"]]

    def forward(self, batch: Batch, features: Features, table: Tensor | None = None) -> Tensor:
        """Embed the batch's words [B, T, size]; `table` [trained, size] stands in for the rows that learn."""
        rows = features["rows"][batch.rows]
        table = self.trained if table is None else table
        trained = len(table)
        learned = rows.clamp(max=trained - 1)
        if self.training and self.settings.singletons:
            hidden = self.single[learned] & (torch.rand(rows.shape, device=rows.device) < self.settings.singletons)
            learned = learned.masked_fill(hidden & (rows < trained), 0)
        vectors = functional.embedding(learned, table)
        if len(self.frozen):
            fixed = self.frozen[(rows - trained).clamp(min=0)].to(vectors.dtype)
            vectors = torch.where((rows < trained)[..., None], vectors, fixed)
        return vectors
