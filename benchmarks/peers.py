"""nearspan beside the tools that a user would take instead: one machine, one core, the same sentences, in turns.

    python benchmarks/peers.py train huggingface CONLL2003 WORK --encoder minilm --device cuda
    python benchmarks/peers.py score huggingface CONLL2003 WORK
    OMP_NUM_THREADS=1 python benchmarks/peers.py measure CONLL2003 WORK --out benchmarks/results/peers.json
    python benchmarks/peers.py table benchmarks/results/peers.json

CONLL2003 is a folder with eng.train, eng.testa and eng.testb. `train` writes a peer's model to WORK/PEER, `score` its
F1 on the whole test set in each of its precisions to WORK/PEER.json. `measure` takes all that are in WORK and annotates
test sentences with each in turns, from words to entities, tokenizing and decoding included. Times are medians of
processor time after one turn to warm up; `--sentences` takes part of the test set, spread over it, and `--peers` some
of the peers. `table` prints a result as the table of a page, with each rate over Hugging Face's best in float32.

- `huggingface`: AutoModelForTokenClassification over the same encoder, all layers fine-tuned, BIO tags on the first
  piece of each word. Sentences are sorted by their number of pieces; each batch size in BATCHES is tried and the best
  counts. It is measured in float32 and, as a whole, in bf16.
- `spacy-ner`, `spacy-spancat`: blank English pipelines with one component.
- `biaffine`, `dspert`, `joint-ib`: nearspan's recipes over the same encoder, in each precision.
- `classifier`, `instance`: nearspan's recipes over static vectors (`--vectors`), which have no encoder.

The share of the core that is used is the encoder's arithmetic alone, for the pieces that there are and none of padding,
by time, over the rate of one large float32 (or bf16) matrix product in the same run.
"""

from __future__ import annotations

import argparse
import gc
import json
import platform
import random
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from first_ten_minutes import _entities, one_by_one, outermost

import nearspan
from nearspan.document import Document
from nearspan.evaluation.matching import score

Documents = Sequence[Document]
Annotate = Callable[[Documents], list[Document]]
BATCHES = (8, 16, 32, 64)
DEEP = ("biaffine", "dspert", "joint-ib")
STATIC = ("classifier", "instance")
PEERS = ("huggingface", *DEEP, *STATIC, "spacy-ner", "spacy-spancat")
PRECISIONS = ("float32", "bf16", "int8")
SETTINGS = {
    "biaffine": [],
    "dspert": [],
    "joint-ib": ["losses.generators=none"],  # they train alone; what predicts is the same
}


def sentences_of(folder: Path, split: str, most: int = 0) -> list[Document]:
    """The sentences of a split as documents; `most` of them, spread over all."""
    documents = one_by_one(nearspan.read(folder / f"eng.{split}").documents)
    return documents[:: max(1, len(documents) // most)][:most] if most else documents


def words_of(document: Document) -> list[str]:
    return [document.text[start:end] for start, end in document.words or ()]


# Hugging Face token classification


class TokenClassifier:
    """What its documentation tells a user to write, with sentences sorted by pieces."""

    def __init__(self, folder: str, batch: int = 32, dtype: torch.dtype = torch.float32, **settings: Any) -> None:
        from transformers import AutoModelForTokenClassification, AutoTokenizer

        self.tokenizer = AutoTokenizer.from_pretrained(folder)
        self.model = AutoModelForTokenClassification.from_pretrained(folder, dtype=dtype, **settings)
        self.batch = batch

    def encode(self, documents: Documents, **settings: Any) -> Any:
        words = [words_of(document) for document in documents]
        return self.tokenizer(words, is_split_into_words=True, truncation=True, max_length=512, **settings)

    @torch.inference_mode()
    def __call__(self, documents: Documents) -> list[Document]:
        encoding, tags = self.encode(documents), self.model.config.id2label
        order = sorted(range(len(documents)), key=lambda i: len(encoding["input_ids"][i]))
        annotated = list(documents)
        for start in range(0, len(order), self.batch):
            chosen = order[start : start + self.batch]
            inputs = {name: [rows[i] for i in chosen] for name, rows in encoding.items()}
            padded = self.tokenizer.pad(inputs, return_tensors="pt")
            best = self.model(**padded).logits.argmax(-1).tolist()
            for i, row in zip(chosen, best, strict=True):
                tagged: dict[int, str] = {}
                for word, number in zip(encoding.word_ids(i), row, strict=False):
                    if word is not None:
                        tagged.setdefault(word, tags[number])
                annotated[i] = documents[i].with_entities(_entities(documents[i], tagged))
        return annotated

    def save(self, folder: Path) -> None:
        self.model.save_pretrained(folder)
        self.tokenizer.save_pretrained(folder)


def train_huggingface(train: Documents, folder: Path, options: argparse.Namespace) -> None:
    from nearspan.encoders.packaged import encoder_source

    torch.manual_seed(options.seed)
    chance = random.Random(options.seed)
    labels = sorted({entity.label for document in train for entity in document.entities})
    tags = ["O", *(f"{prefix}-{label}" for label in labels for prefix in "BI")]
    names = {"id2label": dict(enumerate(tags)), "label2id": {tag: number for number, tag in enumerate(tags)}}
    tagger = TokenClassifier(encoder_source(options.encoder), num_labels=len(tags), **names)
    model = tagger.model.float().to(options.device).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=options.rate)
    steps = -(-len(train) // 32) * options.epochs
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min(1.0, step / (0.1 * steps)) * (1 - step / steps)
    )
    for _ in range(options.epochs):
        order = chance.sample(range(len(train)), len(train))
        for start in range(0, len(order), 32):
            documents = [train[i] for i in order[start : start + 32]]
            encoding = tagger.encode(documents, padding=True, return_tensors="pt")
            gold = torch.full(encoding["input_ids"].shape, -100)
            for row, document in enumerate(documents):
                of_word = dict.fromkeys(range(len(document.words or ())), 0)
                for entity in outermost(document):
                    inside = [
                        i for i, (a, b) in enumerate(document.words or ()) if entity.start <= a and b <= entity.end
                    ]
                    for place, word in enumerate(inside):
                        of_word[word] = 1 + 2 * labels.index(entity.label) + (place > 0)
                for position, word in reversed(list(enumerate(encoding.word_ids(row)))):
                    if word is not None:
                        gold[row, position] = of_word[word]  # the first piece comes last
                        if position + 1 < gold.shape[1] and encoding.word_ids(row)[position + 1] == word:
                            gold[row, position + 1] = -100
            loss = model(**encoding.to(options.device), labels=gold.to(options.device)).loss
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
    model.eval().cpu()
    tagger.save(folder)


# spaCy


class SpacyPipeline:
    """A blank English pipeline with one component, `ner` or `spancat`, over given words."""

    def __init__(self, kind: str, folder: Path | None = None) -> None:
        import spacy

        self.kind, self.nlp = kind, spacy.blank("en") if folder is None else spacy.load(folder)

    def __call__(self, documents: Documents) -> list[Document]:
        annotated = []
        docs = self.nlp.pipe(map(self.doc, documents), batch_size=256)
        for document, doc in zip(documents, docs, strict=True):
            words, spans = document.words or (), doc.ents if self.kind == "ner" else doc.spans["sc"]
            entities = {nearspan.Entity.of(words[span.start][0], words[span.end - 1][1], span.label_) for span in spans}
            annotated.append(document.with_entities(sorted(entities)))
        return annotated

    def doc(self, document: Document) -> Any:
        from spacy.tokens import Doc

        return Doc(self.nlp.vocab, words_of(document))

    def example(self, document: Document) -> Any:
        from spacy.tokens import Span
        from spacy.training import Example

        doc, gold = self.doc(document), self.doc(document)
        first = {start: i for i, (start, _) in enumerate(document.words or ())}
        stop = {end: i + 1 for i, (_, end) in enumerate(document.words or ())}
        spans = [Span(gold, first[entity.start], stop[entity.end], entity.label) for entity in outermost(document)]
        if self.kind == "ner":
            gold.ents = spans
        else:
            gold.spans["sc"] = spans
        return Example(doc, gold)

    def train(self, documents: Documents, options: argparse.Namespace) -> None:
        from first_ten_minutes import _span_widths
        from spacy.util import minibatch

        self.nlp.add_pipe(self.kind, config=_span_widths(documents) if self.kind == "spancat" else {})
        examples, chance = [self.example(document) for document in documents], random.Random(options.seed)
        optimizer = self.nlp.initialize(lambda: examples)
        for _ in range(options.epochs):
            chance.shuffle(examples)
            for batch in minibatch(examples, 32):
                self.nlp.update(batch, sgd=optimizer, drop=0.1)


# all of them


def train(peer: str, options: argparse.Namespace) -> None:
    folder, documents = options.work / peer, sentences_of(options.corpus, "train", options.sentences)
    folder.mkdir(parents=True)
    if peer == "huggingface":
        train_huggingface(documents, folder, options)
    elif peer.startswith("spacy-"):
        pipeline = SpacyPipeline(peer.removeprefix("spacy-"))
        pipeline.train(documents, options)
        pipeline.nlp.to_disk(folder)
    else:
        encoder = [f"encoder.transformer.name={options.encoder}"] if peer in DEEP else []
        vectors = [f"encoder.vectors.file={options.vectors}"] if peer in STATIC and options.vectors else []
        settings = [*encoder, *vectors, *SETTINGS.get(peer, []), f"training.epochs={options.epochs}"]
        dev = sentences_of(options.corpus, "testa", options.sentences)
        recipe = nearspan.recipe(peer).override(settings)
        nearspan.train(recipe, documents, dev, out=folder, device=options.device, seed=options.seed)


def ways_of(peer: str, folder: Path) -> dict[str, Annotate]:
    """The ways to annotate with a trained peer, by name: one for each precision, and for each size of batches."""
    if peer == "huggingface":
        types = {"float32": torch.float32, "bf16": torch.bfloat16}
        return {
            f"{peer} {name} batch {batch}": TokenClassifier(str(folder), batch, dtype)
            for name, dtype in types.items()
            for batch in BATCHES
        }
    if peer.startswith("spacy-"):
        return {f"{peer} float32": SpacyPipeline(peer.removeprefix("spacy-"), folder)}
    precisions = PRECISIONS if peer in DEEP else PRECISIONS[:1]
    models = {name: nearspan.load(folder, device="cpu", precision=name) for name in precisions}
    return {
        f"{peer} {name}": lambda documents, model=model: list(model.pipe(documents)) for name, model in models.items()
    }


def score_peer(peer: str, options: argparse.Namespace) -> dict[str, Any]:
    """F1 on the whole test set in each precision, and the entities that are not those of float32."""
    gold = sentences_of(options.corpus, "testb", options.sentences)
    bare, record, exact = [document.with_entities(()) for document in gold], {}, None
    for way, annotate in ways_of(peer, options.work / peer).items():
        name = way.split()[1]
        if name in record:  # another size of batches
            continue
        predicted = annotate(bare)
        found = [{(entity.span, entity.label) for entity in document.entities} for document in predicted]
        exact = exact or found
        changed = sum(len(a - b) + len(b - a) for a, b in zip(exact, found, strict=True))
        f1 = score(gold, predicted).f1
        record[name] = {"f1": round(f1, 4), "entities": sum(map(len, found)), "changed": changed}
        (options.work / f"{peer}.json").write_text(json.dumps(record, indent=1))
    return record


def matrix_rate(dtype: torch.dtype) -> float:
    """GFLOP/s of one large matrix product, the best of several."""
    from nearspan.linear import linear

    inputs, weight = torch.randn(1024, 1024, dtype=dtype), torch.randn(1024, 1024, dtype=dtype)
    times = []
    with torch.inference_mode():
        for _ in range(10):
            began = time.process_time()
            for _ in range(5):
                linear(inputs, weight)
            times.append(time.process_time() - began)
    return 5 * 2 * 1024**3 / min(times) / 1e9


def encoder_flops(folder: Path, documents: Documents) -> float:
    """What the layers of an encoder have to compute for the pieces of some sentences, special tokens included."""
    tagger = TokenClassifier(str(folder))
    config = tagger.model.config
    d, f, layers = config.hidden_size, config.intermediate_size, config.num_hidden_layers
    lengths = [len(ids) for ids in tagger.encode(documents)["input_ids"]]
    return sum(layers * n * (8 * d * d + 4 * d * f + 4 * n * d) for n in lengths)


def measure(options: argparse.Namespace) -> dict[str, Any]:
    documents = [document.with_entities(()) for document in sentences_of(options.corpus, "testb", options.sentences)]
    peers = [peer for peer in options.peers if (options.work / peer).is_dir()]
    ways = {name: way for peer in peers for name, way in ways_of(peer, options.work / peer).items()}
    times: dict[str, list[float]] = {name: [] for name in ways}
    rates: dict[str, list[float]] = {"float32": [], "bf16": []}
    for turn in range(options.turns + 1):
        for name, dtype in (("float32", torch.float32), ("bf16", torch.bfloat16)):
            rates[name].append(matrix_rate(dtype))
        for name, annotate in ways.items():
            gc.collect()
            began = time.process_time()
            annotate(documents if turn else documents[:64])
            if turn:
                times[name].append(time.process_time() - began)
    best = {name: statistics.median(turns) for name, turns in times.items()}
    rows: dict[str, dict[str, Any]] = {}
    flops = encoder_flops(options.work / "huggingface", documents) if "huggingface" in peers else 0
    for name, seconds in best.items():
        peer, precision, *batch = name.split(maxsplit=2)
        row = {
            "sentences_per_second": round(len(documents) / seconds, 1),
            "seconds": [round(t, 3) for t in times[name]],
        }
        if peer == "huggingface" or peer in DEEP:
            row["encoder_gflops_per_second"] = round(flops / seconds / 1e9, 1)
            rate = statistics.median(rates["bf16" if precision == "bf16" else "float32"])
            row["encoder_share_of_core"] = round(flops / seconds / 1e9 / rate, 3) if precision != "int8" else None
        row |= {"batch": int(batch[0].split()[1])} if batch else {}
        key = f"{peer} {precision}"
        if key not in rows or row["sentences_per_second"] > rows[key]["sentences_per_second"]:
            rows[key] = row
    for peer in peers:
        file = options.work / f"{peer}.json"
        for precision, scores in (json.loads(file.read_text()) if file.exists() else {}).items():
            rows[f"{peer} {precision}"] |= scores
    return {
        "sentences": len(documents),
        "words": sum(len(document.words or ()) for document in documents),
        "matrix_gflops_per_second": {name: round(statistics.median(values), 1) for name, values in rates.items()},
        "peers": rows,
        "seconds_by_batch": {name: round(seconds, 3) for name, seconds in best.items() if "batch" in name},
        "hardware": f"{platform.machine()}, {_processor()}, {torch.get_num_threads()} thread, processor time",
        "versions": _versions(),
    }


def table(result: dict[str, Any]) -> str:
    """A result as a Markdown table."""
    rows = result["peers"]
    base = rows["huggingface float32"]["sentences_per_second"]
    lines = ["| | precision | F1 | sentences a second | of Hugging Face |", "|---|---|---|---|---|"]
    for name, row in rows.items():
        peer, precision = name.split()
        f1, rate = f"{100 * row['f1']:.2f}" if "f1" in row else "", row["sentences_per_second"]
        lines.append(f"| `{peer}` | {precision} | {f1} | {rate:,.0f} | {rate / base:.2f} |")
    return "\n".join(lines)


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    return next((line.partition(": ")[2] for line in lines if line.startswith("model name")), platform.processor())


def _versions() -> dict[str, str]:
    from importlib.metadata import PackageNotFoundError, version

    versions = {"python": platform.python_version()}
    for name in ("torch", "transformers", "spacy", "onnxruntime"):
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            continue
    return versions


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("table").add_argument("result", type=Path)
    for command in ("train", "score", "measure"):
        part = commands.add_parser(command)
        if command == "measure":
            part.add_argument("--peers", nargs="+", choices=PEERS, default=PEERS)
        else:
            part.add_argument("peer")
        part.add_argument("corpus", type=Path)
        part.add_argument("work", type=Path)
        part.add_argument("--sentences", type=int, default=0)
        part.add_argument("--encoder", default="minilm")
        part.add_argument("--vectors", default="")
        part.add_argument("--device", default="cpu")
        part.add_argument("--epochs", type=int, default=10)
        part.add_argument("--rate", type=float, default=1e-4)
        part.add_argument("--seed", type=int, default=1)
        part.add_argument("--turns", type=int, default=3)
        part.add_argument("--out", type=Path)
    options = parser.parse_args()
    if options.command == "table":
        print(table(json.loads(options.result.read_text())))
        return
    if options.command == "train":
        train(options.peer, options)
        return
    result = measure(options) if options.command == "measure" else score_peer(options.peer, options)
    print(json.dumps(result, indent=1))
    if options.out:
        options.out.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
