"""How long reading takes beside a plain loop over the lines, and how much memory: columns and JSON lines.

    python benchmarks/reading.py [--megabytes 100] [--rounds 3] [--kinds loop,stream,check] [--folder FOLDER]
        [--out benchmarks/results/reading-cpu.json]
    python benchmarks/reading.py --growth 10,30,100 [--targets jsonl,conll] [--out benchmarks/results/reading-cpu.json]
    python benchmarks/reading.py --annotate 0.5,1,2,4 [--out benchmarks/results/reading-cpu.json]

Two files are made, with a seed: columns as CoNLL-2003 has them (word, two columns that are not read, chunk tag;
documents of 5 to 20 sentences) and JSON lines of one to three sentences with their entities. Each measurement is a
process of its own, and each is made in turn, several rounds:

- `loop`: `line.split()` or `json.loads(line)` for each line, and nothing kept;
- `stream`: the documents of `nearspan.formats.stream`, their entities counted, and nothing kept;
- `use`: the same with each entity and each word made, as somebody asks for them;
- `read`: `nearspan.read`, which keeps all documents;
- `check`: `nearspan.check`;
- `convert`: into the other of the two formats.

Times are seconds of processor time, the median of the rounds, as other work on the machine makes the clock useless;
what takes long (`use`, `convert`) is measured in the first round alone;
memory is the most that the process takes above what it took with nearspan imported.

`--growth` converts files of several sizes (in MB) into several formats and shows how much memory each takes: what is
bounded by a stream takes the same for all. `peak` is all that a process takes. `--annotate` runs the command `nearspan
annotate ... --workers 1` with small models that are trained here, with and without a memory: seconds and `peak` are of
the whole command, its start and the model's loading included. What was recorded of other work stays.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from many import current_commit

LABELS = ("PER", "LOC", "ORG", "MISC")
LONG = ("use", "convert")
KINDS = ("loop", "stream", "use", "read", "check", "convert")
TARGETS = ("jsonl", "conll", "prodigy", "gliner")
SMALL = {
    "classifier": (
        "training.epochs=2 encoder.characters=none encoder.highway=none encoder.vectors.size=8 encoder.bilstm.layers=1 "
        "encoder.bilstm.size=8 representation.size=8 suggester.max_width=2 interpolation=none fragment_linker=none"
    ),
    "instance-sample": "training.epochs=2",
}
Sentence = tuple[list[str], list[tuple[int, int, str]]]  # words, and first word, stop and label of each entity


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", choices=("conll", "jsonl"), help="one of the two; what --out has of the other stays")
    parser.add_argument("--kinds", default=",".join(KINDS), help="some of what is measured, with commas between")
    parser.add_argument("--folder", type=Path, help="where the files are made, and used again if they are there")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--growth", type=sizes, default=[], help="convert files of so many MB: 10,30,100")
    parser.add_argument("--targets", default=",".join(TARGETS), help="the formats that --growth converts into")
    parser.add_argument("--annotate", type=sizes, default=[], help="annotate JSON lines of so many MB: 0.5,1,2,4")
    parser.add_argument("--models", default=",".join(SMALL), help="the recipes of the models that annotate")
    parser.add_argument("--train", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--measure", nargs=2, metavar=("WHAT", "FILE"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.train:
        train_small(options.train)
        return
    if options.measure:
        print(json.dumps(measure(options.measure[0], Path(options.measure[1]))))
        return
    if options.growth or options.annotate:
        record_growth(options)
        return
    rows = []
    kinds = options.kinds.split(",")
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        for name, write in (("conll", columns), ("jsonl", json_lines)):
            if options.only not in (None, name):
                continue
            path = Path(folder, f"corpus.{name}")
            if not path.exists():
                fill(path, write(), options.megabytes * 1_000_000)
            measured: dict[str, list[dict[str, Any]]] = {what: [] for what in kinds}
            for number in range(options.rounds):
                for what in kinds:
                    if number == 0 or what not in LONG:
                        measured[what].append(run(what, path))
            loop_seconds = statistics.median(each["seconds"] for each in measured["loop"])
            row: dict[str, Any] = {"format": name}
            for what, several in measured.items():
                seconds = statistics.median(each["seconds"] for each in several)
                most = max(each["megabytes"] for each in several)
                row[what] = {"seconds": seconds, "over_loop": round(seconds / loop_seconds, 2), "megabytes": most}
                row[what]["each"] = [each["seconds"] for each in several]
            rows.append(row)
            print(json.dumps(rows[-1]), flush=True)
    record = {
        "command": f"python benchmarks/reading.py --megabytes {options.megabytes} --rounds {options.rounds}"
        f" --kinds {options.kinds}",
        "commit": current_commit(),
        "megabytes": options.megabytes,
        "processor": processor(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "rows": rows,
    }
    if options.out and options.out.exists() and options.only:
        earlier = json.loads(options.out.read_text())["rows"]
        record["rows"] = [*(row for row in earlier if row["format"] != options.only), *rows]
    if options.out and options.out.exists() and "growth" in (earlier := json.loads(options.out.read_text())):
        record["growth"] = earlier["growth"]
    if options.out:
        options.out.write_text(json.dumps(record, indent=2) + "\n")


def sizes(text: str) -> list[float]:
    return [float(size) for size in text.split(",")]


def record_growth(options: argparse.Namespace) -> None:
    """How much memory files of several sizes take; put into a record beside the times that it has."""
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        conversions = [f"convert:{target}" for target in options.targets.split(",")]
        plans = [(name, size, conversions) for name in ("conll", "jsonl") for size in options.growth]
        models = options.models.split(",") if options.annotate else []
        plans += [("jsonl", size, [f"annotate:{name}" for name in models]) for size in options.annotate]
        for name in models:  # by other processes: what this one takes, a child is said to have taken
            subprocess.run([sys.executable, __file__, "--train", str(folder / name)], check=True)
        for name, size, kinds in plans:
            path = folder / f"corpus.{name}"
            fill(path, {"conll": columns, "jsonl": json_lines}[name](), int(size * 1_000_000))
            for what in kinds:
                rows.append({"what": what, "from": name, "size": size, "commit": current_commit()} | run(what, path))
                print(json.dumps(rows[-1]), flush=True)
                if options.out:
                    record_rows(rows, options.out)


def record_rows(rows: list[dict[str, Any]], out: Path) -> None:
    """Put rows into a record, in the place of those of the same work."""
    record: dict[str, Any] = json.loads(out.read_text()) if out.exists() else {}
    measured = {(row["what"], row["from"], row["size"]) for row in rows}
    others = [row for row in record.get("growth", []) if (row["what"], row["from"], row["size"]) not in measured]
    out.write_text(json.dumps(record | {"growth": [*others, *rows]}, indent=2) + "\n")


def train_small(folder: Path) -> None:
    """A model that annotates quickly: what grows with the texts is no matter of its size."""
    import nearspan
    from nearspan.formats import sample

    recipe = nearspan.recipe(folder.name).override(SMALL[folder.name].split())
    nearspan.train(recipe, nearspan.read(sample.path("train"))[:100], out=folder)


def run(what: str, path: Path) -> dict[str, Any]:
    """A measurement in a process of its own."""
    what, _, name = what.partition(":") if what.startswith("annotate") else (what, "", "")
    if what == "annotate":
        return run_annotate(path.with_name(name), path)
    command = [sys.executable, __file__, "--measure", what, str(path)]
    ran = subprocess.run(command, check=True, capture_output=True, text=True)
    result: dict[str, Any] = json.loads(ran.stdout)
    return result


def run_annotate(model: Path, path: Path) -> dict[str, Any]:
    """The whole command, as a user calls it."""
    command = [sys.executable, "-m", "nearspan", "annotate", str(model), str(path)]
    process = subprocess.Popen(
        [*command, "--out", str(path.with_name("annotated.jsonl")), "--workers", "1", "--force"],
        stderr=subprocess.DEVNULL,
    )
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{' '.join(command)} ended with status {status}")
    return {"seconds": round(usage.ru_utime + usage.ru_stime, 2), "peak": round(usage.ru_maxrss * 1024 / 1e6)}


def measure(what: str, path: Path) -> dict[str, Any]:
    import nearspan.formats

    other = path.with_name("converted.conll" if path.suffix == ".jsonl" else "converted.jsonl")
    what, _, target = what.partition(":")
    work: Callable[[], object] = {
        "loop": lambda: loop(path),
        "stream": lambda: sum(document.entity_count for document in nearspan.formats.stream(path)),
        "use": lambda: sum(len(each.entities) + len(each.words or ()) for each in nearspan.formats.stream(path)),
        "read": lambda: nearspan.read(path),
        "check": lambda: nearspan.check(path),
        "convert": lambda: nearspan.write(nearspan.formats.stream(path), other, target or None, force=True),
    }[what]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.process_time()
    result = work()
    seconds = time.process_time() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    del result
    megabytes = {"megabytes": round((peak - before) * 1024 / 1e6), "peak": round(peak * 1024 / 1e6)}
    return {"seconds": round(seconds, 2)} | megabytes


def loop(path: Path) -> None:
    decode = json.loads if path.suffix == ".jsonl" else str.split
    with path.open(encoding="utf-8") as file:
        for line in file:
            decode(line)


def fill(path: Path, pieces: Iterator[str], size: int) -> None:
    with path.open("w", encoding="utf-8") as file:
        while size > 0:
            piece = next(pieces)
            size -= len(piece)
            file.write(piece)


def columns() -> Iterator[str]:
    chance = random.Random(0)
    words = vocabulary(chance)
    while True:
        lines = ["-DOCSTART- -X- -X- O\n\n"]
        for _ in range(chance.randint(5, 20)):
            tokens, entities = sentence(chance, words)
            tags = ["O"] * len(tokens)
            for first, stop, label in entities:
                tags[first:stop] = [f"B-{label}"] + [f"I-{label}"] * (stop - first - 1)
            lines += [f"{token} NN I-NP {tag}\n" for token, tag in zip(tokens, tags, strict=True)]
            lines.append("\n")
        yield "".join(lines)


def json_lines() -> Iterator[str]:
    chance = random.Random(0)
    words = vocabulary(chance)
    number = 0
    while True:
        tokens: list[str] = []
        entities: list[tuple[int, int, str]] = []
        for _ in range(chance.randint(1, 3)):
            more, inside = sentence(chance, words)
            entities += [(first + len(tokens), stop + len(tokens), label) for first, stop, label in inside]
            tokens += more
        starts = [0]
        for token in tokens:
            starts.append(starts[-1] + len(token) + 1)
        places = [{"start": starts[a], "end": starts[b] - 1, "label": label} for a, b, label in entities]
        number += 1
        yield json.dumps({"id": str(number), "text": " ".join(tokens), "entities": places}) + "\n"


def vocabulary(chance: random.Random) -> list[str]:
    return ["".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=chance.randint(1, 9))) for _ in range(20_000)]


def sentence(chance: random.Random, words: list[str]) -> Sentence:
    tokens = chance.choices(words, k=chance.randint(5, 30))
    entities: list[tuple[int, int, str]] = []
    at = 0
    while at < len(tokens):
        size = min(chance.randint(1, 3), len(tokens) - at) if chance.random() < 0.1 else 0
        if size:
            entities.append((at, at + size, chance.choice(LABELS)))
        at += size or 1
    return tokens, entities


def processor() -> str:
    with Path("/proc/cpuinfo").open(encoding="utf-8") as file:
        return next((line.partition(":")[2].strip() for line in file if line.startswith("model name")), "unknown")


if __name__ == "__main__":
    main()
