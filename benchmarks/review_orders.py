"""Which sentences should be annotated first? 100 chosen at once in several orders, and a model trained on them.

    OMP_NUM_THREADS=1 python benchmarks/review_orders.py DATA --corpus conll2003 --seed 1 --out results.jsonl

DATA holds the corpora unpacked, as for `corpora.py`. `start` is trained on 50 sentences that are drawn with the seed,
and reads 1,000 others. 100 of these are chosen in each order, and `start` is trained anew on all 150. `random150`
takes half as many again. F1 is that on 400 development sentences. `memory1` is the F1 of the first model where the
sentences that are chosen are only added to its memory, each counted once: what answers do before training is due.

- `random`: as they were drawn.
- `doubt`: how many spans the model expects to read wrong.
- `now`: that times the distance from the nearest sentence of the memory or of those chosen before, as the queue of a
  review once did.
- `sqrt`: the same, with doubt over the square root of the words. `sqrtdoubt`: with the square root of the doubt.
"""

from __future__ import annotations

import argparse
import json
import logging
import random
import tempfile
import time
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path

import torch
from many import current_commit
from review_loop import sentences, train
from torch import Tensor

import nearspan
from nearspan.document import Document
from nearspan.review.doubt import read_doubts

CHOSEN, POOL = 100, 1_000


def choose(doubts: Tensor, near: Tensor, vectors: Tensor, *, is_far: bool = True) -> list[int]:
    """The texts [N] of most doubt, weighed by the distance from what is known and chosen."""
    near, free, chosen = near.clone(), torch.ones(len(doubts), dtype=torch.bool), list[int]()
    for _ in range(CHOSEN):
        values = doubts * (1 - near).clamp(min=0) if is_far else doubts.clone()
        best = int(values.masked_fill(~free, -1).argmax())
        chosen.append(best)
        free[best] = False
        near = torch.maximum(near, vectors @ vectors[best])
    return chosen


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--corpus", default="conll2003")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    torch.set_num_threads(1)
    logging.getLogger("nearspan").setLevel(logging.ERROR)
    settings = Namespace(epochs=40, encoder="minilm", seed=given.seed)
    drawn = random.Random(given.seed).sample(sentences(given.data, given.corpus, 0), 50 + POOL)
    first, pool = drawn[:50], drawn[50:]
    gold = random.Random(0).sample(sentences(given.data, given.corpus, 1), 400)

    def f1(model: nearspan.Model) -> float:
        return round(nearspan.score(gold, list(model.pipe([each.with_entities(()) for each in gold], workers=1))).f1, 4)

    def count_words(documents: list[Document]) -> int:
        return sum(len(each.words or model.split(each)[0].words) for each in documents)

    about = {"corpus": given.corpus, "seed": given.seed, "commit": current_commit()}
    with tempfile.TemporaryDirectory() as scratch:
        model = train(first, Path(scratch) / "first", settings)
        rows = [about | {"order": "first", "f1": f1(model)}]
        doubts, vectors = read_doubts(model, [each.with_entities(()) for each in pool])
        assert model.datastore is not None
        near = (vectors @ model.datastore.sentence_vectors.T).amax(1)
        words = torch.tensor([float(count_words([each])) for each in pool])
        orders: dict[str, Callable[[], list[int]]] = {
            "random": lambda: list(range(CHOSEN)),
            "random150": lambda: list(range(CHOSEN * 3 // 2)),
            "now": lambda: choose(doubts, near, vectors),
            "doubt": lambda: choose(doubts, near, vectors, is_far=False),
            "sqrt": lambda: choose(doubts / words.sqrt(), near, vectors),
            "sqrtdoubt": lambda: choose(doubts.sqrt(), near, vectors),
        }
        for name, order in orders.items():
            began, chosen = time.process_time(), [pool[number] for number in order()]
            row = about | {"order": name, "f1": f1(train([*first, *chosen], Path(scratch) / name, settings))}
            row |= {"words": count_words(chosen), "entities": sum(len(each.entities) for each in chosen)}
            model.build_datastore(model.label_documents([*first, *chosen]))
            rows.append(row | {"memory1": f1(model), "cpu": round(time.process_time() - began)})
    with given.out.open("a", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)


if __name__ == "__main__":
    main()
