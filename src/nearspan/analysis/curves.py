"""Sections of the page on what other trainings of the same recipes score."""

from __future__ import annotations

from collections.abc import Sequence

from nearspan.analysis.elements import section, table
from nearspan.analysis.figures import Series, lines, summary
from nearspan.analysis.findings import Findings
from nearspan.analysis.occurrences import proportions
from nearspan.analysis.sections import names
from nearspan.analysis.trainings import Point


def sizes(found: Findings) -> str:
    """The data-size curve with its numbers."""
    points = found.sizes
    if not points:
        return ""
    sentences = {point.at: point.outcome.sentences for point in points}
    series = [_f1(points, subject.name) for subject in found.subjects]
    ticks = {share: share_text(share) for share in sorted(sentences)}
    drawn = lines(series, "curve", ("share of the training set", "development F1"), ticks, log=True)
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
    shown = [(subject.name, name) for subject, name in zip(found.subjects, names(found), strict=True)]
    shown = [(own, name) for own, name in shown if any(point.name == own for point in points)]
    f1, times = [_f1(points, own) for own, _ in shown], [proportions(points, own) for own, _ in shown]
    counts = sorted({point.at for point in points})
    ticks = {count: f"{count:,.0f}" for count in counts if count}
    base = [summary(own)[1][0] for own in f1]
    where = "T, the most occurrences of a word"
    pictures = [
        lines([_recalled(own) for own in f1], "recalled", (where, "development F1"), ticks, levels=base),
        lines([_recalled(own) for own in times], "recalling", (where, "time of an epoch"), ticks, levels=[1.0]),
    ]
    measured = [own for pair in zip(f1, times, strict=True) for own in pair]
    rows = [[ticks.get(count, "no memory"), *(_plus_minus(own, count) for own in measured)] for count in counts]
    heads = [f"{name} {what}" if len(shown) > 1 else what for _, name in shown for what in ("F1", "time")]
    caption = f"<figcaption>{' '.join(name for _, name in shown)}</figcaption>"
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


def _recalled(series: Series) -> Series:
    """All but the model without a memory."""
    return {count: values for count, values in series.items() if count}


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
