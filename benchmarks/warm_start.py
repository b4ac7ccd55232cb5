"""A warm start beside training from scratch, on small training sets of new domains with new labels.

    python benchmarks/warm_start.py SOURCE CROSSNER --domains ai literature music --out results.json

SOURCE is a trained model's folder, CROSSNER holds a folder for each domain with `train.txt` and `dev.txt`. For each
domain the first 5, 20, 50 and 100 training sentences of several draws are learned in up to four ways: from scratch by
a recipe of nearspan (`--scratch`), from SOURCE with its memory kept (old sentences are rehearsed), from SOURCE with its
memory replaced by the new sentences, and that memory without any training. All score the domain's development set; a
model that kept its memory scores the old corpus too (`--old`), as SOURCE does.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import logging
import platform
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

import nearspan
from nearspan.document import Document
from nearspan.evaluation import Evaluator
from nearspan.model import Model
from nearspan.segment import split
from nearspan.training import starting_recipe
from nearspan.training.data import digest

WAYS = ("scratch", "kept", "replaced", "untrained")


def draw(documents: Sequence[Document], count: int, seed: int) -> list[Document]:
    """So many sentences of a corpus by chance, each a document of its own."""
    order = random.Random(seed).sample(range(len(documents)), len(documents))
    return [documents[place] for place in order[:count]]


def sentences_of(documents: Sequence[Document]) -> list[Document]:
    """A corpus with each sentence as a document of its own."""
    return [
        nearspan.Document(
            document.text[sentence.start : sentence.end],
            tuple(
                nearspan.Entity(entity.span.shift(-sentence.start), entity.label)
                for entity in document.entities
                if sentence.start <= entity.start and entity.end <= sentence.end
            ),
            f"{document.id}-{sentence.index}",
            tuple((a - sentence.start, b - sentence.start) for a, b in sentence.words),
            ((0, sentence.end - sentence.start),),
        )
        for document in documents
        for sentence in split(document)
    ]


def score(model: Model, documents: Sequence[Document], labels: Sequence[str] = ()) -> dict[str, float]:
    """F1, precision and recall in percent; where `labels` are given, of entities with these alone."""
    evaluation = Evaluator(model, documents).evaluate()
    scores = {name: round(100 * value, 2) for name, value in evaluation.scores.metrics().items()}
    if not labels:
        return scores
    pairs = list(zip(documents, evaluation.predicted, strict=True))
    gold = {(i, entity) for i, (document, _) in enumerate(pairs) for entity in document.entities}
    read = {(i, e) for i, (_, document) in enumerate(pairs) for e in document.entities if e.label in labels}
    return scores | {"f1_own_labels": round(200 * len(gold & read) / max(1, len(gold) + len(read)), 2)}


def train(
    way: str, arguments: argparse.Namespace, documents: Sequence[Document], seed: int
) -> tuple[Model, float, float]:
    """A model that has learned some documents in a way, and the seconds it took, by the clock and of processors."""
    folder = Path(tempfile.mkdtemp(prefix="warm-"))
    began, processor = time.perf_counter(), time.process_time()
    if way == "untrained":
        shutil.copytree(arguments.source, folder / "model")
        model = Model(**nearspan.model.folder.load(folder / "model"))
        labels = sorted({entity.label for document in documents for entity in document.entities})
        model.build_datastore(model.label_documents(documents), labels=labels)
    elif way == "scratch":
        recipe = nearspan.recipe(arguments.scratch).override(arguments.scratch_set)
        batch = min(recipe.training.batch, max(1, len(documents) // 2))  # others are left to compare with
        recipe = recipe.override([f"training.batch={batch}"])
        model = nearspan.train(recipe, documents, out=folder / "model", seed=seed, device=arguments.device).model
    else:
        recipe = starting_recipe("", arguments.source).override(arguments.set)
        options = {"from_model": arguments.source, "replace_memory": way == "replaced"}
        run = nearspan.train(recipe, documents, out=folder / "model", seed=seed, device=arguments.device, **options)
        model = run.model
    seconds = time.perf_counter() - began, time.process_time() - processor
    shutil.rmtree(folder)
    return model, *seconds


def main() -> None:
    """Learn each draw in each way; results are written after each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("source", type=Path)
    parser.add_argument("crossner", type=Path)
    parser.add_argument("--domains", nargs="+", default=["ai", "literature", "music"])
    parser.add_argument("--sizes", nargs="+", type=int, default=[5, 20, 50, 100])
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--ways", nargs="+", default=list(WAYS))
    parser.add_argument("--old", help="a corpus with the old labels, which a model that kept its memory scores")
    parser.add_argument("--scratch", default="start", help="the recipe that is trained from scratch")
    parser.add_argument("--scratch-set", nargs="*", default=["training.minutes=0", "training.dev_share=0"])
    parser.add_argument("--set", nargs="*", default=[], help="settings of the warm start")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    logging.disable(logging.INFO)
    old = nearspan.read(arguments.old).documents if arguments.old else ()
    result: dict[str, Any] = {
        "command": ["python", *sys.argv],
        "commit": subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True).stdout.strip(),
        "hardware": torch.cuda.get_device_name()
        if arguments.device == "cuda"
        else platform.processor() or platform.machine(),
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
        "source": hashlib.sha256((arguments.source / "config.toml").read_bytes()).hexdigest()[:16],
        "data": {},
        "runs": [],
    }
    if old and "kept" in arguments.ways:
        result["old_before"] = score(nearspan.load(arguments.source, arguments.device), old)
    for domain in arguments.domains:
        corpus = sentences_of(nearspan.read(arguments.crossner / domain / "train.txt").documents)
        dev = nearspan.read(arguments.crossner / domain / "dev.txt").documents
        result["data"][domain] = [digest(corpus), digest(dev)]
        for size in arguments.sizes:
            for seed in range(arguments.draws if size < len(corpus) else min(arguments.draws, 3)):
                documents = draw(corpus, size, seed)
                labels = {entity.label for document in documents for entity in document.entities}
                for way in arguments.ways:
                    model, wall, processor = train(way, arguments, documents, seed)
                    run: dict[str, Any] = {"domain": domain, "sentences": size, "draw": seed, "way": way}
                    run |= {"seconds": round(wall, 1), "processor_seconds": round(processor, 1)}
                    run |= score(model, dev, sorted(labels) if way == "kept" else ())
                    if old and way == "kept":
                        run["old"] = score(model, old)
                    result["runs"].append(run)
                    print(json.dumps(run), flush=True)
                    arguments.out.write_text(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
