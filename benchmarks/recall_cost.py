"""What the memory of training words costs in training: seconds an epoch with it and without, in one run.

    python benchmarks/recall_cost.py TRAIN [--vectors glove.txt] [--most 100 500] [--epochs 3] [--set part.key=value]
        [--device cuda] [--out results.json]

The recipe `hire` without `encoder.word_memory`, and with it for each T; all else is the same. One epoch of each is
trained in turn, again and again, so that a machine's moods meet all of them; the first round is not counted, because
the memory is empty in it. An epoch is its steps and the writing of the memory, without scoring. Times are medians of
epochs (Luo et al., 2020, figure 3: 1.19 times the base at T = 500)."""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import time
from pathlib import Path
from typing import Any

import torch

import nearspan
from nearspan.model import Model
from nearspan.training.data import TrainingData
from nearspan.training.trainer import Trainer, accelerator_for


class Variant:
    def __init__(self, settings: list[str], documents: Any, device: str) -> None:
        recipe = nearspan.recipe("hire").override(settings)
        data = TrainingData.of(documents, recipe, recipe.splitter())
        accelerator = accelerator_for(recipe, device)
        torch.manual_seed(0)
        model = Model.from_corpus(recipe, data.sentences, data.labels, entities=data.entities).to(accelerator.device)
        self.trainer = Trainer(recipe, model, data, accelerator, seed=0)
        self.encoder = model.network.encoder
        self.steps: list[float] = []
        self.writing: list[float] = []
        for group in self.trainer.optimizer.param_groups:
            group["lr"] = recipe.training.learning_rate / 10  # whatever it learns, it costs the same

    def epoch(self, number: int) -> None:
        batches = self.trainer._batches(number)
        began = _now()
        for step, ids in enumerate(batches):
            self.trainer._step(ids, number, step, len(batches))
        stepped = _now()
        self.encoder.write_word_memory(self.trainer.corpus)
        self.steps.append(stepped - began)
        self.writing.append(_now() - stepped)


def _now() -> float:
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.perf_counter()


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("train", type=Path)
    arguments.add_argument("--vectors", default="")
    arguments.add_argument("--most", type=int, nargs="+", default=[100, 200, 300, 400, 500, 600, 700])
    arguments.add_argument("--epochs", type=int, default=3)
    arguments.add_argument("--documents", type=int, default=0, help="the first so many; 0: all")
    arguments.add_argument("--set", action="append", default=[])
    arguments.add_argument("--device", default="")
    arguments.add_argument("--out", type=Path)
    options = arguments.parse_args()
    documents = nearspan.read(options.train).documents
    documents = documents[: options.documents or None]
    shared = [f"encoder.vectors.file={options.vectors}", *options.set]
    variants = {"base": Variant([*shared, "encoder.word_memory=none"], documents, options.device)}
    for most in options.most:
        variants[f"T={most}"] = Variant([*shared, f"encoder.word_memory.most={most}"], documents, options.device)
    for number in range(options.epochs + 1):
        for variant in variants.values():
            variant.epoch(number)
    record = {}
    for name, variant in variants.items():
        steps, writing = statistics.median(variant.steps[1:]), statistics.median(variant.writing[1:])
        whole = statistics.median(a + b for a, b in zip(variant.steps[1:], variant.writing[1:], strict=True))
        record[name] = {"steps_s": round(steps, 3), "writing_s": round(writing, 3), "epoch_s": round(whole, 3)}
        record[name]["against_base"] = round(whole / record["base"]["epoch_s"], 3)
        print(name, record[name], flush=True)
    gpu = next(iter(variants.values())).trainer.accelerator.device.type == "cuda"
    about = {
        "hardware": torch.cuda.get_device_name() if gpu else platform.machine(),
        "torch": torch.__version__,
        "documents": len(documents),
        "epochs": options.epochs,
        "set": options.set,
    }
    if options.out:
        options.out.write_text(json.dumps({**about, "variants": record}, indent=1) + "\n")


if __name__ == "__main__":
    main()
