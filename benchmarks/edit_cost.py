"""What an edit costs in processor time, on a memory of the size of a corpus.

    python benchmarks/edit_cost.py TRAIN.conll --out benchmarks/results/edit-cost-cpu.json

The weights are random: they do not change the cost.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import torch

import nearspan
from nearspan.document import Span
from nearspan.editing import Editor
from nearspan.model import Model

TEXT = "She lives in Vienna and works for the city ."


def timed(what: Callable[[], object], times: int) -> float:
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
    parser.add_argument("train", type=Path)
    parser.add_argument("--recipe", default="instance")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    recipe, documents = nearspan.recipe(given.recipe), nearspan.read(given.train).documents
    sentences = [sentence for document in documents for sentence in recipe.splitter()(document)]
    labels = sorted({entity.label for document in documents for entity in document.entities})
    with tempfile.TemporaryDirectory() as folder:
        model = Model.learn(recipe, sentences, labels)
        found = model.labelled(documents)
        model.remember(found.sentences, found.entities)
        model.save(folder)
        opened = timed(lambda: Editor.open(folder, "cpu"), 3)
        editor = Editor.open(folder, "cpu")
        memory = editor.model.memory
        assert memory is not None
        predict = timed(lambda: list(editor.model.annotate([TEXT])), 10)
        entities = [one for one in editor.sentences(limit=200) if one.entities]
        spans = iter([(one.id, one.entities[0]) for one in entities] * 2)

        def relabel() -> None:
            sentence, entity = next(spans)
            editor.relabel(sentence, entity.span, next(label for label in labels if label != entity.label))

        def remove() -> None:
            sentence, entity = next(spans)
            editor.remove(sentence, entity.span)

        document = nearspan.markup(f"She lives in [Vienna]({labels[0]}) and works for the city .")
        result = {
            "sentences": len(memory.sentences),
            "spans": len(memory),
            "open_ms": opened,
            "predict_ms": predict,
            "relabel_ms": timed(relabel, 10),
            "add_ms": timed(lambda: editor.add(document), 10),
            "remove_span_ms": timed(remove, 10),
            "undo_ms": timed(editor.undo, 10),
            "forget_ms": timed(lambda: editor.forget(editor.sentences(limit=1)[0].document), 3),
            "refresh_nothing_new_ms": timed(editor.refresh, 10),
            "predict_with_removed_ms": timed(lambda: list(editor.model.annotate([TEXT])), 10),
            "open_edited_ms": timed(lambda: Editor.open(folder, "cpu"), 3),
            "edits": len(editor.log()),
            "threads": 1,
        }
        editor.search(TEXT, Span.of(13, 19))
    print(json.dumps(result, indent=2))
    if given.out:
        given.out.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
