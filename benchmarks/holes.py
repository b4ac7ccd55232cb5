"""What holes in a vector file cost, on a file that has none: vectors whose holes are filled as those of another file.

    python benchmarks/holes.py glove.6B.50d.txt glove.6B.100d.txt OUT CORPUS... [--kept 23]

The 100-dimensional GloVe file at hand lacks words, and `fill_vectors.py` fills them by a map that explains 55.5% of
the variance. What the true vectors would give cannot be asked of that file. It can be asked of the 50-dimensional one,
which is complete: OUT/complete.txt.gz has its vectors, OUT/filled.txt.gz has them too, but for the words that the other
file lacks only the first `--kept` numbers are known, and a map fit_map on the words of both files guesses the others.
OUT/both.txt.gz has both files side by side for the words of the first, the second one with its holes filled by it.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from fill_vectors import FITTED, Table, fit_map, table_of, words_of, write


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("complete", type=Path)
    arguments.add_argument("holes", type=Path)
    arguments.add_argument("out", type=Path)
    arguments.add_argument("corpora", type=Path, nargs="+")
    arguments.add_argument("--kept", type=int, default=23)
    options = arguments.parse_args()

    wanted = words_of(options.corpora)
    complete, holes = table_of(options.complete), table_of(options.holes)
    print(f"{len(wanted)} words in the corpora, {len(wanted & complete.keys())} in {options.complete.name}, ", end="")
    print(f"{len(wanted & complete.keys() & holes.keys())} of them in {options.holes.name}")
    options.out.mkdir(parents=True, exist_ok=True)
    write(options.out / "complete.txt.gz", complete, wanted)
    both = [word for word in complete if word in holes][:FITTED]
    known = {word: row[: options.kept] for word, row in complete.items()}
    write(options.out / "filled.txt.gz", fill(complete, known, both, holes), wanted)
    larger = fill(holes, complete, both, holes)
    write(options.out / "both.txt.gz", {word: np.append(larger[word], row) for word, row in complete.items()}, wanted)


def fill(table: Table, known: Table, both: list[str], holes: Table) -> Table:
    """`table`, with what a map from `known` says of the words that `holes` lacks."""
    guess = fit_map(np.stack([known[word] for word in both]), np.stack([table[word] for word in both]))
    return {word: table[word] if word in holes else guess(row) for word, row in known.items()}


if __name__ == "__main__":
    main()
