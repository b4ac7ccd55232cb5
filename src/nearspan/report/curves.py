"""Sections of the page on what other trainings of the same recipes score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from nearspan.report.elements import section, table
from nearspan.report.figures import Series, lines, summary
from nearspan.report.findings import Findings
from nearspan.report.occurrences import proportions
from nearspan.report.sections import names
from nearspan.report.trainings import Point

FAR = 20  # numbers so many times another are drawn on a logarithmic scale, or the small ones would be one


def sizes(found: Findings) -> str:
    """The data-size curve with its numbers."""
    points = found.sizes
    if not points:
        return ""
    sentences = {point.at: point.outcome.sentences for point in points}
    series = [_f1(points, subject.name) for subject in found.subjects]
    ticks = {share: share_text(share) for share in sorted(sentences)}
    drawn = lines(dict(enumerate(series)), "curve", ("share of the training set", "development F1"), ticks, log=True)
    rows = [
        [share_text(share), f"{sentences[share]:,}", *(_plus_minus(own, share) for own in series)]
        for share in sorted(sentences, reverse=True)
    ]
    shown = names(found)
    return section(
        "curve",
        "Data-size curve",
        "<p>Development F1 of the same recipe trained on smaller and smaller parts of the training set, each part "
        "inside the one before (figure 2 of Ouchi et al., 2020).</p>",
        f'<figure class="wide"><figcaption>{" ".join(shown)}</figcaption>{drawn}</figure>',
        table(["share", "sentences", *(shown if len(shown) > 1 else ["F1"])], rows),
    )


def occurrences(found: Findings) -> str:
    """F1 and time against the most occurrences of a word that are recalled, with the numbers."""
    points = found.occurrences
    if not points:
        return ""
    recalling = {point.name for point in points}
    own = {number: subject.name for number, subject in enumerate(found.subjects) if subject.name in recalling}
    shown = [names(found)[number] for number in own]
    f1 = {number: _f1(points, name) for number, name in own.items()}
    times = {number: proportions(points, name) for number, name in own.items()}
    counts = sorted({point.at for point in points})
    ticks = {count: f"{count:,.0f}" for count in counts if count}
    base = {number: summary(series)[1][0] for number, series in f1.items()}
    where, log = "T, the most occurrences of a word", max(ticks) > FAR * min(ticks)
    pictures = [
        lines(_recalled(f1), "recalled", (where, "development F1"), ticks, log=log, levels=base),
        lines(_recalled(times), "recalling", (where, "time of an epoch"), ticks, log=log, levels={min(own): 1.0}),
    ]
    measured = [series for number in own for series in (f1[number], times[number])]
    rows = [[ticks.get(count, "no memory"), *(_plus_minus(series, count) for series in measured)] for count in counts]
    heads = [f"{name} {what}" if len(shown) > 1 else what for name in shown for what in ("F1", "time")]
    caption = f"<figcaption>{' '.join(shown)}</figcaption>"
    return section(
        "occurrences",
        "Memory of training words",
        "<p>Development F1 of the same recipe with at most T occurrences of a word to recall, and the time of an "
        "epoch, development scoring included, in parts of what it takes without the memory, which is the dashed line "
        "(figure 3 of Luo et al., 2020). Times mean little where other work shared the machine.</p>",
        '<div class="grid">',
        *(f"<figure>{caption}{picture}</figure>" for picture in pictures),
        "</div>",
        table(["T", *heads], rows),
    )


def _f1(points: Sequence[Point], name: str) -> dict[float, list[float]]:
    """One model's F1 in percent, by where it is on the curve."""
    found: dict[float, list[float]] = {}
    for point in points:
        if point.name == name:
            found.setdefault(point.at, []).append(100 * point.outcome.f1)
    return found


def _recalled(measured: Mapping[int, Series]) -> dict[int, Series]:
    """All but what was measured without a memory."""
    return {number: {at: values for at, values in own.items() if at} for number, own in measured.items()}


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
