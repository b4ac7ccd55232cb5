"""Where the time of a training step goes: on the clock, on the device, and by operation.

    python benchmarks/step_profile.py TRAIN RECIPE [--set part.key=value] [--documents 2000] [--steps 10]
        [--device cuda] [--out results.json]

All batches come from the first documents of TRAIN. The first steps are not counted. The clock runs without the
profiler, which is then asked for the device's time alone: of the GPU, or of the processor where there is none.
"""

from __future__ import annotations

import argparse
import json
import platform
import time
from pathlib import Path

import torch
from torch.profiler import ProfilerActivity, profile

import nearspan
from nearspan.model import Model
from nearspan.training.data import TrainingData
from nearspan.training.trainer import Trainer, accelerator_for

WARM = 3


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("train", type=Path)
    arguments.add_argument("recipe")
    arguments.add_argument("--set", action="append", default=[])
    arguments.add_argument("--documents", type=int, default=2000)
    arguments.add_argument("--steps", type=int, default=10)
    arguments.add_argument("--most", type=int, default=20, help="operations to name")
    arguments.add_argument("--device", default="")
    arguments.add_argument("--out", type=Path)
    options = arguments.parse_args()
    recipe = nearspan.recipe(options.recipe).override(options.set)
    documents = nearspan.read(options.train).documents[: options.documents]
    data = TrainingData.of(documents, recipe, recipe.splitter())
    accelerator = accelerator_for(recipe, options.device)
    torch.manual_seed(0)
    model = Model.from_corpus(recipe, data.sentences, data.labels, entities=data.entities).to(accelerator.device)
    trainer = Trainer(recipe, model, data, accelerator, seed=0)
    for group in trainer.optimizer.param_groups:
        group["lr"] = 1e-6  # whatever it learns, it costs the same
    batches = trainer._batches(0)
    gpu = accelerator.device.type == "cuda"

    def steps(count: int) -> float:
        """Do so many steps: seconds on the clock."""
        began = time.perf_counter()
        for step in range(count):
            trainer._step(batches[step % len(batches)], 0, step, len(batches))
        if gpu:
            torch.cuda.synchronize()
        return time.perf_counter() - began

    steps(WARM)
    if gpu:
        torch.cuda.reset_peak_memory_stats()
    clock = steps(options.steps)
    with profile(activities=[ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if gpu else [])]) as profiled:
        steps(options.steps)
    times = {
        event.key: (event.self_device_time_total if gpu else event.self_cpu_time_total) / options.steps / 1e3
        for event in profiled.key_averages()
        if event.key.startswith("aten::") or "::" in event.key
    }
    most = sorted(times.items(), key=lambda item: -item[1])[: options.most]
    record = {
        "hardware": torch.cuda.get_device_name() if gpu else platform.machine(),
        "torch": torch.__version__,
        "recipe": options.recipe,
        "set": options.set,
        "sentences_a_step": recipe.training.batch,
        "steps": options.steps,
        "clock_ms": round(1e3 * clock / options.steps, 1),
        "device_ms": round(sum(times.values()), 1),
        "peak_gib": round(torch.cuda.max_memory_allocated() / 2**30, 2) if gpu else None,
        "operations_ms": {key: round(value, 2) for key, value in most},
    }
    print(json.dumps(record, indent=1))
    if options.out:
        options.out.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
