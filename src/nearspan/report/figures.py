"""Figures: SVG text to put into a page. Its writing takes the page's colours, light or dark."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from html import escape
from io import StringIO
from statistics import fmean, stdev
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearspan.report.projection import missing

# Okabe and Ito's colours that show on white and on black, then shades that keep apart from them
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#8C8C3E")
MARKERS = ("o", "s", "^", "D", "v")
SIGNS = ("●", "■", "▲", "◆", "▼")  # the same in writing

_INK, _LINE = "#010203", "#040506"  # stand-ins, replaced by the page's colours
_SETTINGS = {
    "svg.fonttype": "none",
    "font.size": 10,
    "text.color": _INK,
    "axes.labelcolor": _INK,
    "axes.edgecolor": _LINE,
}
_METADATA = dict.fromkeys(("Creator", "Date", "Format", "Type"))


def colour(index: int) -> str:
    """The colour of label or model number `index`. With `sign`, 35 labels look different."""
    return COLOURS[index % len(COLOURS)]


def sign(index: int) -> str:
    """The shape of label or model number `index`, as a character."""
    return SIGNS[index % len(SIGNS)]


def require() -> Any:
    """Matplotlib, or an error that says how to get it."""
    try:
        import matplotlib
        import matplotlib.figure
    except ImportError as error:
        raise missing("matplotlib") from error
    return matplotlib


def scatter(
    points: NDArray[np.float32], groups: Sequence[int], titles: Sequence[str], name: str, axes: Sequence[str] = ()
) -> str:
    """Points [N, 2] in the colours of their groups; each shows its title when pointed at. `axes` names x and y."""
    matplotlib = require()
    with matplotlib.rc_context({**_SETTINGS, "svg.hashsalt": name}):
        figure = matplotlib.figure.Figure(figsize=(5, 5))
        edge = 0.07 if axes else 0.01
        plane = figure.add_axes((edge, edge, 0.99 - edge, 0.99 - edge))
        plane.set(xticks=[], yticks=[])
        if axes:
            plane.set(xlabel=axes[0], ylabel=axes[1])
        order: list[int] = []
        for group in sorted(set(groups)):
            mine = [i for i, one in enumerate(groups) if one == group]
            order += mine
            marker = MARKERS[group % len(MARKERS)]
            plane.plot(*points[mine].T, marker, color=colour(group), markersize=3.6, alpha=0.75, markeredgewidth=0)
        return _titled(_svg(figure, name), [titles[i] for i in order])


Series = Mapping[float, Sequence[float]]  # by x, what was measured there


def lines(
    series: Mapping[int, Series],
    name: str,
    axes: tuple[str, str],
    ticks: Mapping[float, str],
    *,
    log: bool = False,
    levels: Mapping[int, float] | None = None,
) -> str:
    """Means with their deviations, a line for each model by its number. `levels` are drawn across, by model too."""
    matplotlib = require()
    with matplotlib.rc_context({**_SETTINGS, "svg.hashsalt": name}):
        figure = matplotlib.figure.Figure(figsize=(6.4, 3.4), layout="constrained")
        plane = figure.add_subplot()
        for number, own in series.items():
            places, means, deviations = summary(own)
            style = {"color": colour(number), "marker": MARKERS[number % len(MARKERS)], "linewidth": 2}
            plane.errorbar(places, means, yerr=deviations if any(deviations) else None, capsize=3, **style)
        for number, level in (levels or {}).items():
            plane.axhline(level, color=colour(number), linewidth=1.5, linestyle="--")
        if log:
            plane.set_xscale("log", base=2)
        plane.set_xticks(list(ticks), list(ticks.values()))
        plane.set(xlabel=axes[0], ylabel=axes[1])
        _ruled(plane)
        return _svg(figure, name)


def losses(own: Sequence[Sequence[float]]) -> str:
    """The loss of each epoch, a line for each model, on a logarithmic scale where it can be."""
    matplotlib = require()
    with matplotlib.rc_context({**_SETTINGS, "svg.hashsalt": "loss"}):
        figure = matplotlib.figure.Figure(figsize=(6.4, 3.0), layout="constrained")
        axes = figure.add_subplot()
        for number, curve in enumerate(own):
            marker = MARKERS[number % len(MARKERS)] if len(curve) == 1 else ""
            axes.plot(range(1, len(curve) + 1), curve, color=colour(number), linewidth=2, marker=marker)
        if all(value > 0 for curve in own for value in curve):
            axes.set_yscale("log")
        axes.set(xlabel="epoch", ylabel="loss")
        axes.xaxis.get_major_locator().set_params(integer=True)
        _ruled(axes)
        return _svg(figure, "loss")


def marks(
    points: NDArray[np.float32],
    groups: Sequence[int],
    right: NDArray[np.bool_],
    titles: Sequence[str],
    name: str,
    axes: Sequence[str],
    line: float | None = None,
) -> str:
    """Points [N, 2] in the colours of their groups, right ones as triangles and wrong ones as circles on top.

    `line` is a value of x to draw a line at; with one the axes have numbers.
    """
    matplotlib = require()
    with matplotlib.rc_context({**_SETTINGS, "svg.hashsalt": name}):
        figure = matplotlib.figure.Figure(figsize=(5, 4.4), layout="constrained")
        plane = figure.add_subplot()
        plane.set(xlabel=axes[0], ylabel=axes[1])
        if line is None:
            plane.set(xticks=[], yticks=[])
        else:
            plane.axvline(line, color=_LINE, linewidth=1)
            plane.tick_params(colors=_INK, length=0)
        order: list[int] = []
        for group in sorted(set(groups)):
            for good in (True, False):
                mine = [i for i, one in enumerate(groups) if one == group and right[i] == good]
                order += mine
                style = {"color": colour(group), "markersize": 4.2 if good else 3.8, "markeredgewidth": 0}
                plane.plot(*points[mine].T, "^" if good else "o", alpha=0.7, zorder=2 if good else 3, **style)
        return _titled(_svg(figure, name), [titles[i] for i in order])


def violins(groups: Mapping[str, Sequence[NDArray[np.float64]]], name: str) -> str:
    """Probabilities by group, those of right spans to the left in blue and of wrong ones to the right in red."""
    matplotlib = require()
    with matplotlib.rc_context({**_SETTINGS, "svg.hashsalt": name}):
        figure = matplotlib.figure.Figure(figsize=(max(5.0, 1.2 + 0.7 * len(groups)), 3.2), layout="constrained")
        axes = figure.add_subplot()
        most = max((len(values) for pair in groups.values() for values in pair), default=1) or 1
        for place, pair in enumerate(groups.values()):
            for side, tone, values in zip((-0.21, 0.21), (COLOURS[0], COLOURS[3]), pair, strict=True):
                if not len(values):
                    continue
                width = 0.08 + 0.32 * len(values) / most
                parts = axes.violinplot([values], [place + side], widths=width, showextrema=False, showmedians=True)
                for body in parts["bodies"]:
                    body.set(facecolor=tone, alpha=0.7)
                parts["cmedians"].set(color=tone, linewidth=2)
        turned = 60 if len(groups) > 8 else 0
        axes.set_xticks(range(len(groups)), list(groups), rotation=turned, ha="right" if turned else "center")
        axes.set(ylabel="P of the gold label", ylim=(-0.02, 1.02), xlim=(-0.6, len(groups) - 0.4))
        _ruled(axes)
        return _svg(figure, name)


def bars(groups: Sequence[str], values: Sequence[Sequence[float | None]], name: str, axis: str) -> str:
    """Percentages from 0 to 100: in each group a bar for each model. `values` has a row a model; None has no bar."""
    matplotlib = require()
    with matplotlib.rc_context({**_SETTINGS, "svg.hashsalt": name}):
        figure = matplotlib.figure.Figure(figsize=(5, 2.7), layout="constrained")
        axes = figure.add_subplot()
        width = 0.8 / len(values)
        for number, row in enumerate(values):
            drawn = [(place, value) for place, value in enumerate(row) if value is not None]
            middle = (number - (len(values) - 1) / 2) * width
            places, heights = [place + middle for place, _ in drawn], [value for _, value in drawn]
            axes.bar(places, heights, width * 0.92, color=colour(number))
        axes.set_xticks(range(len(groups)), groups)
        axes.set(xlabel=axis, ylabel="F1", ylim=(0, 100), xlim=(-0.6, len(groups) - 0.4))
        _ruled(axes)
        return _svg(figure, name)


def _ruled(axes: Any) -> None:
    """Lines across at the heights that are named, and no others."""
    axes.minorticks_off()
    axes.tick_params(colors=_INK, length=0)
    axes.grid(axis="y", color=_LINE, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right", "left"]].set_visible(False)


def summary(series: Series) -> tuple[list[float], list[float], list[float]]:
    """Places in ascending order, with the mean and the deviation of what was measured there."""
    places = sorted(series)
    deviations = [stdev(series[place]) if len(series[place]) > 1 else 0.0 for place in places]
    return places, [fmean(series[place]) for place in places], deviations


def _svg(figure: Any, name: str) -> str:
    """The figure for use inside HTML: no header, no metadata, no names that another figure may use too."""
    out = StringIO()
    figure.savefig(out, format="svg", transparent=True, metadata=_METADATA)
    found = out.getvalue()
    found = found[found.index("<svg") :]
    found = re.sub(r'<svg [^>]*?viewBox="([^"]*)"[^>]*>', rf'<svg viewBox="\1" role="img" aria-label="{name}">', found)
    found = re.sub(r'<g id="[^"]*"', "<g", found)
    found = re.sub(r"<!--.*?-->\s*", "", found, flags=re.DOTALL)
    return found.replace(_INK, "currentColor").replace(_LINE, "var(--line)")


def _titled(svg: str, titles: Sequence[str]) -> str:
    """The figure with a title in each of its markers, which were drawn in this order."""
    if svg.count("<use ") != len(titles):
        return svg
    left = iter(titles)
    return re.sub(r"<use ([^>]*)/>", lambda use: f"<use {use[1]}><title>{escape(next(left))}</title></use>", svg)
