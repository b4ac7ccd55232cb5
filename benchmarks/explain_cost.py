"""What it costs to look up the spans of a memory that are nearest to one: by words, and by the spans' own vectors.

    python benchmarks/explain_cost.py MODEL [--asked 10] [--out results.json]

MODEL is a model whose memory is kept by words (LSTM-minus, or a head over words). Spans of the memory are asked
about, one by one: the first time that lengths are needed is told apart from the others, which find them kept. Times are
processor time, all threads together; both ways are taken in turns.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import time
from pathlib import Path

import torch

import nearspan
from nearspan.knn import similarities
from nearspan.knn.word_table import PART


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("model", type=Path)
    arguments.add_argument("--asked", type=int, default=10)
    arguments.add_argument("--out", type=Path)
    options = arguments.parse_args()
    memory = nearspan.load(options.model, device="cpu").datastore
    assert memory is not None
    every = torch.arange(len(memory))
    times: dict[str, list[float]] = {"by words": [], "by spans": []}
    for row in torch.linspace(0, len(memory) - 1, options.asked + 1).long():
        asked = memory.rows(row[None])
        began = time.process_time()
        by_words = similarities(memory, asked, cosine=True)
        middle = time.process_time()
        plain = torch.cat([similarities(memory, asked, rows, cosine=True) for rows in every.split(PART)], dim=1)
        times["by words"].append(middle - began)
        times["by spans"].append(time.process_time() - middle)
        assert torch.allclose(by_words, plain, atol=1e-5), "the two ways differ"
    first, rest = times["by words"][0], {way: statistics.median(measured[1:]) for way, measured in times.items()}
    result = {
        "spans": len(memory),
        "size": asked.shape[1],
        "first_s": round(first, 3),
        "seconds": {way: round(seconds, 4) for way, seconds in rest.items()},
        "times_as_fast": round(rest["by spans"] / rest["by words"], 1),
        "hardware": f"cpu, {platform.machine()}, {torch.get_num_threads()} threads, processor time",
        "torch": torch.__version__,
    }
    print(json.dumps(result, indent=1))
    if options.out:
        options.out.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
