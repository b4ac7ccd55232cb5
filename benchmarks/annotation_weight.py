"""As how many copies should a sentence count that somebody has annotated? F1 on held-out sentences as they are added.

    python benchmarks/annotation_weight.py MODEL eng.train eng.testa --documents 10 --weights 1 8 enough --out R.json

The sentences that are added, and those that F1 is measured on, are the ones of `label_studio.py` with the same
`--documents` and `--seed`: training has seen neither. With `--same-documents` they are the sentences with entities of
the next documents in turn: one is annotated, the next one held out, as where people annotate a document after the
other. They are added one by one; the model starts anew for each weight.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from label_studio import choose_sentences, without_folders
from many import current_commit

from nearspan.document import Document
from nearspan.evaluation import score
from nearspan.memory import Editor, Weight


def measure(
    folder: Path, gold: dict[str, Document], held: list[Document], weight: Weight, every: int
) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(scratch) / "model"
        shutil.copytree(folder, copy, ignore=shutil.ignore_patterns("checkpoint*"))
        editor = Editor.open(copy, "cpu")
        model, texts, seconds, right = editor.model, [Document(each.text) for each in held], [], 0
        f1 = {0: round(score(held, list(model.pipe(texts))).f1, 4)}
        for number, (text, document) in enumerate(gold.items(), start=1):
            began = time.perf_counter()
            editor.add(Document(text, document.entities, f"added-{number}"), weight)
            seconds.append(time.perf_counter() - began)
            right += set(model(text).entities) == set(document.entities)
            if number % every == 0:
                f1[number] = round(score(held, list(model.pipe(texts))).f1, 4)
        return {
            "weight": weight,
            "held_out_f1": f1,
            "added_and_read_right": right,
            "median_seconds_to_add": round(statistics.median(seconds), 3),
        }


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("model", type=Path)
    arguments.add_argument("train", type=Path)
    arguments.add_argument("test", type=Path)
    arguments.add_argument("--documents", type=int, default=30)
    arguments.add_argument("--annotations", type=int, default=50)
    arguments.add_argument("--every", type=int, default=10)
    arguments.add_argument("--held-out", type=int, default=300)
    arguments.add_argument(
        "--same-documents", action="store_true", help="annotate every other sentence, F1 on the rest"
    )
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--weights", nargs="+", default=["1", "8", "enough"])
    arguments.add_argument("--out", type=Path, required=True)
    options = arguments.parse_args()
    gold, held = choose_sentences(options)
    recipe = json.loads((options.model / "result.json").read_text())["recipe"]["name"]
    rows = []
    for text in options.weights:
        weight: Weight = "enough" if text == "enough" else float(text)
        rows.append(measure(options.model, gold, held, weight, options.every))
        print(json.dumps(rows[-1]), flush=True)
    record = {"recipe": recipe, "training_documents": options.documents, "annotations": len(gold), "rows": rows}
    record["held_out_from_the_same_documents"] = options.same_documents
    record |= {
        "held_out_sentences": len(held),
        "seed": options.seed,
        "command": without_folders(sys.argv),
        "commit": current_commit(),
    }
    earlier = json.loads(options.out.read_text()) if options.out.exists() else []
    options.out.write_text(json.dumps([*earlier, record], indent=1) + "\n")


if __name__ == "__main__":
    main()
