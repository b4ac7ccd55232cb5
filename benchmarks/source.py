"""A source for new labels: one model trained on several corpora at once, each with labels of its own.

    OMP_NUM_THREADS=1 python benchmarks/source.py RECIPE DATA --corpora conll2003=14000 litbank=5000 --out MODEL

DATA holds the corpora unpacked, as for `corpora.py`. Of each corpus so many training sentences are drawn with seed 0;
the epoch is chosen on `--dev` development sentences of each. What it took is written to MODEL/source.json.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from pathlib import Path

from first_ten_minutes import CORPORA, one_by_one

import nearspan


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recipe")
    parser.add_argument("data", type=Path)
    parser.add_argument("--corpora", nargs="+", required=True, help="NAME=SENTENCES")
    parser.add_argument("--set", nargs="*", default=[])
    parser.add_argument("--encoder", default="minilm")
    parser.add_argument("--dev", type=int, default=500, help="development sentences of each")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    train, dev = {}, {}
    for name, most in (corpus.split("=") for corpus in options.corpora):
        splits = [one_by_one(nearspan.read(options.data / file).documents) for file in CORPORA[name][:2]]
        for kept, documents, count in zip((train, dev), splits, (int(most), options.dev), strict=True):
            kept[name] = random.Random(0).sample(documents, min(count, len(documents)))
    settings = [f"encoder.transformer.name={options.encoder}", "training.minutes=0", *options.set]
    recipe = nearspan.recipe(options.recipe).override(settings)
    began = time.process_time()
    run = nearspan.train(recipe, train, dev, out=options.out, device="cpu", callbacks=[nearspan.training.ProgressBar()])
    record = {
        "command": ["python", *sys.argv],
        "sentences": {name: len(documents) for name, documents in train.items()},
        "processor_seconds": round(time.process_time() - began, 1),
        "dev_f1": round(100 * run.dev.scores.f1, 2),
    }
    (options.out / "source.json").write_text(json.dumps(record, indent=1))


if __name__ == "__main__":
    main()
