"""Train every recipe on one corpus and compare: F1, training time, annotating speed. For docs/guide/which-recipe.md.

    python benchmarks/recipes.py sample --vectors glove.6B.100d.txt --encoder minilm --out results.json
    python benchmarks/recipes.py eng.train eng.testa eng.testb --first 2000 --vectors V --encoder E --out results.json

Each recipe keeps its own settings but for these: recipes on word vectors read `--vectors` and train for `--epochs`;
recipes on a pretrained encoder fine-tune the lowest three layers of `--encoder`, a small uncased one, with a character
CNN beside it, for `--tuning-epochs`, in batches of 8. `joint-ib` first trains its generators alone for as many. Spans
have at most `--width` words. The best epoch is chosen on the development set.

`--first N` takes the first documents of the training file until they hold N sentences, and for development a quarter
as many.

Times are processor time on one thread, so that what else runs on the machine counts little: `train_seconds` is the
whole training (reading vectors, scoring the development set after each epoch and building the memory included),
`sentences_per_second` the test set from text to entities, the best of three turns. A run that is recorded in `--out` is
not repeated, so a stopped script can be called again. `--table` only prints the table of what is recorded.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from many import current_commit

import nearspan
from nearspan.document import Document
from nearspan.evaluation import by_continuity, by_structure
from nearspan.formats import sample
from nearspan.training.data import digest

RECIPES = ("instance-paper", "classifier-paper", "hire", "sng", "biaffine", "shallow", "dspert", "joint-ib")
SMALL_ENCODER = (
    "encoder.transformer.layers=3",
    "encoder.transformer.learning_rate=3e-4",
    "encoder.characters.kind=cnn",
    "training.batch=8",
)


def settings(name: str, options: argparse.Namespace) -> list[str]:
    """What is set differently from the recipe."""
    recipe = nearspan.recipe(name)
    pretraining = options.tuning_epochs if recipe.losses.generators is not None else 0
    if recipe.encoder.transformer is not None:
        changes = [f"training.epochs={options.tuning_epochs + pretraining}"]
        changes += [f"encoder.transformer.name={options.encoder}", *SMALL_ENCODER]
    else:
        changes = [f"training.epochs={options.epochs}", f"encoder.vectors.file={options.vectors}"]
    if pretraining:
        changes.append(f"losses.generators.pretraining={pretraining}")
    if recipe.suggester.unit == "words" and recipe.head.kind != "crf":
        changes.append(f"suggester.max_width={options.width}")
    if recipe.representation.kind == "lstm_minus" and recipe.head.kind != "crf":
        changes.append("representation.form=nested")
    return [*changes, *options.set]


def without_folder(change: str) -> str:
    """A setting with a file's name instead of its path."""
    key, _, value = change.partition("=")
    return f"{key}={Path(value).name}"


def first(documents: Sequence[Document], sentences: int) -> list[Document]:
    """Documents from the beginning until they hold so many sentences; all of them for 0."""
    taken: list[Document] = []
    count = 0
    for document in documents:
        if sentences and count >= sentences:
            break
        taken.append(document)
        count += len(document.sentences or (0,))
    return taken


def measure(name: str, seed: int, options: argparse.Namespace, corpus: dict[str, Any]) -> dict[str, Any]:
    """Train one recipe, score it on the test set and time it."""
    recipe = nearspan.recipe(name).override(settings(name, options))
    synonyms = nearspan.synonyms(sample.path("synonyms")) if recipe.losses.generators and corpus["synonyms"] else None
    with tempfile.TemporaryDirectory() as folder:
        began = time.process_time()
        run = nearspan.train(
            recipe, corpus["train"], corpus["dev"], out=Path(folder) / name, seed=seed, synonyms=synonyms
        )
        train_seconds = time.process_time() - began
    model, test = run.model, corpus["test"]
    turns = []
    for _ in range(4):  # the first is for warming up
        began = time.process_time()
        predicted = list(model.pipe(test))
        turns.append(time.process_time() - began)
    scores = nearspan.score(test, predicted)
    slices = by_structure(test, predicted) | by_continuity(test, predicted)
    return {
        "recipe": name,
        "seed": seed,
        "commit": current_commit(),
        "data": run.fingerprint,
        "settings": [without_folder(change) for change in settings(name, options)],
        "best_epoch": run.best_epoch,
        "dev_f1": round(run.dev.value, 5) if run.dev else None,
        "f1": round(scores.f1, 5),
        "precision": round(scores.precision, 5),
        "recall": round(scores.recall, 5),
        "recall_of": {part: [round(of.recall, 5), of.total.gold] for part, of in slices.items()},
        "train_seconds": round(train_seconds, 1),
        "sentences_per_second": round(corpus["test_sentences"] / min(turns[1:]), 1),
        "parameters": sum(weight.numel() for weight in model.network.parameters()),
        "hardware": f"{processor()}, 1 thread",
        "torch": torch.__version__,
    }


def processor() -> str:
    """The processor's name where the system tells it."""
    described = Path("/proc/cpuinfo")
    lines = described.read_text().splitlines() if described.is_file() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def read_corpus(options: argparse.Namespace) -> dict[str, Any]:
    """The three splits, cut as the options say."""
    bundled = options.files == ["sample"]
    files = [sample.path(split) for split in ("train", "dev", "test")] if bundled else options.files
    train, dev, test = (list(nearspan.read(file).documents) for file in files)
    train, dev = first(train, options.first), first(dev, options.first // 4)
    counts = nearspan.check(test)["sentences"]
    return {"train": train, "dev": dev, "test": test, "synonyms": bundled, "test_sentences": counts}


def table(runs: Sequence[dict[str, Any]]) -> str:
    """Means over seeds, as Markdown."""
    lines = [
        "| recipe | F1 | recall of nested | of discontinuous | training | an epoch | annotating | seeds |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name in dict.fromkeys(run["recipe"] for run in runs):
        of_recipe = [run for run in runs if run["recipe"] == name]
        f1 = [100 * run["f1"] for run in of_recipe]
        spread = f" ± {statistics.stdev(f1):.2f}" if len(f1) > 1 else ""
        recalls = [recall_of(of_recipe, parts) for parts in (("nested", "covering", "both"), ("discontinuous",))]
        seconds = statistics.median(run["train_seconds"] for run in of_recipe)
        epoch = statistics.median(run["train_seconds"] / epochs(run) for run in of_recipe)
        speed = statistics.median(run["sentences_per_second"] for run in of_recipe)
        cells = [f"`{name}`", f"{statistics.fmean(f1):.2f}{spread}", *recalls, f"{seconds:,.0f} s", f"{epoch:,.0f} s"]
        lines.append(f"| {' | '.join([*cells, f'{speed:,.0f} a second', str(len(f1))])} |")
    return "\n".join(lines)


def epochs(run: dict[str, Any]) -> int:
    """How many epochs a run was trained for."""
    return next(int(setting.partition("=")[2]) for setting in run["settings"] if setting.startswith("training.epochs="))


def recall_of(runs: Sequence[dict[str, Any]], parts: Sequence[str]) -> str:
    """The mean recall, in percent, of the entities in some slices."""
    recalls = []
    for run in runs:
        pairs = [run["recall_of"][part] for part in parts if part in run["recall_of"]]
        gold = sum(count for _, count in pairs)
        recalls += [100 * sum(recall * count for recall, count in pairs) / gold] if gold else []
    return f"{statistics.fmean(recalls):.0f}" if recalls else "–"


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("files", nargs="+", help="train, dev and test; or the word sample")
    arguments.add_argument("--vectors", default="")
    arguments.add_argument("--encoder", default="")
    arguments.add_argument("--first", type=int, default=0)
    arguments.add_argument("--epochs", type=int, default=15)
    arguments.add_argument("--tuning-epochs", type=int, default=3)
    arguments.add_argument("--width", type=int, default=8)
    arguments.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    arguments.add_argument("--recipes", nargs="+", default=RECIPES)
    arguments.add_argument("--set", action="append", default=[])
    arguments.add_argument("--table", action="store_true")
    arguments.add_argument("--out", type=Path, required=True)
    options = arguments.parse_args()
    torch.set_num_threads(1)
    record: dict[str, Any] = json.loads(options.out.read_text()) if options.out.is_file() else {"runs": []}
    recorded = {(run["recipe"], run["seed"]) for run in record["runs"]}
    due = [(name, seed) for seed in options.seeds for name in options.recipes if (name, seed) not in recorded]
    if due and not options.table:
        corpus = read_corpus(options)
        record["corpus"] = {
            split: {"sentences": nearspan.check(corpus[split])["sentences"], "fingerprint": digest(corpus[split])}
            for split in ("train", "dev", "test")
        }
        for name, seed in due:
            record["runs"].append(measure(name, seed, options, corpus))
            options.out.write_text(json.dumps(record, indent=1) + "\n")
            print(name, seed, record["runs"][-1], flush=True)
    print(table(record["runs"]))


if __name__ == "__main__":
    main()
