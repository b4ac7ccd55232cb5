"""Train GloVe vectors (Pennington et al., 2014) on the words of corpora, where none are to be had.

    python benchmarks/train_vectors.py OUT.txt.gz CORPUS... [--size 64] [--least 3] [--window 5] [--epochs 60]

Luo et al. (2020) train theirs for Spanish with 64 dimensions, words that occur at least three times, and a window of
five; on which text they do not say. Give training text only. Words are lower-cased and numbers are one word, as
`encoder.words` looks them up.
"""

from __future__ import annotations

import argparse
import gzip
from collections import Counter
from pathlib import Path

import torch
from torch import Tensor

from nearspan.corpora import read
from nearspan.encoders.words import normal
from nearspan.text import split

HEAVY, POWER = 100.0, 0.75  # x_max and alpha of the paper's weighting


def pairs(sentences: list[list[int]], window: int, words: int) -> tuple[Tensor, Tensor]:
    """Pairs of words [N, 2] and their counts [N], a pair at distance d counting 1 / d."""
    keys, counts = [], []
    for sentence in sentences:
        row = torch.tensor(sentence)
        for distance in range(1, min(window, len(row) - 1) + 1):
            both = torch.stack([row[:-distance], row[distance:]])
            both = both[:, (both >= 0).all(0)]
            keys += [both[0] * words + both[1], both[1] * words + both[0]]
            counts += [torch.full((both.shape[1],), 1 / distance)] * 2
    found, back = torch.cat(keys).unique(return_inverse=True)
    total = torch.zeros(len(found)).index_add_(0, back, torch.cat(counts))
    return torch.stack([found // words, found % words], 1), total


def trained(index: Tensor, counts: Tensor, words: int, size: int, epochs: int) -> Tensor:
    """Vectors [words, size]: w_i . v_j + b_i + c_j near log X_ij, with less weight for rare pairs."""
    table = torch.empty(2, words, size + 1).uniform_(-0.5 / size, 0.5 / size).requires_grad_()
    optimizer = torch.optim.Adagrad([table], lr=0.05)
    weights, targets = (counts / HEAVY).pow(POWER).clamp(max=1), counts.log()
    for epoch in range(epochs):
        total = 0.0
        for rows in torch.randperm(len(counts)).split(8192):
            first, second = table[0, index[rows, 0]], table[1, index[rows, 1]]
            score = (first[:, :-1] * second[:, :-1]).sum(1) + first[:, -1] + second[:, -1]
            loss = (weights[rows] * (score - targets[rows]) ** 2).sum()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(f"epoch {epoch + 1}: {total / len(counts):.4f}", flush=True)
    return table.detach().sum(0)[:, :-1]


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("out", type=Path)
    arguments.add_argument("corpora", type=Path, nargs="+")
    arguments.add_argument("--size", type=int, default=64)
    arguments.add_argument("--least", type=int, default=3)
    arguments.add_argument("--window", type=int, default=5)
    arguments.add_argument("--epochs", type=int, default=60)
    options = arguments.parse_args()
    torch.manual_seed(0)
    documents = [document for path in options.corpora for document in read(path).documents]
    texts = [[normal(token, lower=True) for token in one.tokens] for document in documents for one in split(document)]
    counts = Counter(token for text in texts for token in text)
    words = [word for word, count in counts.most_common() if count >= options.least and " " not in word]
    number = {word: row for row, word in enumerate(words)}
    index, seen = pairs([[number.get(token, -1) for token in text] for text in texts], options.window, len(words))
    print(f"{len(words):,} words, {len(seen):,} pairs", flush=True)
    vectors = trained(index, seen, len(words), options.size, options.epochs)
    with gzip.open(options.out, "wt", encoding="utf-8") as file:
        for word, vector in zip(words, vectors.tolist(), strict=True):
            file.write(" ".join([word, *(f"{value:.4f}" for value in vector)]) + "\n")


if __name__ == "__main__":
    main()
