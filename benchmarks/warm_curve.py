"""The curve of benchmarks/warm_start.py's results: F1 by sentences, for each domain and way.

python benchmarks/warm_curve.py benchmarks/results/warm-start-cpu.json docs/guide/warm-start.svg
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from statistics import mean

import matplotlib as mpl
from matplotlib import pyplot

NAMES = {"replaced": "from the source", "scratch": "from scratch", "untrained": "memory alone"}


def main() -> None:
    runs = [run for record in json.loads(Path(sys.argv[1]).read_text()) for run in record["runs"]]
    mpl.rcParams["font.size"] = 9
    mpl.rcParams["svg.hashsalt"] = "nearspan"
    domains = list(dict.fromkeys(run["domain"] for run in runs))
    figure, all_axes = pyplot.subplots(1, len(domains), figsize=(8, 2.8), sharey=True, layout="constrained")
    for domain, axes in zip(domains, all_axes, strict=True):
        for way, name in NAMES.items():
            of_way = [run for run in runs if (run["domain"], run["way"]) == (domain, way)]
            sizes = sorted({run["sentences"] for run in of_way})
            f1 = [mean(run["f1"] for run in of_way if run["sentences"] == size) for size in sizes]
            axes.plot(sizes, f1, marker="o", label=name)
        axes.set_title(domain)
        axes.set_xlabel("sentences")
        axes.grid(alpha=0.3)
    all_axes[0].set_ylabel("development F1")
    all_axes[0].legend(fontsize=7)
    figure.savefig(sys.argv[2], metadata={"Date": None})


if __name__ == "__main__":
    main()
