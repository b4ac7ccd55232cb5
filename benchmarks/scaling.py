"""Throughput by cores: `annotate` and `pipe` with 1, 2, 4, ... workers, each worker with a core.

    python benchmarks/scaling.py MODEL [MODEL ...] [--cores 1 2 4] [--sentences 20000] [--rounds 2] [--out results.json]

The texts are the bundled sample's, over and over. Each run is a command of its own that may use that many cores and
no more; "one" is the command with `--workers 1` on one core. Runs that find cores of their own go side by side. Seconds
are on the clock: of `annotate` the whole command's, of `pipe` from the call to the last document, the start of the
workers included. The entities must be those of one worker.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from hashlib import sha256
from itertools import cycle, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Condition
from typing import Any

import nearspan
from nearspan.formats import sample

PIPE = """
import json, sys, time
from hashlib import sha256
import nearspan
model = nearspan.load(sys.argv[1], "cpu")
texts = [json.loads(line)["text"] for line in open(sys.argv[2], encoding="utf-8")]
began, digest = time.perf_counter(), sha256()
for document in model.pipe(texts, workers=int(sys.argv[3])):
    digest.update(repr([(entity.start, entity.end, entity.label) for entity in document.entities]).encode())
json.dump({"seconds": time.perf_counter() - began, "digest": digest.hexdigest()}, open(sys.argv[4], "w"))
"""


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("models", type=Path, nargs="+")
    arguments.add_argument("--cores", type=int, nargs="+", default=[1, 2])
    arguments.add_argument("--sentences", type=int, default=20_000)
    arguments.add_argument("--rounds", type=int, default=2)
    arguments.add_argument("--commit", default="")
    arguments.add_argument("--hardware", default=platform.processor())
    arguments.add_argument("--out", type=Path)
    options = arguments.parse_args()
    options.cores = [count for count in options.cores if count <= len(os.sched_getaffinity(0))]
    results: dict[str, Any] = {"command": sys.argv, "commit": options.commit, "hardware": options.hardware}
    results |= {"sentences": options.sentences, "load_average_before": os.getloadavg()[0], "models": {}}
    with TemporaryDirectory() as room:
        write_texts(Path(room), options.sentences)
        for model in options.models:
            measured = results["models"][model.name] = measure(model, options, Path(room))
            measured["ratios"] = ratios(measured)
            print(json.dumps({model.name: measured}), flush=True)
            if options.out:
                options.out.write_text(json.dumps(results, indent=1) + "\n")


def write_texts(room: Path, count: int) -> None:
    """Sentences of the sample as documents of text alone."""
    documents = nearspan.read(sample.path("test")).documents
    split = nearspan.recipe("classifier").splitter()
    texts = [part.text for document in documents for part in split(document)]
    lines = (json.dumps({"id": str(number), "text": text}) for number, text in enumerate(islice(cycle(texts), count)))
    (room / "texts.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")


def measure(model: Path, options: argparse.Namespace, room: Path) -> dict[str, Any]:
    measured: dict[str, Any] = {str(count): {"annotate": [], "pipe": []} for count in options.cores}
    cores = Cores(sorted(os.sched_getaffinity(0)))
    runs = [(kind, count) for _ in range(options.rounds) for count in options.cores for kind in (annotate, pipe)]
    with ThreadPoolExecutor(len(runs)) as threads:
        done = list(threads.map(lambda run: run[0](model, room, run[1], cores), runs))
    expected = done[0][1]
    for (kind, count), (seconds, found) in zip(runs, done, strict=True):
        of_count = measured[str(count)]
        of_count[kind.__name__].append(round(seconds, 2))
        of_count["is_equal"] = of_count.get("is_equal", True) and found == expected
    return measured


class Cores:
    """The cores of this machine, each of which one run has at a time; the first that waits has the next."""

    def __init__(self, numbers: list[int]) -> None:
        self.free, self.change, self.turns = numbers, Condition(), deque[object]()

    @contextmanager
    def take(self, count: int) -> Iterator[list[int]]:
        turn = object()
        with self.change:
            self.turns.append(turn)
            self.change.wait_for(lambda: self.turns[0] is turn and len(self.free) >= count)
            self.turns.popleft()
            mine, self.free = self.free[:count], self.free[count:]
            self.change.notify_all()
        try:
            yield mine
        finally:
            with self.change:
                self.free += mine
                self.change.notify_all()


def annotate(model: Path, room: Path, count: int, cores: Cores) -> tuple[float, str]:
    """Seconds of the whole command, and a digest of the entities."""
    with cores.take(count) as mine:
        out = room / f"out-{mine[0]}.jsonl"
        command = ["-m", "nearspan", "annotate", str(model), str(room / "texts.jsonl"), "--out", str(out)]
        seconds = run([*command, "--force", "--workers", str(count), "--device", "cpu"], mine)
    digest = sha256()
    with out.open(encoding="utf-8") as lines:
        for line in lines:
            found = json.loads(line)["entities"]
            digest.update(repr([(entity["start"], entity["end"], entity["label"]) for entity in found]).encode())
    return seconds, digest.hexdigest()


def pipe(model: Path, room: Path, count: int, cores: Cores) -> tuple[float, str]:
    """Seconds from the call to the last document, and a digest of the entities."""
    with cores.take(count) as mine:
        out = room / f"pipe-{mine[0]}.json"
        run(["-c", PIPE, str(model), str(room / "texts.jsonl"), str(count), str(out)], mine)
    found = json.loads(out.read_text())
    return found["seconds"], found["digest"]


def run(command: list[str], mine: list[int]) -> float:
    """Seconds that a Python command takes on some cores."""
    began = time.perf_counter()
    subprocess.run(
        [sys.executable, *command],
        check=True,
        env={**os.environ, "OMP_NUM_THREADS": str(len(mine))},
        preexec_fn=lambda: os.sched_setaffinity(0, mine),
    )
    return time.perf_counter() - began


def ratios(measured: dict[str, Any]) -> dict[str, dict[str, float]]:
    """How many times one core's throughput: the medians of the rounds."""
    one, *_ = measured.values()

    def ratio(each: dict[str, Any], name: str) -> float:
        return round(statistics.median(one[name]) / statistics.median(each[name]), 2)

    return {cores: {name: ratio(each, name) for name in ("annotate", "pipe")} for cores, each in measured.items()}


if __name__ == "__main__":
    main()
