"""Does the queue of a review save answers? A simulated annotator, on CoNLL-2003 and NCBI Disease, from 50 sentences.

    OMP_NUM_THREADS=1 python benchmarks/review_loop.py DATA --corpus conll2003 --order queue --train-every 100 \\
        --answers 600 --seed 1 --out results.jsonl

DATA holds the corpora unpacked, as for `corpora.py`. `start` is trained on `--first` sentences that are drawn with the
seed. 2,000 others are the texts of a review, without their entities. The annotator answers each text that it is given
as the corpus has it, in the order of the queue or, with `--order random`, in an order that is drawn. After every
`--train-every` answers the model is trained anew on all sentences that are answered by then (0: never, so that only
the memory grows). F1 is on 1,000 development sentences, drawn once, measured after every `--measure` answers.
`--seconds` of processor time end a run early; what was measured is kept.

One line is written for each measurement: answers, words and entities in them, answers that were what the model had
read, F1, and the processor seconds of the answers since the last line: to choose the next text and to read it (`next`),
and to put the answer into the memory (`answer`).
"""

from __future__ import annotations

import argparse
import json
import logging
import random
import statistics
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from first_ten_minutes import CORPORA, one_by_one
from many import current_commit

import nearspan
from nearspan.document import Document
from nearspan.review import Review

SETTINGS = ("training.minutes=0", "training.dev_share=0")


def sentences(data: Path, corpus: str, split: int) -> list[Document]:
    """The sentences of a corpus, each once, numbered."""
    documents = one_by_one(nearspan.read(data / CORPORA[corpus][split]).documents)
    unique = {each.text: each for each in documents if each.text != "-DOCSTART-"}
    return [replace(each, id=f"{corpus}-{number}") for number, each in enumerate(unique.values())]


def train(documents: list[Document], folder: Path, given: argparse.Namespace) -> nearspan.Model:
    settings = (f"training.epochs={given.epochs}", f"encoder.transformer.name={json.dumps(given.encoder)}")
    recipe = nearspan.recipe("start").override([*SETTINGS, *settings])
    return nearspan.train(recipe, documents, out=folder, seed=given.seed, device="cpu").model


def in_random_order(review: Review, texts: list[Document]) -> Iterator[Document]:
    """Texts of a review in their order, which is drawn; answered like those of the queue."""
    for text in texts:
        yield review.model(text)


def in_the_queue(review: Review) -> Iterator[Document]:
    while task := review.next():
        yield task.document


def run(given: argparse.Namespace, scratch: Path) -> Iterator[dict[str, Any]]:
    began = time.process_time()
    chance = random.Random(given.seed)
    drawn = chance.sample(sentences(given.data, given.corpus, 0), given.first + given.texts)
    first, texts = drawn[: given.first], drawn[given.first :]
    gold = {text.text: text for text in texts}
    development = sentences(given.data, given.corpus, 1)
    test = random.Random(0).sample(development, min(given.dev, len(development)))
    blank = [each.with_entities(()) for each in test]
    model = train(first, scratch / "model-0", given)
    answered: list[Document] = []
    counts = {"answers": 0, "words": 0, "entities": 0, "accepted": 0}
    nexts, answers = list[float](), list[float]()

    def measure(**more: Any) -> dict[str, Any]:
        f1 = nearspan.score(test, list(model.pipe(blank))).f1
        times = {
            name: {"median": round(statistics.median(seconds), 3), "most": round(max(seconds), 3)}
            for name, seconds in (("next", nexts), ("answer", answers))
            if seconds
        }
        nexts.clear(), answers.clear()
        return counts | {"f1": round(f1, 4), "trained": False, **times, **more}

    yield measure(trained=True)
    while counts["answers"] < given.answers and time.process_time() - began < given.seconds:
        left = [text.with_entities(()) for text in texts if text.text not in {each.text for each in answered}]
        review = model.review(left)
        order = in_the_queue(review) if given.order == "queue" else in_random_order(review, left)
        if given.order == "queue":
            review.next()  # reads all texts, once for each model
        mark = time.process_time()
        for document in order:
            nexts.append(time.process_time() - mark)
            right = gold[document.text]
            mark = time.process_time()
            answer = review.answer(document.with_entities(right.entities))
            answers.append(time.process_time() - mark)
            answered.append(right)
            counts["answers"] += 1
            counts["words"] += len(right.words or ())
            counts["entities"] += len(right.entities)
            counts["accepted"] += answer.accepted
            if given.train_every and counts["answers"] % given.train_every == 0:
                yield measure()
                break
            if counts["answers"] % given.measure == 0:
                yield measure()
            if counts["answers"] == given.answers or time.process_time() - began > given.seconds:
                return
            mark = time.process_time()
        else:
            return  # all are answered
        spent = time.process_time()
        model = train([*first, *answered], scratch / f"model-{len(answered)}", given)
        yield measure(trained=True, training_seconds=round(time.process_time() - spent, 1))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--corpus", default="conll2003", choices=list(CORPORA))
    parser.add_argument("--order", default="queue", choices=["queue", "random"])
    parser.add_argument("--train-every", type=int, default=100)
    parser.add_argument("--first", type=int, default=50)
    parser.add_argument("--texts", type=int, default=2000)
    parser.add_argument("--answers", type=int, default=600)
    parser.add_argument("--measure", type=int, default=50)
    parser.add_argument("--dev", type=int, default=1000)
    parser.add_argument("--epochs", type=int, default=40)
    parser.add_argument("--encoder", default="minilm", help="of the recipe: a packaged encoder or a folder")
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    logging.getLogger("nearspan").setLevel(logging.ERROR)
    torch.set_num_threads(1)
    names = ("corpus", "order", "train_every", "first", "texts", "epochs", "seed")
    about = {name: getattr(given, name) for name in names} | {"commit": current_commit()}
    with tempfile.TemporaryDirectory() as scratch:
        for row in run(given, Path(scratch)):
            line = json.dumps(about | row)
            print(line, flush=True)
            with given.out.open("a", encoding="utf-8") as file:
                file.write(line + "\n")


if __name__ == "__main__":
    main()
