"""Inference time of the instance head against the classifier, in one run on the same sentences.

    python benchmarks/inference.py TRAIN TEST [--vectors F] [--epochs 2] [--whole 76] [--out results.json]

Both heads are trained for a few epochs on part of TRAIN (time does not depend on how good they are, but the number
of entities found should be sensible); the instance head's memory holds all of TRAIN. Then both annotate TEST in
turns: all sentences in batches, and 300 of them one at a time, as they come from a person who types. Times are medians
over the turns, per sentence, splitting and decoding included; on a CPU of processor time, all threads together, so that
what else runs on the machine counts little. With --whole so many sentences ask the whole memory too, in batches.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import torch

import nearspan
from nearspan.model import Model
from nearspan.segment import split
from nearspan.training.data import TrainingData

PART = 150  # documents that the heads are trained on
SINGLES = 300


def model_of(recipe: str, options: argparse.Namespace) -> Model:
    documents = nearspan.read(options.train).documents
    settings = [f"training.epochs={options.epochs}", "training.batch=16", "training.learning_rate=0.002"]
    if options.vectors:
        settings.append(f"encoder.vectors.file={options.vectors}")
    with tempfile.TemporaryDirectory() as folder:
        chosen = nearspan.recipe(f"{recipe}-paper").override(settings)
        run = nearspan.train(chosen, documents[:PART], out=Path(folder) / recipe, device=options.device)
    if recipe == "instance":
        data = TrainingData.of(documents, run.model.recipe, run.model.split)
        run.model.build_datastore(data.labelled_sentences)
    return run.model


def whole(model: Model, documents: list[nearspan.Document], clock: Callable[[], float]) -> dict[str, float]:
    """Milliseconds for a sentence that asks the whole memory, by budget."""
    model.set_search("whole")
    times = {}
    for budget in (512, 64):
        model.network.head.budget = budget * 2**20
        began = clock()
        list(model.pipe(documents))
        times[f"budget_{budget}_mb"] = round(1000 * (clock() - began) / len(documents), 1)
    return times


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("train", type=Path)
    arguments.add_argument("test", type=Path)
    arguments.add_argument("--vectors", default="")
    arguments.add_argument("--epochs", type=int, default=2)
    arguments.add_argument("--turns", type=int, default=5)
    arguments.add_argument("--whole", type=int, default=0)
    arguments.add_argument("--device", default="cpu")
    arguments.add_argument("--out", type=Path)
    options = arguments.parse_args()
    models = {name: model_of(name, options) for name in ("classifier", "instance")}
    documents = nearspan.read(options.test).documents
    sentences = sum(len(split(document)) for document in documents)
    singles = [nearspan.Document(s.text) for document in documents for s in split(document)][:SINGLES]
    times: dict[str, dict[str, list[float]]] = {way: {name: [] for name in models} for way in ("batches", "singly")}
    record: dict[str, int] = {}
    clock = time.process_time if options.device == "cpu" else time.perf_counter
    for turn in range(options.turns + 1):
        for name, model in models.items():
            began = clock()
            record[name] = sum(len(document.entities) for document in model.pipe(documents))
            between = clock()
            for single in singles:
                list(model.pipe([single]))
            if turn:  # the first is for warming up
                times["batches"][name].append((between - began) / sentences)
                times["singly"][name].append((clock() - between) / len(singles))
    medians = {
        way: {name: round(1000 * statistics.median(turns), 4) for name, turns in of_way.items()}
        for way, of_way in times.items()
    }
    result = {
        "sentences": sentences,
        "memory_spans": len(models["instance"].datastore or ()),
        "entities_found": record,
        "ms_per_sentence": medians,
        "ratio": {way: round(of_way["instance"] / of_way["classifier"], 2) for way, of_way in medians.items()},
        "hardware": f"{options.device}, {platform.machine()}, {torch.get_num_threads()} threads",
        "torch": torch.__version__,
    }
    if options.whole:
        result["whole_memory_ms_per_sentence"] = whole(models["instance"], singles[: options.whole], clock)
    print(json.dumps(result, indent=1))
    if options.out:
        options.out.write_text(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
