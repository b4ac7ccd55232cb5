"""New labels by examples alone: a source's memory is replaced by a few sentences of a new domain; nothing is trained.

    python benchmarks/new_labels.py SOURCE CROSSNER --old DATA/conll2003/eng.testa --out results.json

SOURCE is a trained model's folder, CROSSNER holds a folder for each domain with `train.txt` and `dev.txt`. For each
domain and draw, sentences are taken until each label has 1, 5 or 20 examples, and once all. Beside the memory as it is,
with its vote fitted, and as `memory build` leaves it, with a metric where one is fitted (`metric`), stand NNShot and
StructShot over the words' states of the same source. `--old`: the same sentences are once all added to the source's own
memory too, and that corpus is read before and after, with the labels of `--old-name`; and how long `memory.add` takes
until a text is read, in a copy of the folder.
"""

from __future__ import annotations

import argparse
import json
import logging
import platform
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from nnshot import Transitions, distances, to_entities, viterbi
from warm_start import sentences_of

import nearspan
from nearspan.document import Document
from nearspan.heads import Query
from nearspan.knn import AS_TRAINED, Datastore, assemble_datastore
from nearspan.knn.assemble import concatenate
from nearspan.model import Model
from nearspan.model.decode import decode
from nearspan.model.vote import fit_vote
from nearspan.spans import LabelledSentences

Entities = set[tuple[int, int, int, str]]  # sentence, first word, stop, label


class Read:
    """Labelled sentences that a network has read once, to be asked about with any memory."""

    def __init__(self, model: Model, documents: Sequence[Document]) -> None:
        self.model, network = model, model.network.eval()
        self.labelled: LabelledSentences = model.label_documents(documents)
        with torch.inference_mode():
            self.queries = [
                Query(network, batch) for batch in network.encode(self.labelled.sentences).reading_batches()
            ]
            for query in self.queries:
                _ = query.vectors
        self.gold: Entities = {
            (number, *gold.fragments[0], gold.label)
            for number, entities in enumerate(self.labelled.entities)
            for gold in entities
        }

    @torch.inference_mode()
    def predict(self, datastore: Datastore) -> Entities:
        """The entities that the memory finds."""
        entities: Entities = set()
        for query in self.queries:
            query = query.with_datastore(datastore)
            spans = self.model.network.predict(query, link=False)
            for number, of_sentence in zip(query.batch.ids.tolist(), spans, strict=True):
                kept = decode(of_sentence, self.model.overlap_of(datastore))
                entities |= {(number, *each.fragments[0], datastore.names[each.label]) for each in kept}
        return entities

    def words(self) -> list[torch.Tensor]:
        """The words' states of each sentence [T, H]."""
        states: dict[int, torch.Tensor] = {}
        for query in self.queries:
            for number, rows, length in zip(
                query.batch.ids.tolist(), query.word_states, query.batch.lengths.tolist(), strict=True
            ):
                states[number] = rows[:length]
        return [states[number] for number in range(len(states))]

    def tags(self, names: Sequence[str]) -> list[list[int]]:
        """Each word's label by its number, 0 for none."""
        numbers = {name: number for number, name in enumerate(names)}
        tags = [[0] * len(sentence.words) for sentence in self.labelled.sentences]
        for row, entities in zip(tags, self.labelled.entities, strict=True):
            for gold in entities:
                row[gold.first : gold.stop] = [numbers.get(gold.label, 0)] * (gold.stop - gold.first)
        return tags


def score(gold: Entities, read: Entities) -> dict[str, float]:
    """F1, precision and recall in percent, and F1 of spans whatever their label."""
    right = len(gold & read)
    spans = {each[:3] for each in gold}, {each[:3] for each in read}
    return {
        "f1_spans": round(200 * len(spans[0] & spans[1]) / max(1, len(spans[0]) + len(spans[1])), 2),
        "f1": round(200 * right / max(1, len(gold) + len(read)), 2),
        "precision": round(100 * right / max(1, len(read)), 2),
        "recall": round(100 * right / max(1, len(gold)), 2),
    }


def draw(labelled: LabelledSentences, shots: int, seed: int) -> list[int]:
    """Sentences by chance until each label has so many examples, or there are no more; rare labels come first."""
    order = random.Random(seed).sample(range(len(labelled.sentences)), len(labelled.sentences))
    if not shots:
        return sorted(order)
    totals: dict[str, int] = {}
    for entities in labelled.entities:
        for gold in entities:
            totals[gold.label] = totals.get(gold.label, 0) + 1
    counts, chosen = dict.fromkeys(totals, 0), set()
    for label in sorted(totals, key=lambda name: (totals[name], name)):
        for number in order:
            if counts[label] >= shots:
                break
            if number not in chosen and any(gold.label == label for gold in labelled.entities[number]):
                chosen.add(number)
                for gold in labelled.entities[number]:
                    counts[gold.label] += 1
    return sorted(chosen)


def tag_words(
    train: Read, dev: Read, chosen: Sequence[int], transitions: Transitions, powers: Sequence[float]
) -> dict[str, dict[str, float]]:
    """Scores of NNShot, and of StructShot with each power of its transitions."""
    names = ["", *sorted({gold.label for number in chosen for gold in train.labelled.entities[number]})]
    tags, states = train.tags(names), train.words()
    support = torch.cat([states[number] for number in chosen])
    support_tags = torch.tensor([tag for number in chosen for tag in tags[number]])
    near = [distances(words, support, support_tags, len(names) - 1) for words in dev.words()]
    found: dict[str, Entities] = {"nnshot": set(), **{f"structshot {power:g}": set() for power in powers}}
    for number, nearest in enumerate(near):
        decoded = {"nnshot": nearest.argmin(1).tolist()}
        for power in powers:
            logs = (-nearest).log_softmax(1)
            decoded[f"structshot {power:g}"] = viterbi(logs, *transitions.logs(len(names) - 1, power))
        for name, row in decoded.items():
            found[name] |= {(number, a, b, names[label]) for a, b, label in to_entities(row)}
    return {name: score(dev.gold, entities) for name, entities in found.items()}


def time_adding(source: Path, documents: Sequence[Document], text: str) -> list[list[float]]:
    """Seconds by the clock and of the processor from `add` to the next prediction, document after document."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(source, Path(folder) / "model")
        model = nearspan.load(Path(folder) / "model", "cpu")
        _ = model.memory, model(text)
        seconds = []
        for document in documents:
            began, processor = time.perf_counter(), time.process_time()
            model.memory.add(document)
            model(text)
            spent = time.perf_counter() - began, time.process_time() - processor
            seconds.append([round(each, 3) for each in spent])
        return seconds


def main() -> None:
    """Score every draw; results are written after each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path)
    parser.add_argument("crossner", type=Path)
    parser.add_argument("--domains", nargs="+", default=["ai", "literature", "music"])
    parser.add_argument("--split", default="dev")
    parser.add_argument("--shots", nargs="+", type=int, default=[1, 5, 20, 0], help="0: all sentences")
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--old", help="a corpus with labels that the source knows")
    parser.add_argument("--old-name", default="conll2003", help="its name among the source's corpora")
    parser.add_argument("--powers", nargs="*", type=float, default=[0.1, 0.03])
    parser.add_argument("--old-most", type=int, default=0, help="sentences of it that are read; 0: all")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    logging.disable(logging.INFO)
    model = nearspan.load(options.source, "cpu")
    memory, network = model.datastore, model.network
    assert memory is not None
    record: dict[str, Any] = {
        "command": ["python", *sys.argv],
        "commit": subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True).stdout.strip(),
        "hardware": platform.processor() or platform.machine(),
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
        "runs": [],
    }
    mine = [each for each in memory.sentences if any(gold.label.startswith(options.old_name) for gold in each.entities)]
    transitions = Transitions.of(_source_tags(mine))
    old = None
    if options.old:
        documents = sentences_of(nearspan.read(options.old).documents)
        documents = random.Random(0).sample(documents, min(options.old_most or len(documents), len(documents)))
        old = Read(model, [_prefix(document, options.old_name) for document in documents])
        record["old_before"] = score(old.gold, old.predict(memory))
        print(record["old_before"], flush=True)
    for domain in options.domains:
        texts = {
            name: nearspan.read(options.crossner / domain / f"{name}.txt").documents
            for name in ("train", options.split)
        }
        train = Read(model, sentences_of(texts["train"]))
        dev = Read(model, sentences_of(texts[options.split]))
        labels = sorted({gold.label for entities in train.labelled.entities for gold in entities})
        model.datastore = None
        model.network.head.fits_metric = False
        whole = model.build_datastore(train.labelled, labels=labels)
        for shots in options.shots:
            for seed in range(options.draws if shots else 1):
                chosen = draw(train.labelled, shots, seed)
                used = sorted({gold.label for number in chosen for gold in train.labelled.entities[number]})
                kept = {number: whole.sentences[number] for number in chosen}
                plain = assemble_datastore([whole], kept, used, network.suggester)
                plain = replace(plain, vote=AS_TRAINED)
                began = time.process_time()
                fitted = replace(plain, vote=fit_vote(model, plain))
                run: dict[str, Any] = {"domain": domain, "shots": shots, "draw": seed, "sentences": len(chosen)}
                run |= {
                    "fit_seconds": round(time.process_time() - began, 2),
                    "vote": fitted.vote.to_dict() | {"known": None},
                }
                run["as trained"] = score(dev.gold, dev.predict(plain))
                run["fitted"] = score(dev.gold, dev.predict(fitted))
                began, model.network.head.fits_metric = time.process_time(), True
                compared = model.build_datastore(train.labelled.select(chosen), labels=used)
                run |= {
                    "metric_seconds": round(time.process_time() - began, 2),
                    "metric_vote": compared.vote.to_dict() | {"known": None} if compared.metric is not None else None,
                }
                run["metric"] = score(dev.gold, dev.predict(compared))
                run |= tag_words(train, dev, chosen, transitions, options.powers)
                if old is not None and not shots:
                    names = ("", *memory.own_names, *used)
                    more = replace(plain.with_names(names), own_labels=memory.own_labels)
                    added = concatenate([memory, more])
                    added = replace(added, vote=fit_vote(model, added))
                    run["added"] = score(dev.gold, _of_labels(dev.predict(added), used)) | {"times": added.vote.times}
                    run["old"] = score(old.gold, _without_labels(old.predict(added), used))
                record["runs"].append(run)
                print(json.dumps(run), flush=True)
                options.out.write_text(json.dumps(record, indent=1))
        if options.old:
            some = [each for each in sentences_of(texts["train"]) if each.entities][:10]
            record.setdefault("add_seconds", {})[domain] = time_adding(options.source, some, some[-1].text)
    options.out.write_text(json.dumps(record, indent=1))


def _source_tags(sentences: Sequence[Any]) -> list[list[int]]:
    names: dict[str, int] = {}
    rows = []
    for sentence in sentences:
        row = [0] * len(sentence.words)
        for gold in sentence.entities:
            row[gold.first : gold.stop] = [names.setdefault(gold.label, len(names) + 1)] * (gold.stop - gold.first)
        rows.append(row)
    return rows


def _prefix(document: Document, name: str) -> Document:
    return document.with_entities(replace(entity, label=f"{name}/{entity.label}") for entity in document.entities)


def _of_labels(entities: Entities, labels: Sequence[str]) -> Entities:
    return {each for each in entities if each[-1] in labels}


def _without_labels(entities: Entities, labels: Sequence[str]) -> Entities:
    return {each for each in entities if each[-1] not in labels}


if __name__ == "__main__":
    main()
