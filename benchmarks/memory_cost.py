"""What it costs to ask the whole memory: equation 2 over every training span, exact, within a budget.

    python benchmarks/memory_cost.py [--spans 1000000] [--device cpu] [--out results.json]

Random vectors of the size that CoNLL-2003's training set has with max_width 6; a sentence asks with 75 spans. For
comparison the 50 nearest sentences of the same memory (3,600 spans). Times are medians; peak memory is what the
call needs beside the memory itself and its own result.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import time
from pathlib import Path

import torch

from nearspan.knn import Pool, pool_probabilities, probabilities_over_all

LABELS, WIDTH, SENTENCE, NEAREST = 5, 100, 75, 3600


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--spans", type=int, default=1_000_000)
    arguments.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    arguments.add_argument("--repeat", type=int, default=7)
    arguments.add_argument("--out", type=Path)
    options = arguments.parse_args()
    torch.manual_seed(0)
    pool = Pool(
        torch.randn(options.spans, WIDTH, device=options.device),
        torch.randint(0, LABELS, (options.spans,), device=options.device),
    )
    gpu = options.device.startswith("cuda")
    rows = []
    for sentences in (1, 16):
        vectors = torch.randn(SENTENCE * sentences, WIDTH, device=options.device)
        near = Pool(pool.vectors[:NEAREST], pool.labels[:NEAREST])
        nearest, _ = time_call(lambda v=vectors, p=near: pool_probabilities(v, p, LABELS), options.repeat, gpu)
        for budget in (64, 512):
            call = lambda v=vectors, b=budget: probabilities_over_all(v, pool, LABELS, b * 2**20)  # noqa: E731
            seconds, peak = time_call(call, options.repeat, gpu)
            rows.append(
                {
                    "sentences": sentences,
                    "budget_mb": budget,
                    "whole_ms_per_sentence": round(1000 * seconds / sentences, 3),
                    "nearest_ms_per_sentence": round(1000 * nearest / sentences, 3),
                    "peak_mb": peak,
                }
            )
            print(rows[-1], flush=True)
    result = {
        "spans": options.spans,
        "hardware": torch.cuda.get_device_name() if gpu else f"{platform.machine()}, {torch.get_num_threads()} threads",
        "torch": torch.__version__,
        "rows": rows,
    }
    if options.out:
        options.out.write_text(json.dumps(result, indent=1))


def time_call(call, repeat: int, gpu: bool) -> tuple[float, float | None]:  # type: ignore[no-untyped-def]
    """Median seconds, and on a GPU the peak of extra memory in MB."""
    call()
    times, peak = [], None
    for _ in range(repeat):
        if gpu:
            torch.cuda.synchronize()
            torch.cuda.reset_peak_memory_stats()
            before = torch.cuda.memory_allocated()
        began = time.perf_counter()
        call()
        if gpu:
            torch.cuda.synchronize()
            peak = round((torch.cuda.max_memory_allocated() - before) / 2**20, 1)
        times.append(time.perf_counter() - began)
    return statistics.median(times), peak


if __name__ == "__main__":
    main()
