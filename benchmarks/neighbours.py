"""How many neighbours the instance head needs: its scores with K sentences, for several K, and with its whole memory.

    python benchmarks/neighbours.py MODEL F [--counts 10 50 200 1000] [--ways nearest drawn half] [--whole]
                                    [--out results.json]

The K sentences are the nearest ones, or `drawn` at random for each sentence, as in training, or `half` and half.
Beside precision, recall and F1: of the gold entities, how many have a label that no span of their sentence's K nearest
sentences has (`label absent`; such an entity cannot be found), and how many have neighbours of which none is written
as they are (`text absent`).
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

import nearspan
import nearspan.heads.nearest
from nearspan.document import Document
from nearspan.evaluation import evaluate
from nearspan.knn import Datastore, nearest_sentences
from nearspan.model import Model
from nearspan.segment import contiguous

CHANCE = torch.Generator()


def draw_sentences(memory: Datastore, vectors: Tensor, count: int) -> Tensor:
    """Sentences at random [B, count]."""
    return torch.randint(len(memory.sentences), (len(vectors), count), generator=CHANCE).to(vectors.device)


def half(memory: Datastore, vectors: Tensor, count: int) -> Tensor:
    """The nearest sentences, and as many at random."""
    near = nearest_sentences(memory, vectors, count // 2)
    return torch.cat([near, draw_sentences(memory, vectors, count - near.shape[1])], dim=1)


WAYS = {"nearest": nearest_sentences, "drawn": draw_sentences, "half": half}


def score_search(model: Model, documents: list[Document], count: int | str, way: str) -> dict[str, Any]:
    CHANCE.manual_seed(1)
    nearspan.heads.nearest.nearest_sentences = WAYS[way]
    head = model.set_search("whole" if count == "whole" else "nearest").network.head
    if count != "whole":
        head.settings = head.settings.model_copy(update={"neighbours": count})
    scores = evaluate(model, documents).scores
    return {
        "neighbours": count,
        "way": way,
        "precision": round(100 * scores.precision, 2),
        "recall": round(100 * scores.recall, 2),
        "f1": round(100 * scores.f1, 2),
    }


def absent(model: Model, documents: list[Document], count: int) -> dict[str, float]:
    """The share of gold entities whose label, and whose text, none of the nearest sentences has."""
    memory = model.datastore
    assert memory is not None
    labelled, encoder = model.label_documents(documents), model.network.eval().encoder
    nearest: dict[int, list[int]] = {}
    for batch in model.encode(labelled.sentences).reading_batches():
        ids = nearest_sentences(memory, encoder.sentence_vectors(encoder(batch)), count)
        nearest |= zip(batch.ids.tolist(), ids.tolist(), strict=True)
    labels = [{gold.label for gold in sentence.entities} for sentence in memory.sentences]
    texts = [
        {" ".join(sentence.tokens[gold.first : gold.stop]) for gold in contiguous(sentence.entities)}
        for sentence in memory.sentences
    ]
    total = no_label = no_text = 0
    for place, (sentence, golds) in enumerate(zip(labelled.sentences, labelled.entities, strict=True)):
        near_labels = set().union(*(labels[number] for number in nearest[place]))
        near_texts = set().union(*(texts[number] for number in nearest[place]))
        for gold in contiguous(golds):
            total += 1
            no_label += gold.label not in near_labels
            no_text += " ".join(sentence.tokens[gold.first : gold.stop]) not in near_texts
    return {"label absent": round(100 * no_label / total, 2), "text absent": round(100 * no_text / total, 2)}


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("model", type=Path)
    arguments.add_argument("file", type=Path)
    arguments.add_argument("--counts", type=int, nargs="*", default=[10, 50, 200, 1000])
    arguments.add_argument("--ways", choices=WAYS, nargs="+", default=["nearest"])
    arguments.add_argument("--whole", action="store_true")
    arguments.add_argument("--device", default="")
    arguments.add_argument("--out", type=Path)
    options = arguments.parse_args()
    model = Model.load(options.model, options.device)
    documents = list(nearspan.read(options.file).documents)
    rows = []
    with torch.inference_mode():
        asked = [(count, way) for count in options.counts for way in options.ways]
        for count, way in [*asked, *([("whole", "nearest")] if options.whole else [])]:
            row = score_search(model, documents, count, way)
            row |= absent(model, documents, count) if isinstance(count, int) and way == "nearest" else {}
            print(row, flush=True)
            rows.append(row)
    print(json.dumps(rows))
    if options.out:
        options.out.write_text(json.dumps({"rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
