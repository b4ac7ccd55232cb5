"""Does a model grow by its annotations? F1 on held-out sentences as others are annotated, over seeds and set-ups.

    python benchmarks/annotation_growth.py MODEL UNSEEN --skip 30 --seed 1 --out growth.jsonl [--annotations 50]
        [--ways chosen every next] [--weights 1 8 copies=8 enough train]

MODEL was trained on the first `--skip` documents of UNSEEN, or on another file. Sentences of the rest are annotated as
their gold says and added to the model's memory one after the other. A weight is how often their entities count, with
`copies=` whole sentences; `enough` is as often as it takes; `train` trains the model again at the end from where it is,
with entities that count 8 times until then. Ways to draw sentences:

- `chosen`: at random among the sentences that hold an entity; held out are 300 of the rest at random, with or without
  entities. This is what `label_studio.py` does;
- `every`: at random among all sentences; held out are 300 of the rest;
- `next`: the documents in turn, every other sentence with entities or without; held out are the sentences between them,
  as where somebody annotates a project and its next tasks are of the same documents.

A line of JSON for each way and weight is appended to `--out`. The model starts anew each time.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from many import current_commit

import nearspan
from nearspan.document import Document
from nearspan.evaluation import score
from nearspan.memory import Editor
from nearspan.report.papers.curves import split_sentences

Drawn = tuple[list[Document], list[Document]]  # to annotate, and held out


def draw(documents: list[Document], way: str, count: int, held_out: int, seed: int) -> Drawn:
    """Sentences to annotate and sentences to measure on, which share none."""
    chance = random.Random(seed)
    if way == "next":
        start = chance.randrange(max(len(documents) - count, 1))
        parts = [part for document in documents[start:] for part in split_sentences(document)]
        parts = list({part.text: part for part in parts}.values())[: 2 * count]
        return parts[::2], parts[1::2]
    parts = list({part.text: part for document in documents for part in split_sentences(document)}.values())
    chance.shuffle(parts)
    annotated = [part for part in parts if part.entities or way == "every"][:count]
    names = {part.text for part in annotated}
    return annotated, [part for part in parts if part.text not in names][:held_out]


def counts(text: str) -> dict[str, Any]:
    """What `Editor.add` is told of a weight.

    >>> counts("8"), counts("copies=8")
    ({'weight': 1.0, 'entity_weight': 8.0}, {'weight': 8.0})
    """
    if text == "enough":
        return {"weight": "enough"}
    if text.startswith("copies="):
        return {"weight": float(text.removeprefix("copies="))}
    return {"weight": 1.0, "entity_weight": 8.0 if text == "train" else float(text)}


def measure(folder: Path, drawn: Drawn, weight: str, every: int, seed: int) -> dict[str, Any]:
    """F1 on held-out sentences after each `every` annotations, and after training."""
    annotated, held = drawn
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(scratch) / "model"
        shutil.copytree(folder, copy, ignore=shutil.ignore_patterns("checkpoint*"))
        editor = Editor.open(copy, "cpu")
        model, texts, seconds = editor.model, [Document(each.text) for each in held], []
        scores = {"0": score(held, list(model.pipe(texts)))}
        for number, document in enumerate(annotated, start=1):
            began = time.perf_counter()
            editor.add(Document(document.text, document.entities, f"added-{number}"), **counts(weight))
            seconds.append(time.perf_counter() - began)
            if number % every == 0:
                scores[str(number)] = score(held, list(model.pipe(texts)))
        if weight == "train":
            trained = nearspan.train(from_model=copy, out=Path(scratch) / "trained", seed=seed, device="cpu")
            scores["trained"] = score(held, list(trained.pipe(texts)))
        return {
            "weight": weight,
            "f1": {number: round(each.f1, 4) for number, each in scores.items()},
            "precision": {number: round(each.precision, 4) for number, each in scores.items()},
            "recall": {number: round(each.recall, 4) for number, each in scores.items()},
            "median_seconds_to_add": round(statistics.median(seconds), 3),
        }


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("model", type=Path)
    arguments.add_argument("unseen", type=Path)
    arguments.add_argument("--skip", type=int, default=0, help="documents that the model was trained on")
    arguments.add_argument("--annotations", type=int, default=50)
    arguments.add_argument("--held-out", type=int, default=300)
    arguments.add_argument("--every", type=int, default=10)
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--name", default="", help="what the set-up is called in the record")
    arguments.add_argument("--ways", nargs="+", default=["chosen", "every", "next"])
    arguments.add_argument("--weights", nargs="+", default=["1", "8", "copies=8", "enough", "train"])
    arguments.add_argument("--out", type=Path, required=True)
    options = arguments.parse_args()
    documents = list(nearspan.read(options.unseen).documents[options.skip :])
    if len(documents) == 1:  # columns without -DOCSTART-
        documents = split_sentences(documents[0])
    recipe = json.loads((options.model / "result.json").read_text())["recipe"]["name"]
    for way in options.ways:
        drawn = draw(documents, way, options.annotations, options.held_out, options.seed)
        for weight in options.weights:
            row = measure(options.model, drawn, weight, options.every, options.seed)
            about = {"name": options.name, "recipe": recipe, "way": way, "seed": options.seed, "held": len(drawn[1])}
            about["commit"] = current_commit()
            with options.out.open("a", encoding="utf-8") as file:
                file.write(json.dumps(about | row) + "\n")
            print(json.dumps(about | row), flush=True, file=sys.stderr)


if __name__ == "__main__":
    main()
