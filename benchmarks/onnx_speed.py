"""Sentences a second on one core: the same model by torch and by ONNX Runtime.

    python benchmarks/onnx_speed.py ENCODER [--sentences 400] [--rounds 3] [--out results.json]

A `biaffine` model over the frozen encoder is trained on some of the bundled sample, enough to find about as many
entities as there are, and exported. Both runtimes read the sample's sentences, in turn; seconds are of the processor,
as other work may share it. Entities and scores are compared.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from itertools import cycle, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

os.environ |= {"OMP_NUM_THREADS": "1", "ORT_DISABLE_TELEMETRY": "1"}
import onnxruntime
import torch

import nearspan
from nearspan.formats import sample
from nearspan.integrations.onnx import export

QUICK = (
    "encoder.transformer.frozen=true",
    "training.epochs=20",
    "training.batch=8",
    "training.learning_rate=0.003",
)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("encoder")
    arguments.add_argument("--sentences", type=int, default=400)
    arguments.add_argument("--rounds", type=int, default=3)
    arguments.add_argument("--commit", default="")
    arguments.add_argument("--hardware", default="")
    arguments.add_argument("--out", type=Path)
    options = arguments.parse_args()
    torch.set_num_threads(1)
    results: dict[str, Any] = {"command": sys.argv, "commit": options.commit, "hardware": options.hardware}
    results |= {"torch": torch.__version__, "onnxruntime": onnxruntime.__version__, "sentences": options.sentences}
    with TemporaryDirectory() as room:
        settings = [f"encoder.transformer.name={json.dumps(options.encoder)}", *QUICK]
        recipe = nearspan.recipe("biaffine").override(settings)
        train = nearspan.read(sample.path("train"))[:100]
        nearspan.train(recipe, train, train[:20], out=Path(room) / "model", device="cpu")
        began = time.process_time()
        files = export(nearspan.load(Path(room) / "model", "cpu"))
        results["export"] = {"seconds": round(time.process_time() - began, 1)}
        results["export"] |= {file.name: f"{file.stat().st_size / 1e6:.1f} MB" for file in files}
        results |= measure(Path(room) / "model", options)
    print(json.dumps(results, indent=1))
    if options.out:
        options.out.write_text(json.dumps(results, indent=1) + "\n")


def measure(folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    documents = nearspan.read(sample.path("test")).documents
    split = nearspan.recipe("classifier").splitter()
    sentences = [part.text for document in documents for part in split(document)]
    texts = list(islice(cycle(sentences), options.sentences))
    models = {
        "torch": nearspan.load(folder, "cpu"),
        "torch, padded": padded(nearspan.load(folder, "cpu")),
        "onnx": nearspan.load(folder, runtime="onnx"),
    }
    seconds: dict[str, list[float]] = {name: [] for name in models}
    found: dict[str, Any] = {}
    for model in models.values():
        list(model.pipe(texts[:50], workers=1))
    for _ in range(options.rounds):
        for name, model in models.items():
            began = time.process_time()
            found[name] = list(model.pipe(texts, workers=1))
            seconds[name].append(round(time.process_time() - began, 2))
    rates = {name: round(options.sentences / statistics.median(times), 1) for name, times in seconds.items()}
    pairs = [
        (first.score, second.score)
        for one, other in zip(found["torch"], found["onnx"], strict=True)
        if one == other
        for first, second in zip(one.entities, other.entities, strict=True)
    ]
    return {
        "processor_seconds": seconds,
        "sentences_per_second": rates,
        "onnx_to_torch": round(rates["onnx"] / rates["torch"], 2),
        "texts_with_other_entities": sum(a != b for a, b in zip(found["torch"], found["onnx"], strict=True)),
        "entities": len(pairs),
        "largest_difference_of_scores": max((abs(a - b) for a, b in pairs), default=0.0),
    }


def padded(model: Any) -> Any:
    """A model whose encoder is read as transformers reads it, with padding."""
    transformer = model.network.encoder.transformer
    transformer.reader = (transformer.encoder, None)
    return model


if __name__ == "__main__":
    main()
