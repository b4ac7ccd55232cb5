"""What `fragment_linker` costs on a corpus without discontinuous entities: training and annotating with it and without.

    python benchmarks/fragment_linker_cost.py TRAIN DEV [--recipe classifier] [--sentences 2000] [--turns 3]
        [--set part.key=value] [--device cpu] [--out results.json]

The two take turns, and the best turn of each counts. Where the training data holds no discontinuous entity the part is
not built, so scores must be equal to the last digit; the weights are compared too.
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
from nearspan.report.papers.curves import split_sentences


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("train", type=Path)
    arguments.add_argument("dev", type=Path)
    arguments.add_argument("--recipe", default="classifier")
    arguments.add_argument("--sentences", type=int, default=2000)
    arguments.add_argument("--turns", type=int, default=3)
    arguments.add_argument("--set", action="append", default=[])
    arguments.add_argument("--device", default="cpu")
    arguments.add_argument("--out", type=Path)
    options = arguments.parse_args()
    train, dev = (
        [part for document in nearspan.read(path).documents for part in split_sentences(document)][: options.sentences]
        for path in (options.train, options.dev)
    )
    recipe = nearspan.recipe(options.recipe).override(options.set)
    recipes = {"linker": recipe, "without": recipe.override(["fragment_linker=none"])}
    training, annotating = (dict.fromkeys(recipes, float("inf")) for _ in range(2))
    scores: dict[str, float] = {}
    weights: dict[str, dict[str, torch.Tensor]] = {}
    for turn in range(options.turns):
        for name in sorted(recipes, reverse=bool(turn % 2)):
            with tempfile.TemporaryDirectory() as folder:
                run = nearspan.train(recipes[name], train, dev, out=Path(folder) / "m", device=options.device)
            began = time.perf_counter()
            for _ in run.model.pipe(dev):
                pass
            annotating[name] = min(annotating[name], time.perf_counter() - began)
            training[name] = min(training[name], run.seconds)
            scores[name] = run.dev.scores.f1 if run.dev else 0.0
            weights[name] = run.model.network.state_dict()
            print(f"{name}: {run.seconds:.1f} s, F1 {100 * scores[name]:.2f}", flush=True)
    same = weights["linker"].keys() == weights["without"].keys() and all(
        torch.equal(tensor, weights["without"][key]) for key, tensor in weights["linker"].items()
    )
    record: dict[str, Any] = {
        "recipe": options.recipe,
        "settings": options.set,
        "sentences": len(train),
        "hardware": torch.cuda.get_device_name() if options.device != "cpu" else f"CPU {platform.machine()}, 1 thread",
        "training seconds": {name: round(value, 2) for name, value in training.items()},
        "annotating seconds": {name: round(value, 2) for name, value in annotating.items()},
        "time with linker to time without": [
            round(times["linker"] / times["without"], 3) for times in (training, annotating)
        ],
        "development f1": scores,
        "equal weights": same,
    }
    print(json.dumps(record, indent=1))
    if options.out:
        options.out.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
