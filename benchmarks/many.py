"""Train several recipes, corpora and seeds side by side and gather what they score.

    python benchmarks/many.py JOBS.toml OUT [--at-once 6] [--seconds 500] [--commit HASH]

JOBS.toml holds `[[job]]` tables: `name`, `recipe`, `train`, `dev`, `test` and `synonyms` (may be left out),
`seeds`, `set` (a list of part.key=value), `part` (sentences of a batch of all of them that are read at once), `slices`
(true: benchmarks/slices.py on the test set), `bleu` (true: benchmarks/bleu.py on the development set), `gradients`
(true: benchmarks/gradient_ratio.py), `whole` (true: the instance head's scores once more, with its whole memory instead
of the nearest sentences), `ways` (true: benchmarks/neighbours.py with fifty sentences, nearest, drawn and half and
half), `vectors` (a file: benchmarks/search_vectors.py with it), `keep` (true: with `--scratch` the model stays there).
Runs begin in the order of the file, which is read again whenever one ends: what is added to it is run too.
OUT gets `results.jsonl` (one `result.json` a run, with its name, its curve and the commit) and no models; a run that it
has a record of is not made again. A run that is not ready after `--seconds` is stopped, and only its curve is kept.
With `--scratch` models are trained in that folder, and one that was stopped there goes on.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from nearspan.io.model_folder import CHECKPOINT


def run(
    job: dict[str, Any], seed: int, out: Path, scratch: Path, limit: float, commit: str, resumable: bool
) -> dict[str, Any]:
    name = f"{job['name']}-{seed}"
    scripts = Path(__file__).parent
    command = [sys.executable, str(scripts / "lean.py"), *(["--checkpoints"] if resumable else [])]
    command += ["--part", str(job["part"])] if "part" in job else []
    command += ["train", job["recipe"], "--seed", str(seed), "--out", str(scratch / name)]
    command += ["--resume"] if (scratch / name / CHECKPOINT).exists() else []
    for split in ("train", "dev", "test", "synonyms"):
        command += [f"--{split}", job[split]] if split in job else []
    for setting in job.get("set", []):
        command += ["--set", setting]
    began = time.monotonic()
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    with (scratch / f"{name}.log").open("w") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, env=environment)
        try:
            code = process.wait(max(0.0, limit - began))
        except subprocess.TimeoutExpired:
            process.kill()
            code = process.wait()
    result = scratch / name / "result.json"
    metrics = scratch / name / "metrics.jsonl"
    record: dict[str, Any] = json.loads(result.read_text()) if result.is_file() else {"failed": code}
    if code > 0:
        record["log"] = (scratch / f"{name}.log").read_text()[-2000:]
    record |= {"name": job["name"], "seed": seed, "commit": commit, "wall": round(time.monotonic() - began, 1)}
    if metrics.is_file():
        record["curve"] = [json.loads(line) for line in metrics.read_text().splitlines()]
    if job.get("slices") and code == 0:
        record["slices"] = json_line([str(scripts / "slices.py"), str(scratch / name), job["test"]], environment)
    if job.get("bleu") and code == 0:
        record["bleu"] = json_line([str(scripts / "bleu.py"), str(scratch / name), job["dev"]], environment)
    if job.get("gradients") and code == 0:
        synonyms = ["--synonyms", job["synonyms"]] if "synonyms" in job else []
        command = [str(scripts / "gradient_ratio.py"), str(scratch / name), job["train"], *synonyms]
        record["gradients"] = json_line(command, environment)
    if job.get("whole") and code == 0:
        command = ["-m", "nearspan", "evaluate", str(scratch / name)]
        record["whole"] = {
            split: json_line([*command, job[split], "--search", "whole", "--json"], environment)
            for split in ("dev", "test")
            if split in job
        }
    if job.get("ways") and code == 0:
        options = ["--counts", "50", "--ways", "nearest", "drawn", "half"]
        record["ways"] = {
            split: json_line([str(scripts / "neighbours.py"), str(scratch / name), job[split], *options], environment)
            for split in ("dev", "test")
            if split in job
        }
    if job.get("vectors") and code == 0:
        files = [str(scratch / name), *(job[split] for split in ("train", "dev", "test") if split in job)]
        record["vectors"] = json_line(
            [str(scripts / "search_vectors.py"), *files, "--vectors", job["vectors"]], environment
        )
    if not resumable or (code == 0 and not job.get("keep")):
        shutil.rmtree(scratch / name, ignore_errors=True)
    with (out / "results.jsonl").open("a") as file:
        file.write(json.dumps(record) + "\n")
    scores = [main_score(record[split]) if record.get(split) else float("nan") for split in ("dev", "test")]
    best = max(map(main_score, record.get("curve", [])), default=0.0)
    print(
        f"{name}: best dev {100 * best:.2f} of {len(record.get('curve', []))} epochs, dev {100 * scores[0]:.2f}, "
        f"test {100 * scores[1]:.2f}, {record.get('seconds', '-')} s training, {record['wall']} s in all",
        flush=True,
    )
    return record


def main_score(scores: Mapping[str, Any]) -> float:
    """F1, or accuracy where spans are given: those have no F1."""
    return float(scores.get("f1", scores.get("accuracy", 0.0)))


def json_line(command: list[str], environment: dict[str, str]) -> Any:
    """What a script says in JSON in its last line, or its complaint."""
    done = subprocess.run([sys.executable, *command], capture_output=True, text=True, env=environment, check=False)
    return json.loads(done.stdout.splitlines()[-1]) if done.returncode == 0 else done.stderr[-1000:]


def current_commit() -> str:
    """The commit of the code that runs."""
    command = ["git", "-C", str(Path(__file__).parent), "rev-parse", "--short", "HEAD"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


def run_all(
    jobs: Callable[[], Sequence[dict[str, Any]]],
    out: Path,
    at_once: int = 1,
    seconds: float = 1e9,
    commit: str = "",
    scratch: Path | None = None,
) -> None:
    """Run all seeds of the jobs that OUT has no record of; `jobs` is asked again whenever a run ends."""
    out.mkdir(parents=True, exist_ok=True)
    resumable = scratch is not None
    folder = scratch or Path(tempfile.mkdtemp())
    folder.mkdir(parents=True, exist_ok=True)
    limit = time.monotonic() + seconds
    commit = commit or current_commit()
    recorded = (out / "results.jsonl").read_text().splitlines() if (out / "results.jsonl").exists() else []
    finished = [record for record in map(json.loads, recorded) if "failed" not in record]
    done = {(record["name"], record["seed"]) for record in finished}
    begun: set[tuple[str, int]] = set()
    records: list[dict[str, Any]] = []
    lock = threading.Lock()

    def next_run() -> tuple[dict[str, Any], int] | None:
        """The next run that nobody has begun."""
        with lock:
            for job in jobs():
                for seed in job["seeds"]:
                    if (job["name"], seed) not in begun | done and time.monotonic() < limit:
                        begun.add((job["name"], seed))
                        return job, seed
        return None

    def work() -> None:
        while True:
            pair = next_run()
            if pair is not None:
                records.append(run(*pair, out, folder, limit, commit, resumable))
            elif len(records) == len(begun):
                return
            else:
                time.sleep(1)  # while others run, more may be added

    workers = [threading.Thread(target=work) for _ in range(at_once)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    for job in jobs():
        runs = [record for record in finished + records if record["name"] == job["name"]]
        for split in ("dev", "test"):
            scores = [100 * main_score(record[split]) for record in runs if record.get(split)]
            if scores:
                spread = statistics.stdev(scores) if len(scores) > 1 else 0.0
                mean = f"{statistics.fmean(scores):.2f} ± {spread:.2f}"
                print(f"{job['name']:30} {split:4} {mean} ({len(scores)} runs)")


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("jobs", type=Path)
    arguments.add_argument("out", type=Path)
    arguments.add_argument("--at-once", type=int, default=6)
    arguments.add_argument("--seconds", type=float, default=1e9)
    arguments.add_argument("--commit", default="", help="where the code is no checkout of git")
    arguments.add_argument("--scratch", type=Path, help="where models are trained; a folder that goes unless told")
    options = arguments.parse_args()

    def jobs() -> list[dict[str, Any]]:
        listed: list[dict[str, Any]] = tomllib.loads(options.jobs.read_text())["job"]
        return listed

    run_all(jobs, options.out, options.at_once, options.seconds, options.commit, options.scratch)


if __name__ == "__main__":
    main()
