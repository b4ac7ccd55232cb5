"""The picture of benchmarks/fix_curve.py's results, where sentences count as often as it takes.

python benchmarks/fix_picture.py benchmarks/results/fix-curve-cpu.json benchmarks/notes/fix-curve.png
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import matplotlib as mpl
from matplotlib import pyplot

NAMES = {"NCBItestset_corpus.txt": "NCBI Disease, 4 types", "test.tsv": "NCBI Disease", "eng.testb": "CoNLL-2003"}


def main() -> None:
    results = json.loads(Path(sys.argv[1]).read_text())
    mpl.rcParams["font.size"] = 9
    figure, (fixed, lost) = pyplot.subplots(1, 2, figsize=(8, 3.9), layout="constrained")
    for result in (result for result in results if result["weight"] == "enough"):
        name = NAMES.get(result["corpus"], result["corpus"])
        counts = [row["k"] for row in result["rows"]]
        share = [100 * row["held_fixed"] / row["held_errors"] for row in result["rows"]]
        gone = [100 * row["rest_right_lost"] / row["rest_right_before"] for row in result["rows"]]
        fixed.plot(counts, share, marker="o", label=name)
        lost.plot(counts, gone, marker="o", label=name)
    fixed.set_ylabel("held-out errors of the kind fixed, %")
    lost.set_ylabel("right predictions elsewhere lost, %")
    for axes in (fixed, lost):
        axes.set_xlabel("corrected examples added for each kind, at most")
        axes.set_ylim(0, max(25.0, 1.1 * axes.get_ylim()[1]) if axes is fixed else max(2.0, 1.1 * axes.get_ylim()[1]))
        axes.set_xticks(sorted({row["k"] for result in results for row in result["rows"]}))
        axes.grid(alpha=0.3)
    figure.legend(*fixed.get_legend_handles_labels(), loc="outside lower center", ncols=2, fontsize=7)
    figure.savefig(sys.argv[2], dpi=150)


if __name__ == "__main__":
    main()
