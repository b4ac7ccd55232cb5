"""What an edit costs in processor time, on a memory of the size of a corpus.

    python benchmarks/edit_cost.py MODEL --out benchmarks/results/edit-cost-cpu.json

The model is a trained one, so that corrections cost what they cost: their spans count as often as it takes. `once` are
the same edits of sentences that count once. `then_predict` is from the call of `add` to the end of the next prediction.
The folder itself stays as it is.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import torch

import nearspan
from nearspan.document import Span
from nearspan.memory.editor import Editor
from nearspan.memory.reweight import Weight

TEXT = "She lives in {} and works for the city ."
PLACES = ("Vienna", "Oslo", "Rome", "Paris", "Cairo", "Lima", "Berlin", "Delhi", "Boston", "Dublin")


def time_call(what: Callable[[], object], times: int) -> float:
    """Milliseconds of processor time, the median."""
    taken = []
    for _ in range(times):
        began = time.process_time()
        what()
        taken.append(time.process_time() - began)
    return round(1000 * median(taken), 1)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("--search", default="", help="nearest or whole, for the instance head; as trained if not given")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "model"
        shutil.copytree(given.model, folder, ignore=shutil.ignore_patterns("checkpoint*"))
        opened = time_call(lambda: Editor.open(folder, "cpu"), 3)
        editor = Editor.open(folder, "cpu")
        if given.search:
            editor.model.set_search(given.search)
        memory, labels = editor.model.datastore, editor.model.labels[1:]
        assert memory is not None
        predict = time_call(lambda: list(editor.model.pipe([TEXT.format("Vienna")])), 10)
        firsts = [(sentence.id, sentence.entities[0]) for sentence in editor.sentences(limit=200) if sentence.entities]
        spans = iter([(number, entity) for number, entity in firsts if not entity.span.discontinuous] * 2)

        def relabel(weight: Weight) -> None:
            sentence, entity = next(spans)
            label = next(label for label in labels if label != entity.label)
            editor.relabel(sentence, entity.span, label, weight)

        def remove() -> None:
            sentence, entity = next(spans)
            editor.remove(sentence, entity.span)

        places = iter(PLACES)
        then: list[float] = []  # milliseconds from the call of `add` to the end of the next prediction

        def correct() -> tuple[str, nearspan.Document]:
            place = next(places)
            said = editor.model.explain_span(TEXT.format(place), Span.of(13, 13 + len(place)), 1).label
            other = next(label for label in labels if label != said)
            return TEXT.format(place), nearspan.markup(TEXT.format(f"[{place}]({other})"))

        def add(text: str, document: nearspan.Document, weight: Weight) -> float:
            began = time.process_time()
            editor.add(document, weight)
            added = time.process_time()
            editor.model(text)
            then.append(round(1000 * (time.process_time() - began), 1))
            return round(1000 * (added - began), 1)

        def add_some(weight: Weight) -> float:
            return median(add(*correct(), weight) for _ in range(5))

        def forget() -> None:
            [first] = editor.sentences(limit=1)
            editor.forget(first.document) if first.document else editor.remove(first.id)

        result = {
            "search": given.search or "as trained",
            "sentences": len(memory.sentences),
            "spans": len(memory),
            "open_ms": opened,
            "predict_ms": predict,
            "relabel_ms": time_call(lambda: relabel("enough"), 10),
            "relabel_once_ms": time_call(lambda: relabel(1.0), 10),
            "add_ms": add_some("enough"),
            "add_once_ms": add_some(1.0),
            "add_then_predict_ms": then[:5],
            "add_once_then_predict_ms": then[5:],
            "remove_span_ms": time_call(remove, 10),
            "undo_ms": time_call(editor.undo, 10),
            "forget_ms": time_call(forget, 3),
            "refresh_nothing_new_ms": time_call(editor.refresh, 10),
            "predict_with_removed_ms": time_call(lambda: list(editor.model.pipe([TEXT.format("Vienna")])), 10),
            "open_edited_ms": time_call(lambda: Editor.open(folder, "cpu"), 3),
            "edits": len(editor.log()),
            "threads": 1,
        }
    print(json.dumps(result, indent=2))
    if given.out:
        given.out.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
