"""Complete a vector file that lacks words by another of the same training text, and cut it to corpora's words.

    python benchmarks/fill_vectors.py glove.6B.100d.txt glove.6B.50d.txt OUT.txt.gz CORPUS... [--plain]

The 100-dimensional GloVe file at hand lacks "a", "i", digits and most punctuation; the 50-dimensional one has
them all. A linear map from 50 to 100 dimensions, fitted by least squares on the 50,000 most frequent words that
both files know, gives the missing words a vector. `--plain` leaves the holes as they are.
"""

from __future__ import annotations

import argparse
import gzip
from pathlib import Path

import numpy as np

from nearspan.corpora import read
from nearspan.encoders.vectors import read_vectors
from nearspan.encoders.words import normal
from nearspan.text import split

FITTED = 50_000


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("holes", type=Path)
    arguments.add_argument("complete", type=Path)
    arguments.add_argument("out", type=Path)
    arguments.add_argument("corpora", type=Path, nargs="+")
    arguments.add_argument("--plain", action="store_true")
    options = arguments.parse_args()

    wanted = {
        normal(token, lower=True)
        for path in options.corpora
        for document in read(path)
        for sentence in split(document)
        for token in sentence.tokens
    }
    words, vectors = read_vectors(options.holes, limit=10**9)
    table = dict(zip(words, vectors.astype(np.float32), strict=True))
    known = wanted & table.keys()
    print(f"{len(wanted)} words in the corpora, {len(known)} in {options.holes.name}")
    if not options.plain:
        others, smaller = read_vectors(options.complete, limit=10**9)
        both = [(word, row) for word, row in zip(others, smaller.astype(np.float32), strict=True) if word in table]
        x = np.stack([row for _, row in both[:FITTED]])
        y = np.stack([table[word] for word, _ in both[:FITTED]])
        ones = np.ones((len(x), 1), np.float32)
        weights, *_ = np.linalg.lstsq(np.hstack([x, ones]), y, rcond=None)
        explained = 1 - ((np.hstack([x, ones]) @ weights - y) ** 2).sum() / ((y - y.mean(0)) ** 2).sum()
        print(f"the map explains {explained:.1%} of the variance of {len(x)} words")
        for word, row in zip(others, smaller.astype(np.float32), strict=True):
            if word in wanted and word not in table:
                table[word] = np.append(row, 1) @ weights
        print(f"{len(wanted & table.keys())} after filling")
    with gzip.open(options.out, "wt", encoding="utf-8") as file:
        for word, row in table.items():
            if word in wanted:
                file.write(word + " " + " ".join(f"{value:.4g}" for value in row) + "\n")


if __name__ == "__main__":
    main()
