"""The spaCy component beside `nearspan annotate`: the same entities in the same words, in as much time, scored alike.

    python benchmarks/spacy_component.py CONLL2003 GENIA --vectors glove.6B.100d.txt --out results.json

CONLL2003 is a folder with eng.train and eng.testb, GENIA one with train.json and test.json (sentences as JSON with
`sentence` and `ner`). For each, `start`, which is what `nearspan train` takes, and a classifier over static vectors,
the quickest of the recipes, are trained on the first documents for a few epochs; what they would score after all of
them changes nothing here. Then, over the whole test set, or with `--every 4` over every fourth document of it:

1. A blank English pipeline with the component reads the texts in its own tokenizer's words. `nearspan annotate` reads
   the same texts from a file in which those words are given. Are the entities the same, and how far apart are scores?
2. Time, the medians of turns of processor time after one to warm up: the pipeline; its tokenizer, and the model with
   the same words as documents; the model with texts alone, which it parts into words of its own; and what `nearspan
   annotate` does with a file of these texts once its model is loaded: read them, find entities, write JSON lines.
3. The test set's own words and sentences, with its entities in `doc.spans`: F1 by spaCy's `nlp.evaluate` and by
   `nearspan.evaluate`.
"""

from __future__ import annotations

import argparse
import gc
import json
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy
import spacy
import torch
from many import current_commit
from spacy.tokens import Doc, Span
from spacy.training import Example

import nearspan
from nearspan.formats.files import stream
from nearspan.formats.jsonl import json_line
from nearspan.integrations.spacy.annotations import to_document, word_tokens
from nearspan.io.atomic import write_file

KEY = "nearspan"
CORPORA = {
    "CoNLL-2003": ("eng.train", "eng.testb", 400),
    "GENIA": ("train.json", "test.json", 4000),
}
RECIPES = {"start": 2, "classifier": 6}  # with their epochs


def train_model(recipe: str, train: list[nearspan.Document], epochs: int, vectors: str, out: Path) -> nearspan.Model:
    settings = [f"training.epochs={epochs}", "training.batch=32"]
    settings += [f"encoder.vectors.file={vectors}"] if vectors and recipe == "classifier" else []
    nearspan.train(nearspan.recipe(recipe).override(settings), train, out=out, device="cpu")
    return nearspan.load(out, device="cpu")


def entities_of(doc: Doc) -> dict[tuple[int, int, str], float]:
    group = doc.spans[KEY]
    keys = ((span.start_char, span.end_char, span.label_) for span in group)
    return dict(zip(keys, group.attrs["scores"].tolist(), strict=True))


def annotate(folder: Path, model: Path, documents: Iterable[nearspan.Document]) -> list[dict[Any, float]]:
    """What the command finds in documents whose words are given."""
    corpus, out = folder / "words.jsonl", folder / "annotated.jsonl"
    nearspan.write(documents, corpus, force=True)
    command = [sys.executable, "-m", "nearspan", "-q", "annotate", model, corpus, "--out", out, "--force"]
    subprocess.run([*map(str, command), "--device", "cpu"], check=True)
    return [
        {(entity.start, entity.end, entity.label): entity.score for entity in document.entities}
        for document in nearspan.read(out)
    ]


def annotate_file(model: nearspan.Model, texts: Path, out: Path) -> None:
    """What the command does between loading its model and its end."""
    write_file(out, (json_line(document) + "\n" for document in model.pipe(stream(texts))))


def same_entities(piped: list[dict[Any, float]], annotated: list[dict[Any, float]]) -> dict[str, Any]:
    scores = [
        abs(score - other[key])
        for ours, other in zip(piped, annotated, strict=True)
        for key, score in ours.items()
        if key in other
    ]
    return {
        "by_the_component": sum(map(len, piped)),
        "by_annotate": sum(map(len, annotated)),
        "in_both": len(scores),
        "largest_difference_of_scores": max(scores, default=0.0),
    }


def seconds(ways: dict[str, Callable[[], object]], turns: int) -> dict[str, float]:
    """Processor time of each way, in turns."""
    times: dict[str, list[float]] = {name: [] for name in ways}
    for turn in range(turns + 1):
        for name, run in ways.items():
            gc.collect()  # what one way has left is not collected in the time of the next
            began = time.process_time()
            run()
            if turn:
                times[name].append(time.process_time() - began)
    return {name: round(statistics.median(values), 3) for name, values in times.items()}


def to_doc(nlp: spacy.language.Language, document: nearspan.Document) -> Doc:
    """A document in its own words and sentences; what stands between words is a blank, nothing, or a token."""
    tokens, blanks, begins = [], [], []
    starts, end = {start for start, _ in document.sentences or ()}, 0
    for start, stop in document.words or ():
        gap = document.text[end:start]
        if gap and tokens:
            blanks[-1], gap = gap[0] == " ", gap.removeprefix(" ")
        if gap:
            tokens.append(gap)
            blanks.append(False)
            begins.append(False)
        tokens.append(document.text[start:stop])
        blanks.append(False)
        begins.append(start in starts)
        end = stop
    begins[:1] = [True]
    doc = Doc(nlp.vocab, words=tokens, spaces=blanks, sent_starts=begins)
    assert doc.text == document.text[: len(doc.text)]
    assert not document.text[len(doc.text) :].strip()
    return doc


def example_of(nlp: spacy.language.Language, document: nearspan.Document) -> Example:
    gold = to_doc(nlp, document)
    first = {start: i for i, start, _ in word_tokens(gold)}
    stop = {end: i + 1 for i, _, end in word_tokens(gold)}
    flat = [entity for entity in document.entities if not entity.span.discontinuous]
    gold.spans[KEY] = [Span(gold, first[e.start], stop[e.end], label=e.label) for e in flat]
    return Example(to_doc(nlp, document), gold)


def measure(name: str, folder: Path, recipe: str, options: argparse.Namespace) -> dict[str, Any]:
    (train, test, part), epochs = CORPORA[name], RECIPES[recipe]
    corpus = nearspan.read(folder / train).documents[: options.part or part]
    gold = nearspan.read(folder / test).documents[:: options.every]
    texts = [document.text for document in gold]
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "model"
        began = time.monotonic()
        model = train_model(recipe, list(corpus), options.epochs or epochs, options.vectors, path)
        spent = time.monotonic() - began
        nlp = spacy.blank("en")
        nlp.add_pipe(KEY, config={"model": str(path), "device": "cpu"})
        in_words = [to_document(doc) for doc in nlp.tokenizer.pipe(texts)]
        piped = [entities_of(doc) for doc in nlp.pipe(texts)]
        entities = same_entities(piped, annotate(Path(place), path, in_words))
        nearspan.write([nearspan.Document(text) for text in texts], Path(place) / "texts.jsonl")
        files = (Path(place) / "texts.jsonl", Path(place) / "out.jsonl")
        ways: dict[str, Callable[[], object]] = {
            "annotate": lambda: annotate_file(model, *files),
            "pipeline": lambda: list(nlp.pipe(texts)),
            "tokenizer": lambda: list(nlp.tokenizer.pipe(texts)),
            "model_with_its_words": lambda: list(model.pipe(in_words)),
            "model_with_texts": lambda: list(model.pipe(texts)),
        }
        times = seconds(ways, options.turns)
        ours = nearspan.evaluate(model, gold).scores
        theirs = nlp.evaluate([example_of(nlp, document) for document in gold])
    both = times["tokenizer"] + times["model_with_its_words"]
    return {
        "recipe": recipe,
        "trained_on": f"{len(corpus):,} documents, {options.epochs or epochs} epochs, {spent:.0f} s",
        "documents": len(gold),
        "words": sum(len(document.words or ()) for document in in_words),
        "entities": entities,
        "seconds": times,
        "pipeline_to_annotate": round(times["pipeline"] / times["annotate"], 3),
        "pipeline_to_tokenizer_and_model": round(times["pipeline"] / both, 3),
        "pipeline_to_model_with_texts": round(times["pipeline"] / times["model_with_texts"], 3),
        "f1": {"nearspan.evaluate": ours.f1, "nlp.evaluate": theirs[f"spans_{KEY}_f"]},
        "f1_by_label_is_equal": bool(
            numpy.allclose(
                [counts.f1 for _, counts in sorted(ours.labels.items())],
                [part["f"] for _, part in sorted(theirs[f"spans_{KEY}_per_type"].items())],
            )
        ),
    }


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("conll2003", type=Path)
    arguments.add_argument("genia", type=Path)
    arguments.add_argument("--vectors", default="")
    arguments.add_argument("--recipes", nargs="+", choices=RECIPES, default=list(RECIPES))
    arguments.add_argument("--every", type=int, default=1, help="take one document of so many of the test set")
    arguments.add_argument("--turns", type=int, default=5)
    arguments.add_argument("--part", type=int, default=0, help="documents to train on, instead of the usual number")
    arguments.add_argument("--epochs", type=int, default=0)
    arguments.add_argument("--out", type=Path)
    options = arguments.parse_args()
    result: dict[str, Any] = {
        f"{name}, {recipe}": measure(name, folder, recipe, options)
        for recipe in options.recipes
        for name, folder in zip(CORPORA, (options.conll2003, options.genia), strict=True)
    }
    result["commit"] = current_commit()
    result["hardware"] = f"cpu, {platform.machine()}, {torch.get_num_threads()} threads, processor time"
    result["versions"] = {"torch": torch.__version__, "spacy": spacy.__version__, "python": platform.python_version()}
    print(json.dumps(result, indent=1))
    if options.out:
        options.out.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
