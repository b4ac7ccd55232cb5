"""What an epoch of the instance head costs beside one of the classifier: steps, and what follows them.

    OMP_NUM_THREADS=1 python benchmarks/epoch_cost.py TRAIN [--documents 100] [--set part.key=value] [--steps 12]
        [--turns 3] [--before OTHER/src] [--out results.json]

Recipes `classifier` and `instance` take steps on the first documents of TRAIN, in processes of their own that take
turns, `--before` with another version's source too. Times are of the processor: a step's is a mean, without the first
two, a turn's result the median. After the steps of an epoch the instance head fills its memory anew, for the next
scores on the development set.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import torch

RECIPES = ("classifier", "instance")
WARM = 2


def ask(options: argparse.Namespace) -> dict[str, Any]:
    """The cost of a step of one recipe, of an epoch's steps, and of filling the memory."""
    import nearspan
    from nearspan.model import Model
    from nearspan.training.data import TrainingData
    from nearspan.training.trainer import Trainer, accelerator_for

    recipe = nearspan.recipe(options.recipe).override(options.set)
    documents = nearspan.read(options.train).documents[: options.documents]
    data = TrainingData.of(documents, recipe, recipe.splitter())
    torch.manual_seed(0)
    model = Model.from_corpus(recipe, data.sentences, data.labels, entities=data.entities)
    trainer = Trainer(recipe, model, data, accelerator_for(recipe, "cpu"), seed=0)
    for group in trainer.optimizer.param_groups:
        group["lr"] = 1e-4
    batches = trainer._batches(0)
    for step in range(WARM):
        trainer._step(batches[step], 0, step, len(batches))
    steps = range(WARM, min(len(batches), WARM + options.steps))
    began, losses = time.process_time(), list[float]()
    for step in steps:
        losses.append(float(trainer._step(batches[step], 0, step, len(batches))))
    seconds = (time.process_time() - began) / len(steps)
    began = time.process_time()
    trainer.refresh()
    refresh = time.process_time() - began
    return {
        "sentences": len(data.sentences),
        "step_ms": round(1000 * seconds, 1),
        "steps_of_an_epoch_s": round(seconds * len(batches), 2),
        "memory_s": round(refresh, 2),
        "last_loss": losses[-1],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("train", type=Path)
    parser.add_argument("--documents", type=int, default=100)
    parser.add_argument("--set", action="append", default=[])
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--before", type=Path)
    parser.add_argument("--commit", default="")
    parser.add_argument("--hardware", default="")
    parser.add_argument("--recipe", default="", help=argparse.SUPPRESS)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    if options.recipe:
        print(json.dumps(ask(options)))
        return
    sources = {"now": ""} | ({"before": str(options.before)} if options.before else {})
    records: dict[str, list[dict[str, Any]]] = {f"{name} {recipe}": [] for name in sources for recipe in RECIPES}
    for _ in range(options.turns):
        for key, turns in records.items():
            name, recipe = key.split()
            command = [sys.executable, __file__, *sys.argv[1:], "--recipe", recipe]
            environment = os.environ | ({"PYTHONPATH": sources[name]} if sources[name] else {})
            done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True)
            turns.append(json.loads(done.stdout.splitlines()[-1]))
            print(key, turns[-1], flush=True)
    rows = {
        key: {field: statistics.median(turn[field] for turn in turns) for field in turns[0]}
        for key, turns in records.items()
    }
    ratios = {
        name: round(rows[f"{name} instance"]["step_ms"] / rows[f"{name} classifier"]["step_ms"], 2) for name in sources
    }
    result = {"command": " ".join(sys.argv[1:]), "commit": options.commit, "hardware": options.hardware}
    result |= {"torch": torch.__version__, "instance_over_classifier": ratios, "rows": rows}
    print(json.dumps(result, indent=1))
    if options.out:
        options.out.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
