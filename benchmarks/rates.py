"""Sentences a second in training and in annotating, one system after the other, on a machine of their own.

    python benchmarks/rates.py TRAIN TEST --encoder FOLDER [--recipes dspert biaffine] [--sentences 4000] [--out F]

Training: the epochs after the first, without scoring; everything a step does is in it. Annotating: TEST from text to
entities, splitting, tokenising and decoding included, the best of three turns after one to warm up. Small models wait
for the host, which launches one small operation after the other: what one of them costs is told too. For orientation,
the public implementations of these systems were measured on the same kind of GPU (an NVIDIA H200) with the same
encoder and spans over words: biaffine 346 and 614, DSpERT 102 and 239 sentences a second.
"""

from __future__ import annotations

import argparse
import json
import platform
import tempfile
import time
from pathlib import Path
from typing import Any

import torch

import nearspan
from nearspan.document import Document

PUBLIC = {"biaffine": (346, 614), "dspert": (102, 239)}


def measure_rates(
    name: str, options: argparse.Namespace, train: list[Document], test: list[Document]
) -> dict[str, Any]:
    settings = [f"encoder.transformer.name={options.encoder}", f"training.epochs={options.epochs}", *options.set]
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / name
        run = nearspan.train(nearspan.recipe(name).override(settings), train, out=out, device=options.device)
        ends = [json.loads(line)["seconds"] for line in (out / "metrics.jsonl").read_text().splitlines()]
    model = run.model
    times = []
    for _ in range(4):
        began = time.perf_counter()
        for _ in model.pipe(test):
            pass
        times.append(time.perf_counter() - began)
    count = sum(len(document.sentences or ()) for document in train)
    asked = sum(len(document.sentences or ()) for document in test)
    record = {
        "training": round(count * (len(ends) - 1) / (ends[-1] - ends[0]), 1),
        "annotating": round(asked / min(times[1:]), 1),
        "settings": settings,
    }
    if name in PUBLIC:
        record["ratios"] = [
            round(record[k] / p, 2) for k, p in zip(("training", "annotating"), PUBLIC[name], strict=True)
        ]
    print(name, record, flush=True)
    return record


def launching() -> float:
    """Microseconds that the host takes for one small operation."""
    numbers = torch.zeros(8, device="cuda" if torch.cuda.is_available() else "cpu")
    times = []
    for _ in range(5):
        began = time.perf_counter()
        for _ in range(2000):
            numbers.add_(1)
        times.append(time.perf_counter() - began)
        float(numbers[0])
    return round(1e6 * min(times) / 2000, 2)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("train", type=Path)
    arguments.add_argument("test", type=Path)
    arguments.add_argument("--encoder", required=True)
    arguments.add_argument("--recipes", nargs="+", default=["dspert", "biaffine", "shallow"])
    arguments.add_argument("--sentences", type=int, default=4000)
    arguments.add_argument("--epochs", type=int, default=3)
    arguments.add_argument("--device", default="")
    arguments.add_argument("--set", action="append", default=[])
    arguments.add_argument("--out", type=Path)
    options = arguments.parse_args()
    train: list[Document] = []
    for document in nearspan.read(options.train).documents:
        if sum(len(text.sentences or ()) for text in train) < options.sentences:
            train.append(document)
    test = list(nearspan.read(options.test).documents)
    record: dict[str, Any] = {"launch_us": launching()}
    record |= {name: measure_rates(name, options, train, test) for name in options.recipes}
    hardware = torch.cuda.get_device_name() if torch.cuda.is_available() else platform.processor()
    if options.out:
        options.out.write_text(
            json.dumps({"hardware": hardware, "torch": torch.__version__, **record}, indent=1) + "\n"
        )


if __name__ == "__main__":
    main()
