"""Complete a vector file that lacks words by another of the same training text, and cut it to corpora's words.

    python benchmarks/fill_vectors.py glove.6B.100d.txt glove.6B.50d.txt OUT.txt.gz CORPUS... [--plain] [--known F]

The 100-dimensional GloVe file at hand lacks "a", "i", digits and most punctuation; the 50-dimensional one has
them all. A linear map from 50 to 100 dimensions, fitted by least squares on the 50,000 most frequent words that
both files know, gives the missing words a vector. `--plain` leaves the holes as they are. `--known` is a file with true
vectors of some missing words, which come before the guesses; numbers are then kept as they are written and as a shape
(`encoder.vectors.numbers`).
"""

from __future__ import annotations

import argparse
import gzip
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from nearspan.encoders.static_vectors import StaticVectorSettings, lookup_forms
from nearspan.encoders.vector_files import read_vectors
from nearspan.encoders.word_memory import normalize_digits
from nearspan.formats import read
from nearspan.segment import split

FITTED = 50_000


Table = dict[str, NDArray[np.float32]]


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("holes", type=Path)
    arguments.add_argument("complete", type=Path)
    arguments.add_argument("out", type=Path)
    arguments.add_argument("corpora", type=Path, nargs="+")
    arguments.add_argument("--plain", action="store_true")
    arguments.add_argument("--known", type=Path)
    options = arguments.parse_args()

    wanted = written_forms(options.corpora) if options.known else words_of(options.corpora)
    table = table_of(options.holes)
    print(f"{len(wanted)} words in the corpora, {len(wanted & table.keys())} in {options.holes.name}")
    fitting = table.keys()
    if options.known:
        table = table_of(options.known) | table
        print(f"{len(wanted & table.keys())} with {options.known.name}")
    if not options.plain:
        complete = table_of(options.complete)
        both = [word for word in complete if word in fitting][:FITTED]
        guess = fit_map(np.stack([complete[word] for word in both]), np.stack([table[word] for word in both]))
        table |= {word: guess(row) for word, row in complete.items() if word in wanted and word not in table}
        print(f"{len(wanted & table.keys())} after filling")
    write(options.out, table, wanted)


def words_of(corpora: list[Path]) -> set[str]:
    """The words of corpora as word tables know them."""
    return {
        lookup_forms(token, StaticVectorSettings())[-1]
        for path in corpora
        for document in read(path)
        for sentence in split(document)
        for token in sentence.tokens
    }


def written_forms(corpora: list[Path]) -> set[str]:
    """The words of corpora as they are written, in lower case, and each of these with a 0 for each digit."""
    tokens = {token for path in corpora for document in read(path) for s in split(document) for token in s.tokens}
    return {form for token in tokens for word in (token, normalize_digits(token)) for form in (word, word.lower())}


def table_of(path: Path) -> Table:
    words, vectors = read_vectors(path, limit=10**9)
    return dict(zip(words, vectors.astype(np.float32), strict=True))


def fit_map(x: NDArray[np.float32], y: NDArray[np.float32]) -> Callable[[NDArray[np.float32]], NDArray[np.float32]]:
    """The linear map of least squares from rows of x to rows of y."""
    padded = np.hstack([x, np.ones((len(x), 1), np.float32)])
    weights, *_ = np.linalg.lstsq(padded, y, rcond=None)
    explained = 1 - ((padded @ weights - y) ** 2).sum() / ((y - y.mean(0)) ** 2).sum()
    print(f"the map explains {explained:.1%} of the variance of {len(x)} words")
    return lambda row: np.append(row, 1) @ weights


def write(out: Path, table: Table, wanted: set[str]) -> None:
    with gzip.open(out, "wt", encoding="utf-8") as file:
        for word, row in table.items():
            if word in wanted:
                file.write(word + " " + " ".join(f"{value:.4g}" for value in row) + "\n")


if __name__ == "__main__":
    main()
