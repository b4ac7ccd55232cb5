"""The curves of other trainings as pictures, with their numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nearspan.report.papers.curves import epoch_times
from nearspan.report.papers.figures import Series, lines, summary
from nearspan.report.papers.trainings import CurvePoint

FAR = 20  # numbers so many times another are drawn on a logarithmic scale, or the small ones would be one


def size_figure(points: Sequence[CurvePoint], names: Sequence[str]) -> dict[str, Any]:
    """The data-size curve of models by their names."""
    sentences = {point.at: point.outcome.sentences for point in points}
    series = [_f1(points, name) for name in names]
    ticks = {share: share_text(share) for share in sorted(sentences)}
    axes = ("share of the training set", "development F1")
    return {
        "figure": lines(dict(enumerate(series)), "curve", axes, ticks, log=True),
        "rows": [
            [share_text(share), f"{sentences[share]:,}", *(_plus_minus(each, share) for each in series)]
            for share in sorted(sentences, reverse=True)
        ],
    }


def occurrence_figures(points: Sequence[CurvePoint], names: Sequence[str]) -> dict[str, Any]:
    """F1 and time against the most occurrences of a word that are recalled, of those models that recall any."""
    recalling = {point.name for point in points}
    numbers = [number for number, name in enumerate(names) if name in recalling]
    f1 = {number: _f1(points, names[number]) for number in numbers}
    times = {number: epoch_times(points, names[number]) for number in numbers}
    counts = sorted({point.at for point in points})
    ticks = {count: f"{count:,.0f}" for count in counts if count}
    base = {number: summary(series)[1][0] for number, series in f1.items()}
    axis, log = "T, the most occurrences of a word", max(ticks) > FAR * min(ticks)
    first = {numbers[0]: 1.0}
    measured = [series for number in numbers for series in (f1[number], times[number])]
    return {
        "numbers": numbers,
        "figures": [
            lines(_recalling(f1), "recalled", (axis, "development F1"), ticks, log=log, levels=base),
            lines(_recalling(times), "recalling", (axis, "time of an epoch"), ticks, log=log, levels=first),
        ],
        "rows": [
            [ticks.get(count, "no memory"), *(_plus_minus(series, count) for series in measured)] for count in counts
        ],
    }


def _f1(points: Sequence[CurvePoint], name: str) -> dict[float, list[float]]:
    """One model's F1 in percent, by where it is on the curve."""
    series: dict[float, list[float]] = {}
    for point in points:
        if point.name == name:
            series.setdefault(point.at, []).append(100 * point.outcome.f1)
    return series


def _recalling(measured: Mapping[int, Series]) -> dict[int, Series]:
    """All but what was measured without a memory."""
    return {number: {at: values for at, values in series.items() if at} for number, series in measured.items()}


def _plus_minus(series: Series, place: float) -> str:
    _, (mean,), (deviation,) = summary({place: series[place]})
    return f"{mean:.2f} ± {deviation:.2f}" if deviation else f"{mean:.2f}"


def share_text(share: float) -> str:
    """A share as people write it.

    >>> share_text(0.125), share_text(1.0), share_text(0.3)
    ('1/8', '1', '0.3')
    """
    parts = 1 / share
    return f"{share:.2g}" if abs(parts - round(parts)) > 1e-6 else f"1/{round(parts)}" if round(parts) > 1 else "1"
