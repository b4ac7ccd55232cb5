"""Word vectors from a table of piece vectors: the mean of each word's pieces, on its first principal components.

    python benchmarks/piece_vectors.py sp.model pieces.npy OUT.txt.gz CORPUS... [--size 200]

`sp.model` is a SentencePiece model and `pieces.npy` holds a row a piece, as of the multilingual Universal Sentence
Encoder. Words are those of the corpora as they are written; the components are fitted on them alone, without labels.
Needs sentencepiece.
"""

from __future__ import annotations

import argparse
import gzip
from pathlib import Path

import numpy as np
import sentencepiece

from nearspan.formats import read
from nearspan.segment import split


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("model", type=Path)
    arguments.add_argument("pieces", type=Path)
    arguments.add_argument("out", type=Path)
    arguments.add_argument("corpora", type=Path, nargs="+")
    arguments.add_argument("--size", type=int, default=200)
    options = arguments.parse_args()

    model = sentencepiece.SentencePieceProcessor(model_file=str(options.model))
    table = np.load(options.pieces, mmap_mode="r")
    words = sorted({token for path in options.corpora for doc in read(path) for s in split(doc) for token in s.tokens})
    vectors = np.stack([table[model.encode(word)].astype(np.float32).mean(0) for word in words])
    centred = vectors - vectors.mean(0)
    variances, components = np.linalg.eigh(centred.T @ centred)
    kept = centred @ components[:, ::-1][:, : options.size]
    print(f"{len(words)} words, {variances[::-1][: options.size].sum() / variances.sum():.1%} of their variance")
    with gzip.open(options.out, "wt", encoding="utf-8") as file:
        for word, row in zip(words, kept, strict=True):
            file.write(word + " " + " ".join(f"{value:.4g}" for value in row) + "\n")


if __name__ == "__main__":
    main()
