"""The choices of the recipe `start`, compared on the development data of small cuts in little processor time.

    OMP_NUM_THREADS=1 python benchmarks/start_choices.py DATA --corpora conll2003,ncbi-disease,genia --out results.jsonl

DATA holds the corpora unpacked, as for `corpora.py`. 1,500 training and 500 development sentences are drawn with
seed 0, one run each. `cpu` is the processor time of all of it, reading, scoring and saving included.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import time
from pathlib import Path

from first_ten_minutes import CORPORA, one_by_one

import nearspan

TUNED = ("encoder.transformer.layers=5", "encoder.transformer.frozen=false", "encoder.transformer.frozen_layers=3")
CHARACTERS = "encoder.characters={kind='cnn',size=30,filters=60,window=3,dropout=0.1}"
CHOICES = {
    "start": ("training.epochs=8",),
    "characters beside spellings": ("training.epochs=8", CHARACTERS),
    "compared with 24 others instead of the batch, batches of 16": (
        "training.epochs=8",
        "training.batch=16",
        "head.batch_neighbours=false",
        "head.training_neighbours=24",
    ),
    "four layers": ("training.epochs=8", "encoder.transformer.layers=4"),
    "two layers fine-tuned above three": ("training.epochs=4", "encoder.transformer.learning_rate=2e-4", *TUNED),
    "a tenth of the nulls": ("training.epochs=8", "head.null_share=0.1"),
    "softmax, no exact evidence": ("training.epochs=8", "head.kind=softmax"),
}


def cut(documents: list[nearspan.Document], most: int) -> list[nearspan.Document]:
    return random.Random(0).sample(documents, min(most, len(documents)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--corpora", default="conll2003")
    parser.add_argument("--choices", default=",".join(CHOICES))
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    for corpus in options.corpora.split(","):
        train, dev = (one_by_one(nearspan.read(options.data / file).documents) for file in CORPORA[corpus][:2])
        for choice in options.choices.split(","):
            began = time.process_time()
            recipe = nearspan.recipe("start").override(["training.minutes=0", *CHOICES[choice]])
            with tempfile.TemporaryDirectory() as folder:
                run = nearspan.train(recipe, cut(train, 1500), cut(dev, 500), out=Path(folder) / "m", device="cpu")
            record = {"corpus": corpus, "choice": choice, "settings": CHOICES[choice]}
            record |= {"dev_f1": round(run.dev.scores.f1, 4), "cpu": round(time.process_time() - began, 1)}
            print(json.dumps(record), flush=True)
            with options.out.open("a", encoding="utf-8") as file:
                file.write(json.dumps(record) + "\n")


if __name__ == "__main__":
    main()
