"""What the generators of `joint-ib` cost in training and in annotating, and how well they tell entities.

    python benchmarks/joint_cost.py TRAIN TEST --encoder FOLDER [--synonyms F] [--bleu DEV] [--set KEY=VALUE] [--out F]

Three systems, the same recipe with the same settings but for the parts that are left out:

- `linear`: bottleneck=none, losses.generators=none. Span vectors, a linear layer and sigmoids: the paper's baseline.
- `classifier`: losses.generators=none. The bottleneck and its five draws, and no generators: the classifier alone,
  all of the first term of equation 7 and none of the second. The ratios are to this one, and to `linear` too.
- `joint`: all of equation 7 in every step (pretraining=0, which leaves no cheap epochs), with both generators.

Training: sentences a second in the epochs after the first, without scoring, with all that a step does; the systems
take turns, and the best turn counts. Annotating: TEST from text to entities, the systems in turns, the best turn after
one to warm up. Without --synonyms each entity has the ten of other entities' names that a generator learns at most: a
dearer case than real ones.

With --bleu the recipe is also trained as it is, with its pre-training and --bleu-set settings, and BLEU-2 of the greedy
reconstructions of DEV's entities is measured beside F1. No text of a corpus is written.
"""

from __future__ import annotations

import argparse
import json
import platform
import random
import tempfile
import time
from pathlib import Path
from typing import Any

import torch

import nearspan
from nearspan.config import Recipe
from nearspan.document import Document
from nearspan.losses import SynonymSource
from nearspan.model import Model
from nearspan.report.papers import generation

SYSTEMS = {
    "linear": ["bottleneck=none", "losses.generators=none"],
    "classifier": ["losses.generators=none"],
    "joint": ["losses.generators.pretraining=0"],
}


class OtherNames:
    """As many synonyms for every entity as a generator takes: the names of others."""

    def __init__(self, documents: list[Document], most: int = 10) -> None:
        names = {entity.span.text(document.text) for document in documents for entity in document.entities}
        self.names, self.most = sorted(names), most

    def of(self, text: str) -> tuple[str, ...]:
        return tuple(random.Random(text).sample(self.names, min(self.most, len(self.names))))


def train_recipe(
    recipe: Recipe, train: list[Document], synonyms: SynonymSource, options: argparse.Namespace
) -> tuple[Model, float]:
    """A model and the sentences a second of its epochs after the first."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "m"
        source = synonyms if recipe.losses.generators else None
        run = nearspan.train(recipe, train, out=out, device=options.device, synonyms=source)
        ends = [json.loads(line)["seconds"] for line in (out / "metrics.jsonl").read_text().splitlines()]
    sentences = sum(len(run.model.split(document)) for document in train)
    return run.model, sentences * (len(ends) - 1) / (ends[-1] - ends[0])


def annotating(models: dict[str, Model], test: list[Document], turns: int) -> dict[str, float]:
    """Sentences a second of each, in turns; the first warms up. On a CPU, processor time: others may use it too."""
    best = dict.fromkeys(models, float("inf"))
    for turn in range(turns + 1):
        for name, model in models.items():
            clock = time.process_time if model.device.type == "cpu" else time.perf_counter
            began = clock()
            for _ in model.pipe(test):
                pass
            taken = clock() - began
            best[name] = min(best[name], taken) if turn else best[name]
    return {name: sum(len(model.split(document)) for document in test) / best[name] for name, model in models.items()}


def score_generation(
    recipe: Recipe, train: list[Document], synonyms: SynonymSource, options: argparse.Namespace
) -> dict[str, Any]:
    """BLEU-2 and F1 of the recipe as it is."""
    dev = list(nearspan.read(options.bleu).documents)
    with tempfile.TemporaryDirectory() as folder:
        run = nearspan.train(recipe, train, dev, out=Path(folder) / "m", device=options.device, synonyms=synonyms)
    generated = generation(run.model, dev)
    return {
        "settings": options.bleu_set,
        "bleu2": round(generated.bleu2, 4),
        "ceiling": round(generated.ceiling, 4),
        "entities": len(generated.entities),
        "f1": round(run.dev.scores.f1, 4) if run.dev else None,
        "epoch": run.best_epoch,
    }


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("train", type=Path)
    arguments.add_argument("test", type=Path)
    arguments.add_argument("--encoder", required=True)
    arguments.add_argument("--synonyms", action="append", default=[])
    arguments.add_argument("--bleu", type=Path)
    arguments.add_argument("--bleu-set", action="append", default=[])
    arguments.add_argument("--epochs", type=int, default=3)
    arguments.add_argument("--turns", type=int, default=3)
    arguments.add_argument("--device", default="")
    arguments.add_argument("--set", action="append", default=[])
    arguments.add_argument("--out", type=Path)
    options = arguments.parse_args()
    train, test = (list(nearspan.read(path).documents) for path in (options.train, options.test))
    synonyms = nearspan.synonyms(options.synonyms) if options.synonyms else OtherNames(train)
    joint = nearspan.recipe("joint-ib").override([f"encoder.transformer.name={options.encoder}", *options.set])
    models: dict[str, Model] = {}
    rates = dict.fromkeys(SYSTEMS, 0.0)
    for _ in range(options.turns):
        for name, settings in SYSTEMS.items():
            recipe = joint.override([*settings, f"training.epochs={options.epochs}"])
            models[name], rate = train_recipe(recipe, train, synonyms, options)
            rates[name] = max(rates[name], rate)
            print(f"{name}: {rate:.1f} sentences a second in training", flush=True)
    used = annotating(models, test, options.turns)
    record: dict[str, Any] = {
        "settings": options.set,
        "synonyms": "files" if options.synonyms else "ten names of others",
        "training": {name: round(rate, 1) for name, rate in rates.items()},
        "annotating": {name: round(rate, 1) for name, rate in used.items()},
        "joint to classifier": [round(times["joint"] / times["classifier"], 3) for times in (rates, used)],
        "joint to linear": [round(times["joint"] / times["linear"], 3) for times in (rates, used)],
    }
    if options.bleu:
        record["told"] = score_generation(joint.override(options.bleu_set), train, synonyms, options)
    print(json.dumps(record, indent=1), flush=True)
    hardware = torch.cuda.get_device_name() if torch.cuda.is_available() else platform.processor()
    if options.out:
        options.out.write_text(
            json.dumps({"hardware": hardware, "torch": torch.__version__, **record}, indent=1) + "\n"
        )


if __name__ == "__main__":
    main()
