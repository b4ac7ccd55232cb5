"""Does the queue of a review save answers? A simulated annotator, on CoNLL-2003 and NCBI Disease, from 50 sentences.

    OMP_NUM_THREADS=1 python benchmarks/review_loop.py DATA --corpus conll2003 --order queue --train-every 100 \\
        --answers 300 --seed 1 --out results.jsonl

DATA holds the corpora unpacked, as for `corpora.py`. `start` is trained on `--first` sentences that are drawn with
the seed. `--texts` others are the texts of a review, without their entities. The annotator answers each text that it
is given as the corpus has it, in the order of the queue or, with `--order random`, as they were drawn. After every
`--train-every` answers the model is trained anew on all sentences that are answered by then, and F1 is measured on
`--dev` development sentences, drawn once. With `--train-every 0` it is never trained: only its memory grows, and F1
is measured after every `--measure` answers. In a random order with training answers are not put into the memory one
by one: that would change neither the order nor the trained model. With `--at-once` those of the queue are not either:
so many are answered as it has first after a training, which takes a fraction of the time. `--seconds` of processor time
end a run early; what was measured is kept.

One line is written for each measurement: answers, words and entities in them, answers that were what the model had
read, F1, and the processor seconds of the answers since the last line: to choose the next text and to read it
(`next`), and to put the answer into the memory (`answer`).
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
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from first_ten_minutes import CORPORA, one_by_one
from many import current_commit

import nearspan
from nearspan.document import Document
from nearspan.review import Review
from nearspan.review.pool import collect_texts
from nearspan.review.queue import Queue

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


def ask(review: Review, texts: list[Document], order: str) -> Iterator[Document]:
    """Texts of a review with what the model reads in them, in the order of its queue or in their own."""
    if order == "random":
        yield from map(review.model, texts)
        return
    while task := review.next():
        yield task.document


class Annotator:
    """Who knows the answers, and what was answered."""

    def __init__(self, given: argparse.Namespace, texts: list[Document]) -> None:
        self.given, self.texts = given, texts
        self.right = {text.text: text for text in texts}
        self.answered: list[Document] = []
        self.accepted = 0
        self.seconds: dict[str, list[float]] = {"next": [], "answer": []}

    @property
    def left(self) -> list[Document]:
        answered = {each.text for each in self.answered}
        return [text.with_entities(()) for text in self.texts if text.text not in answered]

    def work(self, model: nearspan.Model, count: int) -> None:
        """Answer so many texts."""
        if self.given.order == "random" and self.given.train_every:
            self.answered += [self.right[text.text] for text in self.left[:count]]
            return
        if self.given.at_once:
            texts = collect_texts(model, self.left)
            first = Queue(model, list(texts.values())).order(texts.keys(), [])[:count]
            self.answered += [self.right[texts[id].document.text] for id in first]
            return
        review = model.review(self.left)
        review.prepare()  # once for each model
        mark = time.process_time()
        for document in islice(ask(review, self.left, self.given.order), count):
            self.seconds["next"].append(time.process_time() - mark)
            mark = time.process_time()
            answer = review.answer(document.with_entities(self.right[document.text].entities))
            self.seconds["answer"].append(time.process_time() - mark)
            self.answered.append(self.right[document.text])
            self.accepted += answer.accepted
            mark = time.process_time()

    def describe(self) -> dict[str, Any]:
        """What was answered, and in what time since this was last asked."""
        times = {
            name: {"median": round(statistics.median(seconds), 3), "most": round(max(seconds), 3)}
            for name, seconds in self.seconds.items()
            if seconds
        }
        self.seconds = {name: [] for name in self.seconds}
        return {
            "answers": len(self.answered),
            "words": sum(len(each.words or ()) for each in self.answered),
            "entities": sum(len(each.entities) for each in self.answered),
            "accepted": self.accepted,
            **times,
        }


def run(given: argparse.Namespace, scratch: Path) -> Iterator[dict[str, Any]]:
    began = time.process_time()
    drawn = random.Random(given.seed).sample(sentences(given.data, given.corpus, 0), given.first + given.texts)
    first, annotator = drawn[: given.first], Annotator(given, drawn[given.first :])
    development = sentences(given.data, given.corpus, 1)
    test = random.Random(0).sample(development, min(given.dev, len(development)))
    blank = [each.with_entities(()) for each in test]
    model = train(first, scratch / "model-0", given)
    while True:
        f1 = nearspan.score(test, list(model.pipe(blank))).f1
        yield annotator.describe() | {"f1": round(f1, 4), "cpu": round(time.process_time() - began, 1)}
        done = len(annotator.answered)
        if done >= given.answers or not annotator.left or time.process_time() - began > given.seconds:
            return
        annotator.work(model, min(given.train_every or given.measure, given.answers - done))
        if given.train_every:
            model = train([*first, *annotator.answered], scratch / f"model-{len(annotator.answered)}", given)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--corpus", default="conll2003", choices=list(CORPORA))
    parser.add_argument("--order", default="queue", choices=["queue", "random"])
    parser.add_argument("--train-every", type=int, default=100)
    parser.add_argument("--at-once", action="store_true")
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
    names = ("corpus", "order", "train_every", "at_once", "first", "texts", "dev", "epochs", "seed")
    about = {name: getattr(given, name) for name in names} | {"commit": current_commit()}
    with tempfile.TemporaryDirectory() as scratch:
        for row in run(given, Path(scratch)):
            line = json.dumps(about | row)
            print(line, flush=True)
            with given.out.open("a", encoding="utf-8") as file:
                file.write(line + "\n")


if __name__ == "__main__":
    main()
