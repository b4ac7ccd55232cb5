"""Fix without training: how many development errors corrected examples in the memory mend, and what they break.

    python benchmarks/fix_curve.py MODEL DEV [--search whole] [--interpolate 0.3] [--rest 400] [--counts 1 2 4 8]
        [--weight enough] --out R.json

Errors are of a kind where the text (in any case) and the gold label are the same; a spurious entity's gold label is
none. The sentences of each kind with several are split by chance: the first half may be added to the memory, corrected,
the other half is measured on. With k, the first k of every kind are added, all kinds at once. The rest of the
development sentences, or `--rest` of them drawn by chance, show what is lost.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

import nearspan
from nearspan.document import Document, Entity
from nearspan.evaluation import Error, find_errors, score
from nearspan.memory.editor import Editor
from nearspan.memory.reweight import Weight
from nearspan.model import Model
from nearspan.report.papers.curves import split_sentences

Kind = tuple[str, str]  # text in lower case, gold label or ""


@dataclass(frozen=True)
class Split:
    """Sentences by their role; errors are given by kind."""

    pools: dict[Kind, list[int]]  # sentences to add, in order
    measured: dict[Kind, list[tuple[int, Error]]]
    rest: list[int]


def kind_of(error: Error) -> Kind:
    entity = error.gold or error.predicted
    assert entity is not None
    return entity.span.text(error.document.text).casefold(), error.gold.label if error.gold else ""


def split_roles(sentences: Sequence[Document], predicted: Sequence[Document], rest: int, seed: int) -> Split:
    """Give each sentence with an error of a kind that occurs again a role: to be added, or to be measured on."""
    chance = random.Random(seed)
    errors: dict[Kind, list[tuple[int, Error]]] = {}
    for number, (gold, prediction) in enumerate(zip(sentences, predicted, strict=True)):
        for error in find_errors([gold], [prediction]):
            errors.setdefault(kind_of(error), []).append((number, error))
    role: dict[int, bool] = {}  # whether a sentence is to be added
    for kind in sorted(errors):
        numbers = sorted({number for number, _ in errors[kind]})
        if len(numbers) < 2:
            continue
        chance.shuffle(numbers)
        for place, number in enumerate(numbers):
            role.setdefault(number, place < (len(numbers) + 1) // 2)
    pools, measured = {}, {}
    for kind, some in sorted(errors.items()):
        numbers = sorted({number for number, _ in some if role.get(number) is True})
        held = [(number, error) for number, error in some if role.get(number) is False]
        if numbers and held:
            chance.shuffle(numbers)
            pools[kind], measured[kind] = numbers, held
    others = [number for number in range(len(sentences)) if number not in role]
    return Split(pools, measured, sorted(chance.sample(others, min(rest or len(others), len(others)))))


def join(parts: Sequence[Document], name: str) -> Document:
    """Sentences as one document, so that they are one edit."""
    text, words, sentences, entities = "", [], [], []
    for part in parts:
        start = len(text)
        assert part.words is not None
        words += [(start + a, start + b) for a, b in part.words]
        sentences.append((start, start + len(part.text)))
        entities += [Entity(entity.span.shift(start), entity.label) for entity in part.entities]
        text += part.text + "\n"
    return Document(text, tuple(entities), name, tuple(words), tuple(sentences))


def measure(
    model: Model,
    sentences: Sequence[Document],
    before: Sequence[Document],
    roles: Split,
    few: set[Kind],
    added: Sequence[int],
) -> dict[str, Any]:
    """What of the errors in the added sentences and in the held-out ones is right now, and how the rest has changed."""
    held = sorted({number for some in roles.measured.values() for number, _ in some})
    numbers = [*held, *roles.rest]
    now = dict(zip(numbers, model.pipe([sentences[number] for number in numbers]), strict=True))
    fixed = {
        kind: sum(
            error.gold in now[number].entities if error.gold else error.predicted not in now[number].entities
            for number, error in some
        )
        for kind, some in roles.measured.items()
    }
    reread = list(model.pipe([sentences[number] for number in added]))
    own_errors = [error for number in added for error in find_errors([sentences[number]], [before[number]])]
    own_left = [
        error for number, page in zip(added, reread, strict=True) for error in find_errors([sentences[number]], [page])
    ]
    right = lost = wrong = mended = new = 0
    for number in roles.rest:
        gold, was, is_now = (set(document.entities) for document in (sentences[number], before[number], now[number]))
        right += len(gold & was)
        lost += len((gold & was) - is_now)
        wrong += len(gold - was)
        mended += len((gold - was) & is_now)
        new += len(is_now - gold - was)
    rest = [[pages[number] for number in roles.rest] for pages in (sentences, now)]
    return {
        "added_errors": len(own_errors),
        "added_errors_left": len(own_left),
        "held_errors": sum(map(len, roles.measured.values())),
        "held_fixed": sum(fixed.values()),
        "held_errors_of_kinds_with_most": sum(len(roles.measured[kind]) for kind in few),
        "held_fixed_of_kinds_with_most": sum(fixed[kind] for kind in few),
        "rest_sentences": len(roles.rest),
        "rest_right_before": right,
        "rest_right_lost": lost,
        "rest_missed_before": wrong,
        "rest_missed_fixed": mended,
        "rest_new_spurious": new,
        "rest_f1": score(*rest).f1,
    }


def commit() -> str:
    command = ["git", "rev-parse", "--short", "HEAD"]
    done = subprocess.run(command, cwd=Path(__file__).parent, capture_output=True, text=True, check=False)
    return done.stdout.strip()


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("model", type=Path)
    arguments.add_argument("dev", type=Path)
    arguments.add_argument("--search", default="")
    arguments.add_argument("--interpolate", type=float)
    arguments.add_argument("--rest", type=int, default=0, help="sentences of the rest to measure on; 0: all")
    arguments.add_argument("--counts", type=int, nargs="+", default=[1, 2, 4, 8])
    arguments.add_argument("--weight", default="1", help="of the added sentences: a number, or enough")
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--device", default="")
    arguments.add_argument("--out", type=Path, required=True)
    options = arguments.parse_args()
    sentences = [part for document in nearspan.read(options.dev).documents for part in split_sentences(document)]

    def ready(folder: Path) -> Editor:
        editor = Editor.open(folder, options.device)
        if options.search:
            editor.model.set_search(options.search)
        if options.interpolate is not None:
            editor.model.interpolate(options.interpolate)
        return editor

    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "model"
        shutil.copytree(options.model, folder, ignore=shutil.ignore_patterns("checkpoint*"))
        editor = ready(folder)
        before = list(editor.model.pipe(sentences))
        roles = split_roles(sentences, before, options.rest, options.seed)
        size = max(map(len, roles.pools.values()))
        few = {kind for kind, pool in roles.pools.items() if len(pool) >= min(4, size)}
        for count in [0, *options.counts]:
            added = sorted({number for pool in roles.pools.values() for number in pool[:count]})
            if added:
                weight: Weight = "enough" if options.weight == "enough" else float(options.weight)
                start = time.perf_counter()
                edit = editor.add(join([sentences[number] for number in added], "corrections"), weight)
                seconds = time.perf_counter() - start
                print(edit.summary, f"{seconds:.0f} s", flush=True)
            enough = sum(len(pool) >= count for pool in roles.pools.values())
            row = measure(editor.model, sentences, before, roles, few, added)
            kept = editor.sentences(document="corrections", limit=len(added)) if added else []
            times = sorted(times for sentence in kept for _, times, *_ in (*sentence.span_weights, *sentence.carried))
            weighted = {"weighted_spans": len(times), "most_times": max(times, default=1.0)}
            weighted["median_times"] = times[len(times) // 2] if times else 1.0
            added_row = {"k": count, "added_sentences": len(added), "kinds_with_k_to_add": enough, **weighted}
            rows.append({**added_row, "seconds_to_add": round(seconds, 1) if added else 0.0, **row})
            print(json.dumps(rows[-1]), flush=True)
            if added:
                editor.undo()
    trained = json.loads((options.model / "result.json").read_text())
    result = {
        "corpus": options.dev.name,
        "model": trained["recipe"]["name"],
        "search": options.search or "as trained",
        "interpolate": options.interpolate,
        "weight": options.weight,
        "command": ["python", "benchmarks/fix_curve.py", *sys.argv[1:]],
        "commit": commit(),
        "seed": options.seed,
        "training_data": trained["data"],
        "dev_f1": trained["dev"]["f1"],
        "device": str(editor.model.device),
        "threads": torch.get_num_threads(),
        "kinds": len(roles.pools),
        "kinds_with_most": len(few),
        "rows": rows,
    }
    results = json.loads(options.out.read_text()) if options.out.is_file() else []
    options.out.write_text(json.dumps([*results, result], indent=1) + "\n")


if __name__ == "__main__":
    main()
