"""A paper's tables, cell by cell: run what is missing, and write them into its page.

    python benchmarks/reproduce.py PAPER [--data DATA] [--out OUT] [--at-once 1] [--seconds S] [--try]
    python benchmarks/reproduce.py PAPER --tables

`benchmarks/papers/PAPER.toml` lists tables and figures: `[[table]]` with `id`, `title`, `columns` and rows, each with
`cells` (what the row is), `paper` (the paper's figure) and one of

- `job`: the name of a job in the files that `jobs` lists, or a list of several with the same settings; the cell is the
  mean ± deviation over their recorded runs, of `split` (test unless told) and `metric` (f1 unless told: a path into the
  record, as `bleu.bleu2`)
- `here`: a figure from another record, which `record` names (a file below benchmarks/results)
- neither: not run; `why` says what it would need

`[[figure]]` is a picture of recorded runs (benchmarks/figures.py), which stands on the page as `FILE.svg`.

`why` beside a figure explains one that is not reached. With `lower = true` less is better, as of errors and times.
`records` lists the files of benchmarks/results that count, all of them by name unless told; of a seed that two files
have, the later file's run counts.

Without `--tables` the jobs of all rows are run from the corpora in DATA (the jobs' `data/`). Those that OUT holds a
record of are left out, and a run that was stopped goes on. Tables of these runs are written to OUT/PAPER.md. `--try`
runs one seed of one job of each recipe for one epoch, to see that all is in place. With `--tables` nothing is run, and
the tables of docs/papers/PAPER.md, between `<!-- id -->` and `<!-- end -->`, and its pictures are made anew from
benchmarks/results.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
import many

BENCHMARKS = Path(__file__).resolve().parent
PAGES = BENCHMARKS.parent / "docs" / "papers"
Records = Mapping[str, list[dict[str, Any]]]  # of each job


def read_paper(name: str) -> dict[str, Any]:
    """The tables of a paper, and the files of its jobs."""
    path = BENCHMARKS / "papers" / f"{name}.toml"
    if not path.is_file():
        known = ", ".join(sorted(file.stem for file in path.parent.glob("*.toml")))
        sys.exit(f"there is no paper {name!r}: give one of {known}")
    return tomllib.loads(path.read_text(encoding="utf-8"))


def read_jobs(paper: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The jobs behind a paper's rows, by name, in the order of the rows."""
    files = [
        tomllib.loads((BENCHMARKS / "jobs" / f"{name}.toml").read_text(encoding="utf-8")) for name in paper["jobs"]
    ]
    known = {job["name"]: job for file in files for job in file["job"]}
    return {name: known[name] for table in paper["table"] for row in table["row"] for name in job_names(row)}


def job_names(row: Mapping[str, Any]) -> list[str]:
    """The jobs whose runs a row's figure is the mean of.

    >>> job_names({"job": "base"}), job_names({"why": "no such corpus"})
    (['base'], [])
    """
    names = row.get("job", [])
    return [names] if isinstance(names, str) else list(names)


def read_records(files: Iterable[Path]) -> Records:
    """Runs that went to their end, by job; of a seed that was run again the last."""
    runs: dict[str, dict[int, dict[str, Any]]] = defaultdict(dict)
    for file in files:
        for line in file.read_text(encoding="utf-8").splitlines():
            record = json.loads(line)
            if "failed" not in record and "name" in record:
                runs[record["name"]][record.get("seed", len(runs[record["name"]]))] = record
    return {name: list(seeds.values()) for name, seeds in runs.items()}


def score(record: Mapping[str, Any], split: str, metric: str) -> float | None:
    """One figure of a run, in percent where it is a share."""
    value: Any = record if "." in metric else record.get(split) or {}
    for key in metric.split("."):
        value = value.get(key) if isinstance(value, dict) else None
    if value is None:
        return None
    return float(value) if abs(value) > 1 else 100 * float(value)  # early records are in percent


def cell(row: Mapping[str, Any], records: Records) -> str:
    """What stands beside the paper's figure."""
    if "here" in row:
        return str(row["here"])
    runs = [run for name in job_names(row) for run in records.get(name, [])]
    scores = [score(run, row.get("split", "test"), row.get("metric", "f1")) for run in runs]
    known = [value for value in scores if value is not None]
    if not known:
        return ""
    if len(known) == 1:
        return f"{known[0]:.2f} [1]"
    seeds = "" if len(known) == 3 else f" [{len(known)}]"
    return f"{statistics.fmean(known):.2f} ± {statistics.stdev(known):.2f}{seeds}"


def verdict(row: Mapping[str, Any], figure: str) -> str:
    """Whether the paper's figure is reached: within a deviation of ours, or by how much it is not.

    >>> verdict({"paper": "90.5"}, "90.3 ± 0.4"), verdict({"paper": "× 1.19", "lower": True}, "× 1.22")
    ('reached', '0.03 above')
    """
    why = row.get("why", "")
    if not figure and not re.search(r"\d", str(row.get("paper", ""))):
        return why  # a drawing or an example: there is nothing to run
    if not figure:
        return f"not run: {why}" if why else "not run"
    pattern = r"(?:× )?(-?[\d.]+)(?: ± ([\d.]+))?"
    ours, theirs = (re.match(pattern, str(text)) for text in (figure, row.get("paper", "")))
    if ours is None or theirs is None:
        return why
    sign, side = (-1, "above") if row.get("lower") else (1, "below")
    gap = sign * (float(theirs[1]) - float(ours[1]))
    said = "reached" if gap <= float(ours[2] or 0) else f"{gap:.2f} {side}"
    return f"{said}; {why}" if why else said


def markdown(table: Mapping[str, Any], records: Records) -> str:
    """One table as the page shows it."""
    header = [*table.get("columns", ["row"]), "paper", "here", ""]
    lines = [header, ["---"] * len(header)]
    for row in table["row"]:
        figure = cell(row, records)
        lines.append([*row["cells"], str(row.get("paper", "")), figure, verdict(row, figure)])
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def write_page(name: str, paper: Mapping[str, Any]) -> None:
    """Put the tables of the recorded runs into the paper's page."""
    results = BENCHMARKS / "results"
    files = [results / file for file in paper.get("records", [])] or sorted(results.glob("*.jsonl"))
    records = read_records(files)
    page = PAGES / f"{name}.md"
    text = page.read_text(encoding="utf-8")
    for table in paper["table"]:
        begin, end = f"<!-- {table['id']} -->\n", "<!-- end -->"
        if begin not in text:
            sys.exit(f"{page}: there is no line {begin.strip()!r} where the table belongs")
        before, rest = text.split(begin, 1)
        text = f"{before}{begin}\n{markdown(table, records)}\n\n{end}{rest.split(end, 1)[1]}"
    page.write_text(text, encoding="utf-8")
    draw_figures(paper, records, PAGES)


def draw_figures(paper: Mapping[str, Any], records: Records, folder: Path) -> None:
    """The paper's pictures of which every line has runs."""
    figures = paper.get("figure", [])
    drawn = [figure for figure in figures if all(records.get(line["job"]) for line in figure["line"])]
    if not drawn:
        return
    from figures import draw  # matplotlib is only needed for these

    for figure in drawn:
        print(f"figure: {draw(figure, records, folder)}")


def run_jobs(name: str, paper: Mapping[str, Any], options: argparse.Namespace) -> None:
    """Run what OUT has no record of, then write the tables of these runs."""
    out: Path = options.out or Path("runs") / "reproduce" / name
    out.mkdir(parents=True, exist_ok=True)
    jobs = [move_job(job, options.data) for job in read_jobs(paper).values()]
    jobs = shorten_jobs(jobs) if options.short else jobs
    many.run_all(lambda: jobs, out, options.at_once, options.seconds, scratch=out / "runs")
    records = read_records([out / "results.jsonl"])
    tables = [f"## {table['title']}\n\n{markdown(table, records)}\n" for table in paper["table"]]
    (out / f"{name}.md").write_text("\n".join(tables), encoding="utf-8")
    print(f"tables: {out / f'{name}.md'}")
    if not options.short:
        draw_figures(paper, records, out)


def shorten_jobs(jobs: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """One epoch of the first seed of the first job of each recipe."""
    first = {job["recipe"]: job for job in reversed(list(jobs))}
    short = ["training.epochs=1"]
    return [{**job, "seeds": job["seeds"][:1], "set": [*job.get("set", []), *short]} for job in first.values()]


def move_job(job: Mapping[str, Any], data: Path) -> dict[str, Any]:
    """A job whose files are below another folder than data/."""

    def move(value: Any) -> Any:
        if isinstance(value, list):
            return [move(part) for part in value]
        return re.sub(r"(^|=)data/", rf"\1{data}/", value) if isinstance(value, str) else value

    return {key: move(value) for key, value in job.items()}


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("paper")
    arguments.add_argument("--data", type=Path, default=Path("data"))
    arguments.add_argument("--out", type=Path)
    arguments.add_argument("--at-once", type=int, default=1)
    arguments.add_argument("--seconds", type=float, default=1e9)
    arguments.add_argument("--try", action="store_true", dest="short")
    arguments.add_argument("--tables", action="store_true")
    options = arguments.parse_args()
    paper = read_paper(options.paper)
    if options.tables:
        write_page(options.paper, paper)
    else:
        run_jobs(options.paper, paper, options)


if __name__ == "__main__":
    main()
