"""SNG on the corpora of its table 2: classification of given spans, or recognition. The two are never in one table.

    python benchmarks/sng.py classification FOLDER OUT.jsonl [--corpora harem,anercorp] [--epochs 12] [--set k=v]
    python benchmarks/sng.py recognition FOLDER OUT.jsonl --device cuda
    python benchmarks/sng.py strings FOLDER OUT.jsonl
    python benchmarks/sng.py classification - OUT.jsonl --table

FOLDER holds the corpora unpacked. For each corpus, vectors are learned from its training text alone and a model is
trained, the best epoch chosen on development data, and scored once on the test set. OUT.jsonl gets a line a run;
`--table` prints what it holds as Markdown. ANERcorp has no development set: the last tenth of its training sentences
serves. CADEC is read from brat, with its five labels, in the split of Dai et al. (2020).

The paper's own protocol is `classification --epochs 600 --patience 0 --part 4096 --set training.batch=0`: frozen
vectors, and one step an epoch over all training sentences, `--part` of which are read at once. `--vectors` keeps what
was learned from a corpus with a seed, so that runs with other settings read the same.

`strings` is recognition's baseline, the majority by string with null as one of the labels: a span of at most 12 words
is an entity where its text was one in most of its occurrences in the training text.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

import nearspan
from nearspan.document import Document, Entity, Span
from nearspan.encoders.glove import GloveSettings
from nearspan.evaluation import score
from nearspan.model.decode import LabelledSpan, decode, least_overlap
from nearspan.report.papers.curves import split_sentences
from nearspan.spans import CandidateRules, LabelledSentences
from nearspan.spans.string_majority import StringMajority
from nearspan.training import trainer

WIDEST = 12
SPLITS = ("train", "dev", "test")
FILES = {
    "harem": ["harem/FirstHAREM-total-train.json", "harem/FirstHAREM-total-dev.json", "harem/MiniHAREM-total.json"],
    "anercorp": ["anercorp/ANERCorp_CamelLab_train.txt", "", "anercorp/ANERCorp_CamelLab_test.txt"],
    "litbank": [f"litbank/{split}.data" for split in SPLITS],
    "cadec": ["cadec/cadec/original"] * 3,
    "germeval2014": [f"germeval2014/GermEval2014/germ.{split}.iob2" for split in SPLITS],
    "nerel": [f"nerel/NEREL-v1.1/{split}" for split in SPLITS],
    "genia": [f"genia/zheng2019/genia.{split}.iob2" for split in SPLITS],
    "weibo": [f"weibo/weiboNER_2nd_conll.{split}" for split in SPLITS],
    "resume-zh": [f"resume-zh/{split}.char.bmes" for split in SPLITS],
}
PAPER = {  # what its table 2 calls accuracy: labels of given spans
    "genia": 91.76,
    "litbank": 87.93,
    "cadec": 88.65,
    "nerel": 68.66,
    "germeval2014": 69.47,
    "anercorp": 72.73,
    "harem": 64.98,
}


def documents(name: str, folder: Path) -> list[Sequence[Document]]:
    """The three splits of a corpus."""
    files = FILES[name]
    if name == "cadec":
        by_id = {text.id: text for text in nearspan.read(folder / files[0]).documents}
        lists = [(folder / f"cadec/dai2020_splits/split/{split}.id").read_text().split() for split in SPLITS]
        return [[by_id[name] for name in names] for names in lists]
    splits = [nearspan.read(folder / file).documents if file else () for file in files]
    if not splits[1]:
        sentences = [sentence for document in splits[0] for sentence in split_sentences(document)]
        splits[:2] = [tuple(sentences[: len(sentences) * 9 // 10]), tuple(sentences[len(sentences) * 9 // 10 :])]
    return list(splits)


def run(name: str, options: argparse.Namespace, scratch: Path) -> dict[str, Any]:
    splits = documents(name, options.folder)
    began = time.monotonic()
    vectors = (options.vectors or scratch) / f"{name}-{options.seed}.txt"
    glove = GloveSettings(size=options.size, epochs=options.vector_epochs)
    known = vectors.with_suffix(".json")
    if not known.is_file():
        losses = nearspan.learn_vectors(splits[0], vectors, settings=glove, seed=options.seed, force=True).losses
        learned = {**glove.model_dump(), "seconds": round(time.monotonic() - began, 1), "loss": losses[-1]}
        known.write_text(json.dumps(learned))
    given = options.task == "classification"
    width = 120 if given else WIDEST  # given spans cost nothing for being wide
    settings = [
        f"suggester.kind={'given' if given else 'all'}",
        f"encoder.vectors.file={vectors}",
        f"suggester.max_width={width}",
    ]
    settings += [f"training.epochs={options.epochs}", f"training.patience={options.patience}", *options.set]
    recipe = nearspan.recipe("sng").override(settings)
    out = scratch / name
    made = nearspan.train(recipe, *splits, out=out, seed=options.seed, device=options.device)
    curve = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
    record = made.to_dict()
    record["recipe"]["encoder"]["vectors"]["file"] = "learned from the training text"
    record["command"] = ["benchmarks/sng.py", options.task]
    if made.model.device.type == "cpu":
        record["hardware"] = f"CPU, {torch.get_num_threads()} thread"
    return {
        "name": name,
        "task": options.task,
        "commit": options.commit,
        "vectors": json.loads(known.read_text()),
        **record,
        "curve": curve,
    }


def strings(name: str, options: argparse.Namespace) -> dict[str, Any]:
    """The majority by string, with null as one of the labels, on a corpus's test set."""
    train, _, test = documents(name, options.folder)
    split = nearspan.recipe("sng").splitter()
    known = StringMajority.of(train)
    seen: Counter[str] = Counter()
    for document in train:
        seen.update(text for _, _, _, text in spans(document, split) if text in known.labels)
    entities = Counter(
        entity.span.text(document.text) for document in train for entity in dict.fromkeys(document.entities)
    )
    labelled = LabelledSentences.of(train, split, CandidateRules(WIDEST))
    overlap = least_overlap([[gold.fragments for gold in of_sentence] for of_sentence in labelled.entities])
    said = []
    for document in test:
        by_sentence: dict[int, list[LabelledSpan[int]]] = {}
        texts: dict[tuple[int, int, int], tuple[Span, str]] = {}
        for number, place, span, text in spans(document, split):
            if text in known.labels and 2 * entities[text] > seen[text]:
                by_sentence.setdefault(number, []).append(
                    LabelledSpan.of(*place, 1, place[1] - place[0])
                )  # the widest first
                texts[(number, *place)] = span, text
        kept = [
            texts[number, kept_span.first, kept_span.stop]
            for number in by_sentence
            for kept_span in decode(by_sentence[number], overlap)
        ]
        said.append(replace(document, entities=tuple(Entity(span, known.label(text)) for span, text in kept)))
    scores = score(test, said)
    shown = {"precision": scores.precision, "recall": scores.recall, "f1": scores.f1}
    return {"name": name, "task": "strings", "commit": options.commit, "overlap": overlap, "test": shown}


def spans(document: Document, split: Any) -> Iterator[tuple[int, tuple[int, int], Span, str]]:
    """All spans of a document's sentences: the sentence's number, its words, its characters and its text."""
    for number, sentence in enumerate(split(document)):
        for first in range(len(sentence)):
            for stop in range(first + 1, min(len(sentence), first + WIDEST) + 1):
                span = sentence.span(first, stop)
                yield number, (first, stop), span, span.text(document.text)


def table(lines: Sequence[dict[str, Any]], task: str) -> str:
    mine = [line for line in lines if line["task"] == task]
    if task == "classification":
        head = "| corpus | accuracy | its macro-F1 | majority by string | its macro-F1 | the paper's accuracy |"
        rows = [
            [
                record["test"]["accuracy"],
                record["test"]["classification_macro_f1"],
                record["test"]["baseline"]["accuracy"],
                record["test"]["baseline"]["classification_macro_f1"],
            ]
            for record in mine
        ]
        ends = [f" {PAPER[record['name']]:.2f} |" if record["name"] in PAPER else " |" for record in mine]
    else:
        head = "| corpus | precision | recall | F1 |"
        rows = [[record["test"][key] for key in ("precision", "recall", "f1")] for record in mine]
        ends = [""] * len(mine)
    body = [
        f"| {record['name']} | " + " | ".join(f"{100 * value:.2f}" for value in row) + f" |{end}"
        for record, row, end in zip(mine, rows, ends, strict=True)
    ]
    return "\n".join([head, "|---" * (head.count("|") - 1) + "|", *body])


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("task", choices=("classification", "recognition", "strings"))
    arguments.add_argument("folder", type=Path)
    arguments.add_argument("out", type=Path)
    arguments.add_argument("--corpora", default=",".join(FILES))
    arguments.add_argument("--epochs", type=int, default=30)
    arguments.add_argument("--patience", type=int, default=5)
    arguments.add_argument("--size", type=int, default=300)
    arguments.add_argument("--vector-epochs", type=int, default=25)
    arguments.add_argument("--vectors", type=Path, help="a folder that keeps learned vectors")
    arguments.add_argument("--part", type=int, default=trainer.PART)
    arguments.add_argument("--set", action="append", default=[])
    arguments.add_argument("--seed", type=int, default=0)
    arguments.add_argument("--device", default="cpu")
    arguments.add_argument("--commit", default="")
    arguments.add_argument("--table", action="store_true")
    options = arguments.parse_args()
    if options.table:
        print(table([json.loads(line) for line in options.out.read_text().splitlines()], options.task))
        return
    trainer.PART = options.part
    head = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    options.commit = options.commit or head.stdout.strip()
    for name in options.corpora.split(","):
        with tempfile.TemporaryDirectory() as scratch:
            record = strings(name, options) if options.task == "strings" else run(name, options, Path(scratch))
        with options.out.open("a") as file:
            file.write(json.dumps(record) + "\n")
        test = record["test"]
        shown = test["accuracy"] if options.task == "classification" else test["f1"]
        ended = f", epoch {record['best_epoch']}, {record['seconds']} s" if "best_epoch" in record else ""
        print(f"{name}: {options.task} {100 * shown:.2f}{ended}", flush=True)


if __name__ == "__main__":
    main()
