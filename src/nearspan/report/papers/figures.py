"""Figures: SVG text to put into a page. Its writing takes the page's colours, light or dark."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import StringIO
from statistics import fmean, stdev
from typing import Any

import numpy as np
from markupsafe import Markup, escape
from numpy.typing import NDArray

from nearspan.colours import PALETTE, colour
from nearspan.report.papers.projection import missing_package

MARKERS = ("o", "s", "^", "D", "v")  # the shapes of nearspan.colours.SIGNS

# Stand-ins, replaced by the page's colours
_INK, _LINE, _GOOD, _BAD = "#010203", "#040506", "#070809", "#0a0b0c"
_MODELS = ("#0d0e0f", "#101112")
_PAGE = {_INK: "currentColor", _LINE: "var(--line)", _GOOD: "var(--good)", _BAD: "var(--bad)"}
_PAGE |= {_MODELS[0]: "var(--accent)", _MODELS[1]: "var(--second)"}
_PAGE |= {light: f"var(--c{number})" for number, (light, _) in enumerate(PALETTE)}
_SETTINGS = {
    "svg.fonttype": "none",
    "font.size": 10,
    "text.color": _INK,
    "axes.labelcolor": _INK,
    "axes.edgecolor": _LINE,
}
_METADATA = dict.fromkeys(("Creator", "Date", "Format", "Type"))
Series = Mapping[float, Sequence[float]]  # by x, what was measured there


def load_matplotlib() -> Any:
    """Matplotlib, or an error that says how to get it."""
    try:
        import matplotlib
        import matplotlib.figure
    except ImportError as error:
        raise missing_package("matplotlib") from error
    return matplotlib


@contextmanager
def _axes(name: str, width: float, height: float, edge: float | None = None) -> Iterator[Any]:
    """The axes of an empty figure of some inches, in whose context it is drawn; `edge` leaves room for their names."""
    matplotlib = load_matplotlib()
    with matplotlib.rc_context({**_SETTINGS, "svg.hashsalt": name}):
        if edge is None:
            yield matplotlib.figure.Figure(figsize=(width, height), layout="constrained").add_subplot()
        else:
            yield matplotlib.figure.Figure(figsize=(width, height)).add_axes((edge, edge, 0.99 - edge, 0.99 - edge))


def scatter(
    points: NDArray[np.float32],
    groups: Sequence[int],
    titles: Sequence[str],
    name: str,
    axes: Sequence[str] = (),
    right: NDArray[np.bool_] | None = None,
    line: float | None = None,
) -> Markup:
    """Points [N, 2] in the colours of their groups; each shows its title when pointed at. `axes` names x and y.

    Groups have shapes of their own. With `right` [N], right points are triangles and wrong ones circles on top.
    `line` is a value of x to draw a line at; with one the axes have numbers.
    """
    size = (5, 5, 0.07 if axes else 0.01) if right is None else (5, 4.4)
    with _axes(name, *size) as plane:
        if axes:
            plane.set(xlabel=axes[0], ylabel=axes[1])
        if line is None:
            plane.set(xticks=[], yticks=[])
        else:
            plane.axvline(line, color=_LINE, linewidth=1)
            plane.tick_params(colors=_INK, length=0)
        order: list[int] = []
        for group in sorted(set(groups)):
            inside = np.equal(groups, group)
            layers = [(inside, MARKERS[group % len(MARKERS)], 3.6, 0.75, 2)]
            if right is not None:
                layers = [(inside & right, "^", 4.2, 0.7, 2), (inside & ~right, "o", 3.8, 0.7, 3)]
            for chosen, marker, width, alpha, height in layers:
                style = {"markersize": width, "markeredgewidth": 0, "alpha": alpha, "zorder": height}
                plane.plot(*points[chosen].T, marker, color=colour(group).light, **style)
                order += np.flatnonzero(chosen).tolist()
        return _svg(plane, name, [titles[i] for i in order])


def lines(
    series: Mapping[int, Series],
    name: str,
    axes: tuple[str, str],
    ticks: Mapping[float, str],
    *,
    log: bool = False,
    levels: Mapping[int, float] | None = None,
) -> Markup:
    """Means with their deviations, a line for each model by its number. `levels` are drawn across, by model too."""
    with _axes(name, 6.4, 3.4) as plane:
        for number, measured in series.items():
            places = sorted(measured)
            means, deviations = zip(*(mean_and_deviation(measured[place]) for place in places), strict=True)
            style = {"color": _MODELS[number], "marker": MARKERS[number], "linewidth": 2}
            plane.errorbar(places, means, yerr=deviations if any(deviations) else None, capsize=3, **style)
        for number, level in (levels or {}).items():
            plane.axhline(level, color=_MODELS[number], linewidth=1.5, linestyle="--")
        if log:
            plane.set_xscale("log", base=2)
        plane.set_xticks(list(ticks), list(ticks.values()))
        plane.set(xlabel=axes[0], ylabel=axes[1])
        _rule(plane)
        return _svg(plane, name)


def losses(curves: Sequence[Sequence[float]]) -> Markup:
    """The loss of each epoch, a line for each model, on a logarithmic scale where it can be."""
    with _axes("loss", 6.4, 3.0) as axes:
        for number, curve in enumerate(curves):
            marker = MARKERS[number] if len(curve) == 1 else ""
            axes.plot(range(1, len(curve) + 1), curve, color=_MODELS[number], linewidth=2, marker=marker)
        if all(value > 0 for curve in curves for value in curve):
            axes.set_yscale("log")
        axes.set(xlabel="epoch", ylabel="loss")
        axes.xaxis.get_major_locator().set_params(integer=True)
        _rule(axes)
        return _svg(axes, "loss")


def violins(groups: Mapping[str, Sequence[NDArray[np.float64]]], name: str) -> Markup:
    """Probabilities by group, those of right spans to the left and of wrong ones to the right."""
    with _axes(name, max(5.0, 1.2 + 0.7 * len(groups)), 3.2) as axes:
        most = max((len(values) for pair in groups.values() for values in pair), default=1) or 1
        for place, pair in enumerate(groups.values()):
            for side, tone, values in zip((-0.21, 0.21), (_GOOD, _BAD), pair, strict=True):
                if not len(values):
                    continue
                width = 0.08 + 0.32 * len(values) / most
                parts = axes.violinplot([values], [place + side], widths=width, showextrema=False, showmedians=True)
                for body in parts["bodies"]:
                    body.set(facecolor=tone, alpha=0.7)
                parts["cmedians"].set(color=tone, linewidth=2)
        turned = 60 if len(groups) > 8 else 0
        axes.set_xticks(range(len(groups)), list(groups), rotation=turned, ha="right" if turned else "center")
        for label in axes.get_xticklabels():
            label.set_parse_math(False)  # a $ is a dollar
        axes.set(ylabel="P of the gold label", ylim=(-0.02, 1.02), xlim=(-0.6, len(groups) - 0.4))
        _rule(axes)
        return _svg(axes, name)


def bars(groups: Sequence[str], values: Sequence[Sequence[float | None]], name: str, axis: str) -> Markup:
    """Percentages from 0 to 100: in each group a bar for each model. `values` has a row a model; None has no bar."""
    with _axes(name, 5, 2.7) as axes:
        width = 0.8 / len(values)
        for number, row in enumerate(values):
            drawn = [(place, value) for place, value in enumerate(row) if value is not None]
            middle = (number - (len(values) - 1) / 2) * width
            places, heights = [place + middle for place, _ in drawn], [value for _, value in drawn]
            axes.bar(places, heights, width * 0.92, color=_MODELS[number])
        axes.set_xticks(range(len(groups)), groups)
        axes.set(xlabel=axis, ylabel="F1", ylim=(0, 100), xlim=(-0.6, len(groups) - 0.4))
        _rule(axes)
        return _svg(axes, name)


def mean_and_deviation(values: Sequence[float]) -> tuple[float, float]:
    """The mean of what was measured, and its standard deviation."""
    return fmean(values), stdev(values) if len(values) > 1 else 0.0


def _rule(axes: Any) -> None:
    """Draw lines across at the heights that are named, and no others."""
    axes.minorticks_off()
    axes.tick_params(colors=_INK, length=0)
    axes.grid(axis="y", color=_LINE, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right", "left"]].set_visible(False)


def _svg(axes: Any, name: str, titles: Sequence[str] = ()) -> Markup:
    """The figure of some axes for use inside HTML: no header, no metadata, no names that another figure may use too.

    Its markers get titles, in the order they were drawn in.
    """
    out = StringIO()
    axes.figure.savefig(out, format="svg", transparent=True, metadata=_METADATA)
    svg = out.getvalue()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r'<svg [^>]*?viewBox="([^"]*)"[^>]*>', rf'<svg viewBox="\1" role="img" aria-label="{name}">', svg)
    svg = re.sub(r'<g id="[^"]*"', "<g", svg)
    svg = re.sub(r"<!--.*?-->\s*", "", svg, flags=re.DOTALL)
    for tone, replacement in _PAGE.items():
        svg = svg.replace(tone, replacement)
    if titles and svg.count("<use ") == len(titles):
        left = iter(titles)
        svg = re.sub(r"<use ([^>]*)/>", lambda use: f"<use {use[1]}><title>{escape(next(left))}</title></use>", svg)
    return Markup(svg)
