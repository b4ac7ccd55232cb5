"""Annotate many sentences on a real cluster of two nodes, of which a worker and then a whole node are killed.

    python benchmarks/cluster_kills.py MODEL [--sentences 1000000] [--files 20] [--out results.json]

Two raylets on loopback are the nodes, with a core each; the command is `nearspan annotate --ray`. The texts are the
bundled sample's sentences, each made one of its own by a number; half of the files are JSON lines, half parquet. A
worker is killed (SIGKILL) once a fifth of the outputs is there, a node with all its processes once half of them is.
Then each output is compared, byte by byte, with that of `nearspan annotate --workers 2` on the same file without a
cluster.
Throughput: the seconds on the clock that the cluster of two nodes, with nobody killed, and one process (`--workers 1`)
take for the first two files, the start of all processes included; the two take turns.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import signal
import subprocess
import sys
import time
from collections import Counter
from itertools import cycle, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow
import pyarrow.parquet

import nearspan
from nearspan.formats import sample

os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
os.environ.setdefault("RAY_memory_monitor_refresh_ms", "0")  # what else fills the memory is not for Ray to end
from ray.cluster_utils import Cluster

MEMORY = 200_000_000  # bytes of each node's object store
LOOPBACK = "127.0.0.2"  # Ray takes 127.0.0.1 for the address that others know this machine by


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("model", type=Path)
    arguments.add_argument("--sentences", type=int, default=1_000_000)
    arguments.add_argument("--files", type=int, default=20)
    arguments.add_argument("--rounds", type=int, default=2)
    arguments.add_argument("--commit", default="")
    arguments.add_argument("--hardware", default=platform.processor())
    arguments.add_argument("--out", type=Path)
    options = arguments.parse_args()
    results: dict[str, Any] = {"command": sys.argv, "commit": options.commit, "hardware": options.hardware}
    with TemporaryDirectory(dir=os.environ.get("TMPDIR")) as name:
        room = Path(name)
        files = write_texts(room, options.sentences, options.files)
        results |= {"sentences": options.sentences, "files": options.files}
        for step in (throughput, killed, compared):
            results[step.__name__] = step(options, room, files)
            print(json.dumps({step.__name__: results[step.__name__]}), flush=True)
            if options.out:
                options.out.write_text(json.dumps(results, indent=1) + "\n")


def write_texts(room: Path, count: int, files: int) -> list[Path]:
    documents = nearspan.read(sample.path("test")).documents
    split = nearspan.recipe("classifier").splitter()
    texts = cycle([part.text for document in documents for part in split(document)])
    (room / "in").mkdir()
    paths = []
    for file in range(files):
        numbers = range(count * file // files, count * (file + 1) // files)
        records = [
            {"id": str(number), "text": f"{number}. {text}"}
            for number, text in zip(numbers, islice(texts, len(numbers)), strict=True)
        ]
        paths.append(room / "in" / f"{file:02}.{'jsonl' if file % 2 else 'parquet'}")
        if file % 2:
            paths[-1].write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
        else:
            pyarrow.parquet.write_table(pyarrow.Table.from_pylist(records), paths[-1])
    return paths


def throughput(options: argparse.Namespace, room: Path, files: list[Path]) -> dict[str, Any]:
    """Seconds of the cluster and of one process, in turn."""
    few = list(map(str, files[:2]))
    cluster = two_nodes()
    seconds: dict[str, Any] = {"sentences": sum(count_lines(options, file) for file in files[:2]), "cluster": []}
    seconds |= {"one_process": [], "load_average_before": round(os.getloadavg()[0], 1)}
    try:
        for number in range(options.rounds):
            out = ["--out", str(room / f"fast-{number}"), "--ray", cluster.address]
            seconds["cluster"].append(timed(annotate(options.model, few, *out)))
            out = ["--out", str(room / f"one-{number}.jsonl"), "--workers", "1"]
            seconds["one_process"].append(timed(annotate(options.model, few, *out)))
    finally:
        cluster.shutdown()
    return seconds


def count_lines(options: argparse.Namespace, file: Path) -> int:
    number = int(file.stem)
    return options.sentences * (number + 1) // options.files - options.sentences * number // options.files


def killed(options: argparse.Namespace, room: Path, _: list[Path]) -> dict[str, Any]:
    """The job on two nodes, and what is killed while it runs."""
    cluster = two_nodes()
    second = next(node for node in cluster.list_all_nodes() if node is not cluster.head_node)
    began, events, out = time.monotonic(), list[dict[str, Any]](), room / "out"
    try:
        job = annotate(options.model, [f"{room}/in/*"], "--out", str(out), "--ray", cluster.address)

        def note(what: str) -> None:
            events.append({"seconds": round(time.monotonic() - began), "outputs": outputs(out), "what": what})

        wait_for(job, out, options.files // 5)
        os.kill(worker_processes()[0], signal.SIGKILL)
        note("a worker killed")
        wait_for(job, out, options.files // 2)
        cluster.remove_node(second, allow_graceful=False)
        note("a node killed")
        code = job.wait()
        note("the job ended")
    finally:
        cluster.shutdown()
    return {"exit_code": code, "events": events, "load_average_after": round(os.getloadavg()[0], 1)}


def compared(options: argparse.Namespace, room: Path, files: list[Path]) -> dict[str, Any]:
    """Each output beside that of `annotate` without a cluster."""
    found: Counter[str] = Counter()
    out = room / "out"
    expected = {f"{file.stem}.jsonl" for file in files}
    for file in files:
        without = room / f"without-{file.stem}.jsonl"
        timed(annotate(options.model, [str(file)], "--out", str(without), "--workers", "2"))
        output = out / f"{file.stem}.jsonl"
        found["equal files"] += output.read_bytes() == without.read_bytes()
        ids = [json.loads(line)["id"] for line in output.read_text(encoding="utf-8").splitlines()]
        number = int(file.stem)
        first = options.sentences * number // options.files
        wanted = list(map(str, range(first, first + count_lines(options, file))))
        found["documents with exactly one output"] += sum(
            count == 1 for count in (Counter(ids) & Counter(wanted)).values()
        )
        found["documents out of order or missing"] += ids != wanted
        found["entities"] += sum(len(json.loads(line)["entities"]) for line in output.open(encoding="utf-8"))
        without.unlink()
    left = sorted(str(path.relative_to(out)) for path in out.rglob("*") if path.is_file() and path.name not in expected)
    one = (room / "one-0.jsonl").read_text(encoding="utf-8").splitlines()
    ray = [line for file in files[:2] for line in (out / f"{file.stem}.jsonl").read_text(encoding="utf-8").splitlines()]
    return {**found, "other_files": left, "beside_one_process": differences(one, ray)}


def differences(one: list[str], other: list[str]) -> dict[str, Any]:
    """How documents differ whose batches were others: in spans and labels, and in scores."""
    spans, largest = 0, 0.0
    for first, second in zip(map(json.loads, one), map(json.loads, other), strict=True):
        places = [[(e["start"], e["end"], e["label"]) for e in each["entities"]] for each in (first, second)]
        spans += places[0] != places[1] or first["id"] != second["id"]
        if places[0] == places[1]:
            pairs = zip(first["entities"], second["entities"], strict=True)
            largest = max([largest, *(abs(a["score"] - b["score"]) for a, b in pairs)])
    return {"documents": len(one), "with_other_entities": spans, "largest_difference_of_scores": largest}


def two_nodes() -> Cluster:
    cluster = Cluster()
    for _ in range(2):
        cluster.add_node(num_cpus=1, object_store_memory=MEMORY, include_dashboard=False, node_ip_address=LOOPBACK)
    return cluster


def annotate(model: Path, files: list[str], *arguments: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "nearspan", "annotate", str(model), *files, *arguments]
    return subprocess.Popen(command, env={**os.environ, "OMP_NUM_THREADS": "1"}, stderr=subprocess.DEVNULL)


def timed(job: subprocess.Popen[bytes]) -> float:
    began = time.monotonic()
    if job.wait():
        raise SystemExit(f"{job.args} ended with {job.returncode}")
    return round(time.monotonic() - began, 1)


def outputs(out: Path) -> int:
    return len(list(out.glob("*.jsonl")))


def wait_for(job: subprocess.Popen[bytes], out: Path, count: int) -> None:
    while outputs(out) < count:
        if job.poll() is not None:
            raise SystemExit(f"the job ended with {job.returncode} before {count} outputs were there")
        time.sleep(0.5)


def worker_processes() -> list[int]:
    """The processes of this program's cluster that annotate, by their numbers."""
    listed = subprocess.run(["ps", "-eo", "pid,ppid,args"], capture_output=True, text=True, check=True).stdout
    processes = [line.split(None, 2) for line in listed.splitlines()[1:]]
    parents = {int(pid): int(parent) for pid, parent, _ in processes}

    def is_mine(pid: int) -> bool:
        while pid > 1 and pid != os.getpid():
            pid = parents.get(pid, 0)
        return pid == os.getpid()

    return [int(pid) for pid, _, name in processes if "_PartAnnotator" in name and is_mine(int(pid))]


if __name__ == "__main__":
    main()
