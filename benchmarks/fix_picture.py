"""The picture of benchmarks/fix_curve.py's results.

python benchmarks/fix_picture.py benchmarks/results/fix-curve-cpu.json docs/guide/fix-curve.png
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import matplotlib as mpl
from matplotlib import pyplot

NAMES = {"NCBIdevelopset_corpus.txt": "NCBI Disease", "eng.testa": "CoNLL-2003"}
WEIGHTS = {"1": "counting once", "enough": "counting as often as it takes"}


def main() -> None:
    results = json.loads(Path(sys.argv[1]).read_text())
    mpl.rcParams["font.size"] = 9
    figure, (fixed, lost) = pyplot.subplots(1, 2, figsize=(8, 3.9), layout="constrained")
    for result in results:
        way = WEIGHTS.get(result["weight"], f"weight {result['weight']}")
        name = f"{NAMES.get(result['corpus'], result['corpus'])}, {way}"
        counts = [row["k"] for row in result["rows"]]
        share = [100 * row["held_fixed"] / row["held_errors"] for row in result["rows"]]
        gone = [100 * row["rest_right_lost"] / row["rest_right_before"] for row in result["rows"]]
        style = "-" if result["weight"] == "enough" else ":"
        fixed.plot(counts, share, style, marker="o", label=name)
        lost.plot(counts, gone, style, marker="o", label=name)
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
