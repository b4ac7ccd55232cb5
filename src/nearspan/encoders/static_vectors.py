"""Word embeddings: pretrained rows that stay as they are, and trained rows for the words without one."""

import logging
from collections import Counter
from collections.abc import Sequence
from operator import attrgetter
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numpy as np
import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional

from nearspan.encoders.batches import Batch, Features
from nearspan.encoders.vector_files import read_vectors
from nearspan.encoders.word_feature import WordFeature
from nearspan.encoders.word_memory import normalize_digits
from nearspan.errors import ConfigError, ModelError
from nearspan.io.paths import is_file
from nearspan.registry import register
from nearspan.segment import Sentence
from nearspan.settings import Settings

logger = logging.getLogger(__name__)

UNKNOWN, NUMBER = "<unknown>", "<number>"


class StaticVectorSettings(Settings):
    """Static word vectors."""

    kind: Literal["static_vectors"] = "static_vectors"
    file: str = ""  # a GloVe, word2vec or fastText text file; without one all rows are trained
    size: int = Field(default=100, ge=1, le=10_000)  # width of the vectors where no file gives it
    read: bool = True  # false: similar sentences are found by them, and nothing else is made of them
    trainable: bool = False  # train the pretrained rows of training words too
    lower: bool = True  # look a word up in lower case where it is not known as it is written
    # all numbers are one word; each digit of a word is a 0; or it is where the word is not known as it is written
    numbers: Literal["one", "shape", "written"] = "one"
    limit: int = Field(default=400_000, ge=0)  # words kept from the file beside those of the corpora
    least: int = Field(default=1, ge=1)  # how often a word without a vector must occur to have a row of its own
    missing: Literal["own", "shared"] = (
        "own"  # words that the file lacks have rows of their own, or share that of unknown
    )
    singletons: float = Field(default=0.5, ge=0, le=1)  # how often training hides a word seen once, with no vector


def lookup_forms(word: str, settings: StaticVectorSettings) -> tuple[str, ...]:
    """What a word is looked up by, in order: as it is written, without case, its digits or all of a number alike.

    The last form is the word's own where no vector is known by any of them.

    >>> lookup_forms("Oslo", StaticVectorSettings()), lookup_forms("1,024.5", StaticVectorSettings())
    (('Oslo', 'oslo'), ('<number>',))
    >>> lookup_forms("B-52", StaticVectorSettings(numbers="shape"))
    ('B-00', 'b-00')
    >>> lookup_forms("B-52", StaticVectorSettings(numbers="written"))
    ('B-52', 'b-52', 'b-00')
    """
    lower = word.lower() if settings.lower else word
    if settings.numbers == "one":
        if not word.lstrip("+-").replace(",", "").replace(".", "").isdecimal():
            return word, lower
        return (NUMBER,) if settings.read else (word, NUMBER)  # those that only find sentences know numbers as written
    shape = normalize_digits(word)
    lower_shape = shape.lower() if settings.lower else shape
    return (shape, lower_shape) if settings.numbers == "shape" else (word, lower, lower_shape)


def _whole_words(sentence: Sentence) -> list[str]:
    """For each word of a sentence the whole word that it is a piece of: vectors that only find sentences know these."""
    text, words = sentence.document.text, sentence.words
    return [text[words[a][0] : words[b - 1][1]] for a, b in sentence.runs for _ in range(a, b)]


class StaticVectors(WordFeature):
    """Looks words up; rows [0, trained) learn, the rest are pretrained and frozen."""

    Settings: ClassVar[type[Settings]] = StaticVectorSettings
    capturable: ClassVar[bool] = True

    def __init__(self, settings: StaticVectorSettings, vocabulary: dict[str, Any]) -> None:
        super().__init__()
        self.settings, self.vocabulary = settings, vocabulary
        self.places: Sequence[int] = range(len(vocabulary["trained"]))  # of its trained rows in what it has grown from
        trained, frozen = vocabulary["trained"], vocabulary["frozen"]
        if trained[:1] != [UNKNOWN]:
            raise ModelError(f"the vocabulary of words is damaged: its first trained word is not {UNKNOWN}")
        self.from_file = bool(frozen) or len(trained) > vocabulary["own"]
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
    def from_corpus(cls, settings: StaticVectorSettings, train: Sequence[Sentence], others: Sequence[Sentence]) -> Self:
        """Words of the training sentences get rows; pretrained vectors serve any other word.

        Where the vectors are not read no row would ever learn: words without a vector are 0, and a number has its own.
        """
        if not settings.read and (settings.trainable or not settings.file):
            raise ConfigError(
                "vectors that are not read (encoder.vectors.read=false) find similar sentences as they are: "
                "give encoder.vectors.file, and leave encoder.vectors.trainable=false"
            )
        size, table = settings.size, {}
        words_of = attrgetter("tokens") if settings.read else _whole_words
        if settings.file:
            tokens = {token for sentence in (*train, *others) for token in words_of(sentence)}
            forms = {form for token in tokens for form in lookup_forms(token, settings)}
            words, vectors = read_vectors(Path(settings.file), settings.limit, tokens | forms)
            table, size = dict(zip(words, vectors, strict=True)), vectors.shape[1]
        counts: Counter[str] = Counter()
        for token, count in Counter(token for sentence in train for token in words_of(sentence)).items():
            forms_of_token = lookup_forms(token, settings)
            counts[next((form for form in forms_of_token if form in table), forms_of_token[-1])] += count
        if not settings.read and not any(word in table for word in counts):
            raise ConfigError(
                f"no word of the training data has a vector in {settings.file}, and similar sentences are to be found "
                "by it: give vectors of the data's language to encoder.vectors.file"
            )
        pretrained = [word for word in table if word not in (UNKNOWN, NUMBER)]
        shared = not settings.read or (settings.missing == "shared" and bool(settings.file))
        least = float("inf") if shared else settings.least
        missing = [word for word in counts if word not in table and word != NUMBER and counts[word] >= least]
        # a row that training never reads has no gradient, so it may as well be frozen
        tuned = [word for word in pretrained if word in counts] if settings.trainable else []
        frozen = [word for word in pretrained if word not in counts] if settings.trainable else pretrained
        fresh = [UNKNOWN, NUMBER, *missing]
        seen = sorted({token for sentence in train for token in sentence.tokens})
        content = {"trained": [*fresh, *tuned], "frozen": frozen, "size": size, "own": len(fresh), "seen": seen}
        module = cls(settings, content)
        if tuned:
            module.trained.data[len(fresh) :] = torch.stack([torch.from_numpy(table[word]) for word in tuned]).float()
        if frozen:
            module.frozen.copy_(torch.stack([torch.from_numpy(table[word]) for word in frozen]))
        rare = torch.tensor([counts[word] == 1 for word in missing], dtype=torch.bool)
        module.single[2 : 2 + len(missing)] = rare
        return module

    @torch.no_grad()
    def grow(self, train: Sequence[Sentence], others: Sequence[Sentence]) -> Self:
        """The same with rows for the words of more sentences: those of the file, where it is still there, and rows that
        begin as the one of unknown words.
        """
        settings, content = self.settings, self.vocabulary
        words_of = attrgetter("tokens") if settings.read else _whole_words
        known, table = set(self.index), dict[str, Any]()
        forms = {token: lookup_forms(token, settings) for sentence in (*train, *others) for token in words_of(sentence)}
        missing = {token: each for token, each in forms.items() if known.isdisjoint(each)}
        if missing and settings.file and is_file(Path(settings.file)):
            wanted = {form for each in missing.values() for form in each}
            words, vectors = read_vectors(Path(settings.file), 0, wanted)
            table = {word: vector for word, vector in zip(words, vectors, strict=True) if word in wanted}
        elif missing and settings.file:
            logger.warning("%s is not here: %d new words have no pretrained vectors", settings.file, len(missing))
        shared = not settings.read or (settings.missing == "shared" and bool(settings.file))
        counts = Counter(token for sentence in train for token in words_of(sentence) if token in missing)
        own = Counter[str]()
        for token, count in counts.items() if not shared else ():
            if table.keys().isdisjoint(missing[token]):
                own[missing[token][-1]] += count
        fresh = [word for word, count in own.items() if count >= settings.least]
        if not fresh and not table:
            return self
        first, seen = content["own"], {token for sentence in train for token in sentence.tokens}
        places = [*range(first), *[0] * len(fresh), *range(first, len(content["trained"]))]  # 0: that of unknown words
        grown = type(self)(
            settings,
            content
            | {
                "trained": [*content["trained"][:first], *fresh, *content["trained"][first:]],
                "frozen": [*content["frozen"], *table],
                "own": first + len(fresh),
                "seen": sorted(seen.union(content["seen"])),
            },
        )
        grown.places = places
        grown.trained.copy_(self.trained[places])
        grown.single.copy_(self.single[places])
        grown.single[first : first + len(fresh)] = torch.tensor([own[word] == 1 for word in fresh], dtype=torch.bool)
        more = torch.tensor(np.array(list(table.values()))).half().view(-1, self.size)
        grown.frozen.copy_(torch.cat([self.frozen, more.to(self.frozen.device)]))
        return grown

    def prepare(self, sentences: Sequence[Sentence]) -> Features:
        """Each word's row [R]."""
        index, settings, rows = self.index, self.settings, list[int]()
        row_of: dict[str, int] = {}
        for sentence in sentences:
            for token in sentence.tokens if settings.read else _whole_words(sentence):
                if token not in row_of:
                    known = (index[form] for form in lookup_forms(token, settings) if form in index)
                    row_of[token] = next(known, index[UNKNOWN])
                rows.append(row_of[token])
        return {"rows": torch.tensor(rows, dtype=torch.long)}

    @property
    def pretrained_words(self) -> list[str]:
        """The words that have a pretrained vector."""
        return [*self.vocabulary["trained"][self.vocabulary["own"] :], *self.vocabulary["frozen"]]

    def pretrained_vectors(self, batch: Batch, features: Features) -> Tensor:
        """The vectors that a file gave to the batch's words [B, T, size]; 0 where it gave none."""
        missing = features["rows"][batch.rows] < self.vocabulary["own"]
        return self.forward(batch, features).masked_fill(missing[..., None], 0)

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


register("word_feature", StaticVectors)
