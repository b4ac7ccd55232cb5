"""How quickly the whole of a memory answers, and how far from the plain sum over all its spans.

    python benchmarks/whole_memory.py build MODEL OUT F... [--spans 10000000]
    OMP_NUM_THREADS=1 python benchmarks/whole_memory.py measure MODEL F [--sentences 100] [--singles 20]
        [--before OTHER/src] [--turns 3] [--plain 500] [--ram 2000] [--out results.json]

`build` gives MODEL a memory of all sentences of some files, up to so many spans, whatever their labels are, and saves
it in OUT. `measure` asks it in processes of their own that take turns, `--before` with another version's source: the
entities of sentences in batches and of single ones (`model.pipe`), and the probabilities of all spans of sentences.
Times are of the processor, the median of the turns. Then the probabilities of some spans are compared with the softmax
of their inner products with all spans, in double precision. With `--ram` a process is put into a memory cgroup of so
many MB (version 1, as root), page cache included, so that what does not fit has to be read from disk again.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import torch

import nearspan
from nearspan.heads import Query
from nearspan.model import Model

PART = 200_000  # spans of the memory whose plain scores are held at once
GROUP = Path("/sys/fs/cgroup/memory")


def build(options: argparse.Namespace) -> None:
    model = nearspan.load(options.model, "cpu")
    spans, documents = 0, []
    for file in options.files:
        for document in nearspan.read(file).documents:
            if spans >= options.spans:
                break
            documents.append(document)
            for sentence in model.split(document):
                count, width = len(sentence.words), model.network.max_width
                spans += sum(max(0, count - more) for more in range(width))
    labelled = model.label_documents(documents)
    print(model.build_datastore(labelled))
    model.save(options.out, "")


def ask(options: argparse.Namespace) -> None:
    """One process: its times, and with `--plain` how far it is from the plain sum."""
    began = time.process_time()
    model = nearspan.load(options.model, "cpu").set_search("whole")
    record: dict[str, Any] = {"load_seconds": round(time.process_time() - began, 2), "spans": len(model.datastore)}
    sentences = [sentence for document in nearspan.read(options.file) for sentence in model.split(document)]
    sentences = sentences[:: max(1, len(sentences) // options.sentences)][: options.sentences]
    texts = [nearspan.Document(" ".join(s.document.text[a:b] for a, b in s.words)) for s in sentences]
    list(model.pipe(texts[:2]))
    for name, runs in (("batches", [texts]), ("singly", [[text] for text in texts[: options.singles]])):
        wall, began, documents = time.perf_counter(), time.process_time(), list[nearspan.Document]()
        for run in runs:
            documents += model.pipe(run, workers=1)
        record[f"{name}_ms"] = round(1000 * (time.process_time() - began) / len(documents), 2)
        record[f"{name}_wall_ms"] = round(1000 * (time.perf_counter() - wall) / len(documents), 2)
        record[f"{name}_entities"] = sum(len(document.entities) for document in documents)
    network, corpus = model.network.eval(), model.encode(sentences)
    with torch.inference_mode():
        queries = [Query(network, batch, model.datastore) for batch in corpus.reading_batches()]
        began = time.process_time()
        probabilities = torch.cat([network.predict_proba(query) for query in queries])
        record["all_probabilities_ms"] = round(1000 * (time.process_time() - began) / len(sentences), 2)
        if options.plain:
            vectors = torch.cat([query.vectors for query in queries])
            rows = torch.randperm(len(vectors), generator=torch.Generator().manual_seed(0))[: options.plain]
            likeliest = probabilities[:, 0].argsort()[: options.plain // 5]  # null is most of the others
            rows = torch.cat([rows, likeliest]).unique()
            apart = (probabilities[rows].double() - plain_sum(model, vectors[rows])).abs()
            record["compared_spans"], record["largest_difference"] = len(rows), float(apart.max())
    status = Path("/proc/self/status").read_text().splitlines()
    sizes = {line.split(":")[0]: int(line.split()[1]) // 1024 for line in status if line.startswith(("Vm", "Rss"))}
    record |= {"peak_resident_mb": sizes["VmHWM"], "own_mb": sizes["RssAnon"], "mapped_mb": sizes["RssFile"]}
    print(json.dumps(record))


def plain_sum(model: Model, vectors: torch.Tensor) -> torch.Tensor:
    """Equation 2 in double precision: a softmax over all spans, added up by label."""
    memory = model.datastore
    assert memory is not None
    totals = torch.full((len(vectors), len(memory.names)), -torch.inf, dtype=torch.double)
    for first in range(0, len(memory), PART):
        part = slice(first, first + PART)
        scores = vectors.double() @ memory.rows(part).double().T + memory.offsets(part).double()
        for label in memory.labels[part].unique().tolist():
            of_label = scores[:, memory.labels[part] == label].logsumexp(1)
            totals[:, label] = torch.logaddexp(totals[:, label], of_label)
    return totals.softmax(1)


def measure(options: argparse.Namespace) -> None:
    sources = {"now": ""} | ({"before": str(options.before)} if options.before else {})
    records: dict[str, list[dict[str, Any]]] = {name: [] for name in sources}
    for turn in range(options.turns):
        for name, source in sources.items():
            plain = options.plain if name == "now" and turn == 0 else 0
            command = [sys.executable, __file__, "ask", str(options.model), str(options.file), "--plain", str(plain)]
            command += ["--sentences", str(options.sentences), "--singles", str(options.singles)]
            environment = os.environ | ({"PYTHONPATH": source} if source else {})
            group = GROUP / f"nearspan-{os.getpid()}"

            def enter(group: Path = group) -> None:
                if options.ram:
                    group.mkdir(exist_ok=True)
                    (group / "memory.limit_in_bytes").write_text(str(options.ram * 2**20))
                    (group / "cgroup.procs").write_text(str(os.getpid()))

            done = subprocess.run(command, env=environment, preexec_fn=enter, stdout=subprocess.PIPE, check=True)
            record = json.loads(done.stdout.splitlines()[-1])
            if options.ram:
                record["peak_in_group_mb"] = int((group / "memory.max_usage_in_bytes").read_text()) // 2**20
                group.rmdir()
            records[name].append(record)
            print(name, record, flush=True)
    result: dict[str, Any] = {"command": " ".join(sys.argv[1:]), "commit": options.commit}
    for name, turns in records.items():
        result[name] = {
            key: statistics.median([turn[key] for turn in turns if key in turn]) for turn in turns for key in turn
        }
    if options.before:
        times = [key for key in result["now"] if key.endswith("_ms") and "wall" not in key]
        result["times_as_quick"] = {key: round(result["before"][key] / result["now"][key], 1) for key in times}
    result |= {"ram_mb": options.ram or None, "hardware": options.hardware, "torch": torch.__version__}
    print(json.dumps(result, indent=1))
    if options.out:
        options.out.write_text(json.dumps(result, indent=1) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    builder = commands.add_parser("build")
    builder.add_argument("model", type=Path)
    builder.add_argument("out", type=Path)
    builder.add_argument("files", type=Path, nargs="+")
    builder.add_argument("--spans", type=int, default=10**12)
    for command in ("measure", "ask"):
        part = commands.add_parser(command)
        part.add_argument("model", type=Path)
        part.add_argument("file", type=Path)
        part.add_argument("--sentences", type=int, default=100)
        part.add_argument("--singles", type=int, default=20)
        part.add_argument("--plain", type=int, default=500)
        part.add_argument("--turns", type=int, default=3)
        part.add_argument("--ram", type=int, default=0)
        part.add_argument("--before", type=Path)
        part.add_argument("--commit", default="")
        part.add_argument("--hardware", default="")
        part.add_argument("--out", type=Path)
    options = parser.parse_args()
    {"build": build, "measure": measure, "ask": ask}[options.command](options)


if __name__ == "__main__":
    main()
