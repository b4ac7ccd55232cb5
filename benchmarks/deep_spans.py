"""What a training step of deep spans costs, against the plain way of computing them, in one run.

    python benchmarks/deep_spans.py [--device cpu] [--batch 2] [--threads 2] [--quick] [--out results.json] [--plot]

A step is forward and backward of the span Transformer alone, with dropout, over a random 6-layer BERT of width 384;
the states of the words are given. The plain way goes from width to width and projects keys and values inside every
window, over all sentences and first words at once, with the very same weights. Both give the same vectors, which is
checked first. They take turns; a time is the minimum over the turns (medians are recorded beside it). On a GPU both
run under autocast in bf16. Memory is what a step takes at its peak beyond weights and their gradients: on a GPU what
the allocator counts, on a CPU the resident memory of a process that does nothing else.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor
from transformers import BertConfig, BertModel

from nearspan.spans import enumerate_spans
from nearspan.spans.span_grid import SpanGrid
from nearspan.spans.span_transformer import SpanTransformer, SpanTransformerSettings

SIZE, HEADS, LAYERS, DROPOUT = 384, 12, 6, 0.2
SETTINGS = ((40, 10), (100, 25))  # words in a sentence T, widest span K
TARGETS = {"cpu": (1.8, 3.0), "cuda": (4.0, 4.0)}
WORDS, WIDTHS = (20, 40, 80, 160, 320), (2, 4, 8, 16, 32)  # at K = 10 and at T = 100
BUDGETS = (64, 128, 256, 512, 1024)  # MB


@dataclass(frozen=True)
class Case:
    """Sentences of T words, spans of up to K of them."""

    deep: SpanTransformer
    states: list[Tensor]  # [B, T, d], below each layer
    grid: SpanGrid
    max_width: int

    @classmethod
    def of(cls, words: int, max_width: int, batch: int, device: str, budget_mb: int = 1 << 20) -> Case:
        torch.manual_seed(0)
        shape = {"hidden_size": SIZE, "num_hidden_layers": LAYERS, "num_attention_heads": HEADS}
        model = BertModel(BertConfig(intermediate_size=4 * SIZE, vocab_size=10, **shape))
        transformer = SimpleNamespace(encoder=model, size=SIZE, all_layers=False)
        encoder: Any = SimpleNamespace(transformer=transformer, width=SIZE, highway=None, bilstm=None)
        deep = SpanTransformer(SpanTransformerSettings(dropout=DROPOUT, budget_mb=budget_mb), encoder, max_width).to(
            device
        )
        states = [torch.randn(batch, words, SIZE, device=device, requires_grad=True) for _ in range(LAYERS)]
        lengths = torch.full((batch,), words)
        grid = SpanGrid.of(enumerate_spans(lengths, max_width, device), lengths, words, max_width)
        return cls(deep, states, grid, max_width)

    @property
    def gpu(self) -> bool:
        return self.states[0].is_cuda


def ours(case: Case) -> list[Tensor]:
    return [case.deep.wide_states(case.states, case.grid)]


def plain(case: Case) -> list[Tensor]:
    """The spans [B, T - k + 1, d] of each width k from 2 on."""
    return [_of_width(case, width) for width in range(2, case.max_width + 1)]


def _of_width(case: Case, width: int) -> Tensor:
    rate = case.deep.dropout.p if case.deep.training else 0.0
    spans = case.deep.dropout(case.states[0]).unfold(1, width, 1).amax(-1)  # [B, n, d]
    for block, states in zip(case.deep.layers, case.states, strict=True):
        windows = states.unfold(1, width, 1).transpose(2, 3).contiguous()  # [B, n, k, d]
        query = block.query(spans).unflatten(-1, (HEADS, 1, -1))  # [B, n, heads, 1, h]
        key, value = (project(windows).unflatten(-1, (HEADS, -1)) for project in (block.key, block.value))
        scores = query @ key.permute(0, 1, 3, 4, 2) / math.sqrt(query.shape[-1])  # [B, n, heads, 1, k]
        shares = torch.dropout(scores.softmax(-1), rate, case.deep.training)
        context = (shares @ value.transpose(2, 3)).flatten(2)  # [B, n, d]
        spans = block.after_attention(spans, context, rate)
    return spans


SIDES: dict[str, Callable[[Case], list[Tensor]]] = {"ours": ours, "plain": plain}


def step(case: Case, side: str) -> float:
    """Seconds of one forward and backward."""
    case.deep.zero_grad(set_to_none=False)
    for states in case.states:
        states.grad = None
    _wait(case)
    began = time.perf_counter()
    with torch.autocast("cuda", torch.bfloat16, enabled=case.gpu):
        out = SIDES[side](case)
    torch.stack([tensor.float().sum() for tensor in out]).sum().backward()
    _wait(case)
    return time.perf_counter() - began


def _wait(case: Case) -> None:
    if case.gpu:
        torch.cuda.synchronize()


@torch.no_grad()
def difference(case: Case) -> float:
    """The largest difference between both sides' vectors, without dropout."""
    case.deep.eval()
    [vectors], by_width = ours(case), plain(case)
    grid = case.grid
    most = 0.0
    for width, expected in enumerate(by_width, start=2):
        rows = grid.width == width
        most = max(most, float((vectors[rows] - expected[grid.sentence[rows], grid.first[rows]]).abs().max()))
    case.deep.train()
    return most


def time_step(case: Case, sides: tuple[str, ...], repeat: int) -> dict[str, dict[str, float]]:
    """Milliseconds of a step, the sides in turns."""
    for side in sides:
        step(case, side)
        step(case, side)
    times: dict[str, list[float]] = {side: [] for side in sides}
    for _ in range(repeat):
        for side in sides:
            times[side].append(1000 * step(case, side))
    return {
        side: {"min_ms": round(min(of_side), 2), "median_ms": round(statistics.median(of_side), 2)}
        for side, of_side in times.items()
    }


def peak(side: str, words: int, max_width: int, options: argparse.Namespace, budget_mb: int = 1 << 20) -> float:
    """MB that a step takes beyond the weights, their gradients and the states of the words."""
    if options.device.startswith("cuda"):
        return _peak(side, words, max_width, options, budget_mb)
    given = [*map(str, (side, words, max_width, budget_mb))]
    command = [sys.executable, __file__, "--batch", str(options.batch), "--threads", str(options.threads)]
    frees = os.environ | {"MALLOC_MMAP_THRESHOLD_": "65536"}  # what is freed goes back, so that what is used is seen
    done = subprocess.run([*command, "--peak", *given], check=True, capture_output=True, text=True, env=frees)
    return float(done.stdout)


def _peak(side: str, words: int, max_width: int, options: argparse.Namespace, budget_mb: int) -> float:
    case = Case.of(words, max_width, options.batch, options.device, budget_mb)
    case.deep.train()
    small = Case.of(4, 2, 1, options.device)
    step(replace(small, deep=case.deep), side)  # gradients and what libraries keep are there from now on
    if case.gpu:
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        step(case, side)
        return (torch.cuda.max_memory_allocated() - before) / 2**20
    before = _resident("VmRSS")
    step(case, side)
    return (_resident("VmHWM") - before) / 2**10


def _resident(kind: str) -> int:
    """This process's resident memory in KB: VmRSS now, VmHWM at its highest."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(kind))


def against_plain(options: argparse.Namespace) -> list[dict[str, Any]]:
    rows = []
    for (words, max_width), target in zip(SETTINGS, TARGETS[options.device.split(":")[0]], strict=True):
        case = Case.of(words, max_width, options.batch, options.device)
        apart = difference(case)
        times = time_step(case, ("ours", "plain"), options.repeat)
        del case
        row = {
            "words": words,
            "max_width": max_width,
            "largest_difference": apart,
            **times,
            "faster_by_min": round(times["plain"]["min_ms"] / times["ours"]["min_ms"], 2),
            "faster_by_median": round(times["plain"]["median_ms"] / times["ours"]["median_ms"], 2),
            "target": target,
            "peak_mb": {side: round(peak(side, words, max_width, options)) for side in SIDES},
        }
        rows.append(row)
        print(row, flush=True)
    return rows


def within_budgets(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Peak memory and time at T = 100, K = 25 with less and less to spend."""
    rows = []
    for budget in BUDGETS:
        case = Case.of(*SETTINGS[1], options.batch, options.device, budget)
        parts = len(case.deep._parts(case.states[0], case.grid.starts, case.grid.widths))
        seconds = time_step(case, ("ours",), max(1, options.repeat // 3))["ours"]
        del case
        row = {"budget_mb": budget, "parts": parts, "peak_mb": round(peak("ours", *SETTINGS[1], options, budget))}
        rows.append({**row, **seconds})
        print(rows[-1], flush=True)
    return rows


def growth(options: argparse.Namespace) -> dict[str, list[dict[str, Any]]]:
    """Times by the length of the sentences, and by the widest span."""
    record: dict[str, list[dict[str, Any]]] = {"words": [], "widths": []}
    cases = [("words", words, 10) for words in WORDS] + [("widths", 100, width) for width in WIDTHS]
    for kind, words, max_width in cases:
        case = Case.of(words, max_width, options.batch, options.device)
        times = time_step(case, ("ours", "plain"), max(1, options.repeat // 3))
        record[kind].append({"words": words, "max_width": max_width, **times})
        print(record[kind][-1], flush=True)
    return record


def draw(result: dict[str, Any], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 3, figsize=(13, 3.8), layout="constrained")
    for axis, kind, key, label in (
        (axes[0], "words", "words", "words in a sentence (K = 10)"),
        (axes[1], "widths", "max_width", "widest span K (T = 100)"),
    ):
        for side, style in (("ours", "o-"), ("plain", "s--")):
            rows = result["growth"][kind]
            axis.plot([row[key] for row in rows], [row[side]["min_ms"] for row in rows], style, label=side)
        axis.set(xlabel=label, ylabel="ms for a training step")
        axis.legend()
    rows = result["budgets"]
    axes[2].plot([row["budget_mb"] for row in rows], [row["peak_mb"] for row in rows], "o-", label="peak")
    axes[2].plot([row["budget_mb"] for row in rows], [row["budget_mb"] for row in rows], ":", label="budget")
    axes[2].set(xlabel="budget_mb (T = 100, K = 25)", ylabel="MB", xscale="log", yscale="log")
    axes[2].legend()
    figure.savefig(path, dpi=130)


def hardware(options: argparse.Namespace) -> str:
    if options.device.startswith("cuda"):
        return torch.cuda.get_device_name()
    names = [line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")]
    name = names[0].split(":")[1].strip() if names else platform.machine()
    return f"{name}, {torch.get_num_threads()} threads"


def commit() -> str:
    done = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=Path(__file__).parent, capture_output=True)
    return done.stdout.decode().strip()


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--device", default="cpu")
    arguments.add_argument("--batch", type=int, default=2)
    arguments.add_argument("--threads", type=int, default=0)
    arguments.add_argument("--repeat", type=int, default=9)
    arguments.add_argument("--quick", action="store_true", help="only against the plain way, few repeats")
    arguments.add_argument("--note", default="", help="kept with the results")
    arguments.add_argument("--out", type=Path)
    arguments.add_argument("--plot", action="store_true", help="a PNG beside the results")
    arguments.add_argument("--peak", nargs=4, help=argparse.SUPPRESS)  # a process of its own
    options = arguments.parse_args()
    if options.threads:
        torch.set_num_threads(options.threads)
    if options.peak:
        side, *numbers = options.peak
        words, max_width, budget = map(int, numbers)
        print(_peak(side, words, max_width, options, budget))
        return
    if options.quick:
        options.repeat = 3
    result: dict[str, Any] = {
        "model": f"{LAYERS} layers, width {SIZE}, {HEADS} heads, dropout {DROPOUT}",
        "batch": options.batch,
        "precision": "bf16" if options.device.startswith("cuda") else "float32",
        "repeat": options.repeat,
        "hardware": hardware(options),
        "torch": torch.__version__,
        "commit": commit(),
        "note": options.note,
        "against_plain": against_plain(options),
    }
    if not options.quick:
        result |= {"budgets": within_budgets(options), "growth": growth(options)}
    if options.out:
        options.out.write_text(json.dumps(result, indent=1) + "\n")
        if options.plot and not options.quick:
            draw(result, options.out.with_suffix(".png"))


if __name__ == "__main__":
    main()
