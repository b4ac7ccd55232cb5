"""GloVe: word vectors learned from how often words stand near each other (Pennington et al., 2014).

Every pair of words i, j that stand within a window of each other adds 1 / distance to X_ij. The vectors w_i, the
context vectors u_j and the biases b_i, c_j make

    J = sum over X_ij > 0 of f(X_ij) (w_i . u_j + b_i + c_j - log X_ij)^2,   f(x) = min(1, (x / x_max)^0.75)

as small as they can, by AdaGrad. A word's vector is w_i + u_i.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field
from torch import Tensor

from nearspan.device import usable_seed
from nearspan.document import Document
from nearspan.encoders.static_vectors import NUMBER, StaticVectorSettings, lookup_forms
from nearspan.errors import NearspanError
from nearspan.io.atomic import write_file
from nearspan.io.outputs import check_outputs
from nearspan.segment import split
from nearspan.settings import Settings

POWER = 0.75  # of f
BLOCK = 500_000  # words, about: their pairs are counted at once
LEARNING_RATE = 0.05  # AdaGrad's

EpochCallback = Callable[[int, float], None]  # is told the epoch and its loss


class GloveSettings(Settings):
    """How vectors are learned from a corpus."""

    size: int = Field(default=300, ge=1, le=10_000)  # of a vector
    window: int = Field(default=10, ge=1, le=10_000)  # words to each side that count as near
    least: int = Field(default=2, ge=1)  # how often a word must occur to have a vector
    epochs: int = Field(default=25, ge=1)  # passes over all pairs
    x_max: float = Field(default=10.0, ge=1e-3, allow_inf_nan=False)  # pairs with so much and more weigh 1
    batch: int = Field(default=16_384, ge=1, le=100_000_000)  # pairs in a step
    lower: bool = False  # write words in lower case


@dataclass(frozen=True)
class Pairs:
    """N pairs of words that stand near each other, both ways round, sorted."""

    word: NDArray[np.int64]  # [N] i
    near: NDArray[np.int64]  # [N] j
    weight: NDArray[np.float64]  # [N] X_ij


@dataclass(frozen=True)
class GloveVectors:
    """Words, the most frequent first, and their vectors."""

    words: list[str]
    vectors: Tensor  # [V, size]
    losses: list[float]  # J / N of each epoch


def learn_vectors(
    documents: Iterable[Document],
    out: Path | str,
    *,
    settings: GloveSettings | None = None,
    characters: bool = False,
    seed: int = 0,
    watch: EpochCallback | None = None,
    force: bool = False,
) -> GloveVectors:
    """Learn word vectors from the texts of documents by GloVe and write them to a text file.

    Give training documents alone. Words of test texts that had vectors would tell a model about the very texts it is
    scored on, and its scores would promise more than new texts keep.

        nearspan.learn_vectors(nearspan.read("train.conll").documents, "vectors.txt")

    A file that is there is written over only with `force`.
    """
    check_outputs([Path(out)], force=force)
    sentences = (sentence.tokens for document in documents for sentence in split(document, characters=characters))
    glove = fit_glove(sentences, settings or GloveSettings(), seed, watch)
    rows = zip(glove.words, glove.vectors.tolist(), strict=True)
    write_file(Path(out), (f"{word} {' '.join(f'{value:.5g}' for value in row)}\n" for word, row in rows))
    return glove


def fit_glove(
    sentences: Iterable[Sequence[str]], settings: GloveSettings, seed: int = 0, watch: EpochCallback | None = None
) -> GloveVectors:
    """Vectors for the words of sentences; the same for the same sentences, settings and seed on a CPU.

    All numbers count as one word, as the encoder has it; it gets no vector, for the encoder learns its own.
    """
    seed = usable_seed(seed)
    lookup = StaticVectorSettings(lower=settings.lower)
    texts = [[lookup_forms(word, lookup)[-1] for word in sentence] for sentence in sentences]
    counts = Counter(word for text in texts for word in text)
    words = sorted((word for word, count in counts.items() if count >= settings.least), key=lambda w: (-counts[w], w))
    if not words:
        raise NearspanError(
            f"no word occurs {settings.least} times in these texts, so there is nothing to learn vectors from: "
            "give more text, or lower `least`"
        )
    number = {word: i for i, word in enumerate(words)}
    pairs = count_pairs([[number.get(word, -1) for word in text] for text in texts], len(words), settings.window)
    if not len(pairs.word):
        raise NearspanError("no two words stand near each other in these texts: raise `window` or give more text")
    vectors, losses = _fit(pairs, len(words), settings, seed, watch)
    kept = [i for i, word in enumerate(words) if word != NUMBER]
    return GloveVectors([words[i] for i in kept], vectors[kept], losses)


def count_pairs(texts: Sequence[Sequence[int]], words: int, window: int) -> Pairs:
    """X_ij of words by number, sentence by sentence; a rare word, numbered -1, counts as distance and no more.

    >>> pairs = count_pairs([[0, 1, -1, 0]], words=2, window=3)
    >>> list(zip(pairs.word.tolist(), pairs.near.tolist(), pairs.weight.round(3).tolist()))
    [(0, 0, 0.667), (0, 1, 1.5), (1, 0, 1.5)]
    """
    keys, weights = np.empty(0, np.int64), np.empty(0)
    ends = accumulate(map(len, texts))
    for _, group in groupby(zip(texts, ends, strict=True), key=lambda pair: pair[1] // BLOCK):
        block = [text for text, _ in group]
        ids = np.concatenate([np.asarray(text, np.int64) for text in block])
        sentence = np.repeat(np.arange(len(block)), [len(text) for text in block])
        all_keys, all_weights = [keys], [weights]
        for distance in range(1, min(window, len(ids) - 1) + 1):
            left, right = ids[:-distance], ids[distance:]
            near = (sentence[:-distance] == sentence[distance:]) & (left >= 0) & (right >= 0)
            all_keys.append(left[near] * words + right[near])
            all_weights.append(np.full(len(all_keys[-1]), 1 / distance))
        keys, weights = _sum_by_key(np.concatenate(all_keys), np.concatenate(all_weights))
    swapped = keys % words * words + keys // words
    keys, weights = _sum_by_key(np.concatenate([keys, swapped]), np.concatenate([weights, weights]))
    return Pairs(keys // words, keys % words, weights)


def _sum_by_key(keys: NDArray[np.int64], weights: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Each key once, with the sum of its weights."""
    distinct, place = np.unique(keys, return_inverse=True)
    sums: NDArray[np.float64] = np.bincount(place, weights=weights, minlength=len(distinct)).astype(np.float64)
    return distinct, sums


class Table:
    """One row of numbers [V, size + 1] a word, its bias last, and AdaGrad's sum of squared gradients of each number."""

    def __init__(self, words: int, size: int, generator: torch.Generator) -> None:
        self.rows = (torch.rand(words, size + 1, generator=generator) - 0.5) / (size + 1)
        self.squares = torch.ones_like(self.rows)  # as the public code begins, so that the first steps are small

    def step(self, index: Tensor, gradient: Tensor) -> None:
        """Move the rows at an index [n] against their gradients [n, size + 1], which are added up for each row."""
        rows, place = index.unique(return_inverse=True)
        total = gradient.new_zeros(len(rows), gradient.shape[1]).index_add_(0, place, gradient)
        squares = self.squares[rows].addcmul_(total, total)
        self.squares[rows] = squares
        self.rows[rows] -= LEARNING_RATE * total / squares.sqrt()


def pair_loss(words: Tensor, contexts: Tensor, weight: Tensor, x_max: float) -> tuple[Tensor, Tensor]:
    """f(X) d^2 and f(X) d [n] for rows [n, size + 1] of words and of contexts, with d = w . u + b + c - log X."""
    error = (words[:, :-1] * contexts[:, :-1]).sum(1) + words[:, -1] + contexts[:, -1] - weight.log()
    pull = (weight / x_max).clamp(max=1) ** POWER * error
    return pull * error, pull


def _fit(
    pairs: Pairs, words: int, settings: GloveSettings, seed: int, watch: EpochCallback | None
) -> tuple[Tensor, list[float]]:
    generator = torch.Generator().manual_seed(seed)
    word_table, context_table = (Table(words, settings.size, generator) for _ in range(2))
    word, near = torch.from_numpy(pairs.word), torch.from_numpy(pairs.near)
    weight = torch.from_numpy(pairs.weight).float()
    losses = []
    for epoch in range(settings.epochs):
        total = 0.0
        for batch in torch.randperm(len(word), generator=generator).split(settings.batch):
            i, j = word[batch], near[batch]
            w, u = word_table.rows[i], context_table.rows[j]
            loss, pull = pair_loss(w, u, weight[batch], settings.x_max)
            total += float(loss.sum())
            slope = 2 * pull[:, None]
            # d J / d w_i = 2 f d u_j, d J / d b_i = 2 f d, and the same the other way round
            word_table.step(i, slope * _with_bias(u))
            context_table.step(j, slope * _with_bias(w))
        losses.append(total / len(word))
        if watch is not None:
            watch(epoch + 1, losses[-1])
    return word_table.rows[:, :-1] + context_table.rows[:, :-1], losses


def _with_bias(rows: Tensor) -> Tensor:
    """What a row [n, size + 1] is multiplied with: the other's vector, and 1 for the bias."""
    return torch.cat([rows[:, :-1], torch.ones_like(rows[:, -1:])], dim=1)
