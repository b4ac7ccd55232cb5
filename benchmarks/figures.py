"""The papers' figures as pictures, drawn from recorded runs by benchmarks/reproduce.py.

`[[figure]]` of benchmarks/papers/PAPER.toml has `file` (its name, without an ending), `title`, `x` and `y` (what the
axes say), `log` (true: a logarithmic y) and lines: `[[figure.line]]` with `label` and `job`, and either `curve`, a key
of a run's epochs, or `points` (what stands below the axis) with `metric`, a path into the record in which `*` is a
point. A line is the mean over a job's runs, its band their deviation.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

SVG = {"svg.hashsalt": "nearspan", "svg.fonttype": "none"}  # the same picture is the same file; text stays text
Records = Mapping[str, list[dict[str, Any]]]


def draw(figure: Mapping[str, Any], records: Records, folder: Path) -> Path:
    """Write one figure to `folder` and give its path."""
    picture = Figure(figsize=(7, 3.6), layout="constrained")
    axes = picture.subplots()
    for number, line in enumerate(figure["line"]):
        names, means, deviations = line_of(line, records)
        if "points" in line:
            axes.errorbar(names, means, deviations, label=line["label"], marker="o", capsize=3, color=f"C{number}")
        else:
            axes.plot(names, means, label=line["label"], color=f"C{number}")
    if figure.get("log"):
        axes.set_yscale("log")
    axes.set_title(figure["title"], loc="left", fontsize=11)
    axes.set_xlabel(figure["x"])
    axes.set_ylabel(figure["y"])
    axes.grid(alpha=0.3)
    axes.legend(frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    path = folder / f"{figure['file']}.svg"
    with mpl.rc_context(SVG):
        picture.savefig(path, metadata={"Date": None})
    return path


def line_of(line: Mapping[str, Any], records: Records) -> tuple[Sequence[Any], list[float], list[float]]:
    """What stands below the axis, and the mean and deviation over a job's runs at each place.

    >>> runs = {"a": [{"curve": [{"epoch": 1, "loss": 2.0}]}, {"curve": [{"epoch": 1, "loss": 4.0}]}]}
    >>> line_of({"job": "a", "curve": "loss"}, runs)
    ([1], [3.0], [1.4142135623730951])
    """
    runs = records.get(line["job"], [])
    if not runs:
        raise SystemExit(f"figure: there is no recorded run of {line['job']}")
    if "points" in line:
        names: Sequence[Any] = line["points"]
        columns = [[100 * look_up(run, line["metric"].replace("*", name)) for run in runs] for name in names]
    else:
        epochs = min(len(run["curve"]) for run in runs)
        names = [entry["epoch"] for entry in runs[0]["curve"][:epochs]]
        columns = [[run["curve"][epoch][line["curve"]] for run in runs] for epoch in range(epochs)]
    spread = [statistics.stdev(column) if len(column) > 1 else 0.0 for column in columns]
    return names, [statistics.fmean(column) for column in columns], spread


def look_up(record: Mapping[str, Any], path: str) -> float:
    value: Any = record
    for key in path.split("."):
        value = value[key]
    return float(value)
