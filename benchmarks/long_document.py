"""The memory that annotating one document takes, by the document's length: it should not grow with it.

    python benchmarks/long_document.py MODEL [--words 2000 10000 20000] [--sentence 20] [--out results.json]

Each length is annotated by a process of its own, whose peak of resident memory beyond what it held before is told.
`--sentence 0` makes the document one sentence.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

from nearspan.document import Document
from nearspan.model import Model

TEXT = "The University of Oslo and Ada Lovelace signed a treaty with the Bank of England in Rome while it rained"


def peak() -> float:
    """The most resident memory so far, in megabytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) / 1024


def text(words: int, sentence: int) -> str:
    known = TEXT.split()
    out = [known[i % len(known)] + ("." if sentence and i % sentence == sentence - 1 else "") for i in range(words)]
    return " ".join(out)


def measure_length(model: Path, words: int, sentence: int) -> None:
    loaded = Model.load(model, "cpu")
    list(loaded.pipe([text(200, sentence or 50)]))  # what is built on first use is not the document's
    before = peak()
    began = time.perf_counter()
    [document] = loaded.pipe([Document(text(words, sentence))])
    seconds = time.perf_counter() - began
    print(
        json.dumps(
            {
                "words": words,
                "mb": round(peak() - before),
                "seconds": round(seconds, 1),
                "entities": len(document.entities),
            }
        )
    )


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("model", type=Path)
    arguments.add_argument("--words", type=int, nargs="+", default=[2000, 10_000, 20_000])
    arguments.add_argument("--sentence", type=int, default=20)
    arguments.add_argument("--one", type=int, default=0, help=argparse.SUPPRESS)
    arguments.add_argument("--out", type=Path)
    options = arguments.parse_args()
    if options.one:
        return measure_length(options.model, options.one, options.sentence)
    rows = []
    for words in options.words:
        command = [
            sys.executable,
            __file__,
            str(options.model),
            "--one",
            str(words),
            "--sentence",
            str(options.sentence),
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        rows.append(json.loads(done.stdout.splitlines()[-1]))
        print(rows[-1], flush=True)
    if options.out:
        recipe = Model.load(options.model, "cpu").recipe
        kept = {
            "recipe": recipe.name,
            "max_width": recipe.suggester.max_width,
            "sentence": options.sentence,
            "rows": rows,
        }
        options.out.write_text(json.dumps(kept, indent=1) + "\n")
    return None


if __name__ == "__main__":
    main()
