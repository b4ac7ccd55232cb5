"""How well an audit finds errors: plant them in a corpus, train on it, audit it.

    python benchmarks/planted_noise.py TRAIN DEV --recipe classifier --set training.epochs=5 --seed 1 --out results.json

5% of the entities get another label of the corpus, 5% are dropped, in the training and in the development documents;
training, its choice of the best epoch and the audit see nothing but the noisy annotation. Entities that the model's
spans cannot reach are planted in too, and count as not found.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from rich.console import Console

import nearspan
from nearspan.document import Document, Entity
from nearspan.model import Model
from nearspan.report import Audit, LabelIssue
from nearspan.training import ProgressBar


@dataclass(frozen=True)
class Planted:
    """A corpus with errors, and where they are: by the document's position."""

    documents: list[Document]
    flips: set[tuple[int, Entity]]  # the entity as it now stands, with the wrong label
    drops: set[tuple[int, Entity]]  # the entity that is gone
    originals: dict[str, set[tuple[int, Entity]]]  # both as they were


def plant(documents: Sequence[Document], seed: int, flips: float = 0.05, drops: float = 0.05) -> Planted:
    """Give a share of the entities another label, and take a share away; no entity has both done to it.

    The other label is drawn evenly from the corpus's other labels.
    """
    chance = random.Random(seed)
    labels = sorted({entity.label for document in documents for entity in document.entities})
    places = [(number, entity) for number, document in enumerate(documents) for entity in set(document.entities)]
    places.sort()
    chance.shuffle(places)
    first, second = round(flips * len(places)), round(drops * len(places))
    wrong = {
        (number, entity): Entity(entity.span, chance.choice([label for label in labels if label != entity.label]))
        for number, entity in places[:first]
    }
    gone = set(places[first : first + second])
    noisy = [
        document.with_entities(
            wrong.get((number, entity), entity)
            for entity in dict.fromkeys(document.entities)
            if (number, entity) not in gone
        )
        for number, document in enumerate(documents)
    ]
    flipped = {(number, entity) for (number, _), entity in wrong.items()}
    return Planted(noisy, flipped, gone, {"flips": set(wrong), "drops": gone})


def score_list(result: Audit, planted: Planted) -> dict[str, Any]:
    """Precision and recall of the list for flips and for drops.

    A flip is found by an issue with its annotation, whatever is suggested instead; a drop by a missing entity, or a
    moved boundary, of just its span. Issues with annotations count against the precision for flips, missing entities
    against that for drops.
    """
    rows: dict[str, Any] = {}
    for name, truth in (("flips", planted.flips), ("drops", planted.drops)):
        spans = {(number, entity.span) for number, entity in truth}
        right = {(number, entity.span): entity.label for number, entity in planted.originals[name]}
        side = [(issue.annotated if name == "flips" else _missing(issue), issue) for issue in result.issues]
        hits = [(issue.number, entity.span) in spans for entity, issue in side if entity is not None]
        labels = sum(
            issue.suggested is not None and right.get((issue.number, entity.span)) == issue.suggested.label
            for entity, issue in side
            if entity is not None
        )
        ranks = [rank for rank, hit in enumerate(hits, start=1) if hit]
        at = sum(hits[: len(truth)])
        rows[name] = {
            "planted": len(truth),
            "listed": len(hits),
            "found": len(ranks),
            "precision": len(ranks) / max(1, len(hits)),
            "recall": len(ranks) / max(1, len(truth)),
            "precision_at_planted": at / max(1, len(truth)),
            "average_precision": sum(n / rank for n, rank in enumerate(ranks, start=1)) / max(1, len(truth)),
            "right_label_suggested": labels / max(1, len(ranks)),
            "precision_at_100": sum(hits[:100]) / max(1, len(hits[:100])),
        }
    return rows


def _missing(issue: LabelIssue) -> Entity | None:
    return issue.suggested if issue.kind in ("missing", "wrong boundary") else None


def commit() -> str:
    command = ["git", "rev-parse", "--short", "HEAD"]
    done = subprocess.run(command, cwd=Path(__file__).parent, capture_output=True, text=True, check=False)
    return done.stdout.strip()


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("train", type=Path)
    arguments.add_argument("dev", type=Path)
    arguments.add_argument("--recipe", default="classifier")
    arguments.add_argument("--set", action="append", default=[], dest="settings")
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument(
        "--model", type=Path, help="a model of an earlier call with the same seed; not trained again"
    )
    arguments.add_argument("--device", default="")
    arguments.add_argument("--out", type=Path, required=True)
    options = arguments.parse_args()
    train, dev = (plant(nearspan.read(path).documents, options.seed) for path in (options.train, options.dev))
    recipe = nearspan.recipe(options.recipe).override(options.settings)
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.model or Path(scratch) / "run"
        if not (folder / "config.toml").is_file():
            callbacks = [ProgressBar(Console(stderr=True))]
            place = {"out": folder, "seed": options.seed, "device": options.device}
            nearspan.train(recipe, train.documents, dev.documents, callbacks=callbacks, **place)
        run = json.loads((folder / "result.json").read_text())
        model = Model.load(folder, options.device)
        began = time.monotonic()
        result = nearspan.audit(model, train.documents)
        seconds = time.monotonic() - began
    row = {
        "corpus": options.train.name,
        "recipe": run["recipe"],
        "command": ["python", "benchmarks/planted_noise.py", *sys.argv[1:]],
        "commit": commit(),
        "seed": options.seed,
        "data": run["data"],
        "device": str(model.device),
        "threads": torch.get_num_threads(),
        "epochs": run["epochs"],
        "best_epoch": run["best_epoch"],
        "noisy_dev_f1": run["dev"]["f1"],
        "training_seconds": run["seconds"],
        "audit_seconds": round(seconds, 1),
        "coverage": result.coverage.to_dict(),
        "kinds": result.kinds,
        **score_list(result, train),
    }
    print(json.dumps({key: row[key] for key in ("corpus", "noisy_dev_f1", "kinds", "flips", "drops")}, indent=1))
    rows = json.loads(options.out.read_text()) if options.out.is_file() else []
    options.out.write_text(json.dumps([*rows, row], indent=1) + "\n")


if __name__ == "__main__":
    main()
