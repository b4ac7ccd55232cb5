"""Sections of the page on how a model learned and how sure it is (the SNG paper, figures 3 to 6)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nearspan.report import figures
from nearspan.report.elements import chip, percent, section, table, text
from nearspan.report.outputs import Outputs
from nearspan.report.projection import FEWEST

OBVIOUS = 1.0  # log2: the likeliest label has more than twice the gold label's probability


def losses(names: Sequence[str], own: Sequence[Sequence[float]]) -> str:
    """The loss after each epoch (figure 3)."""
    without = [text(name) for name, curve in zip(names, own, strict=True) if not curve]
    note = (
        f'<p class="note">No record of {" and ".join(without)}: the folder holds no metrics.jsonl.</p>'
        if without
        else ""
    )
    if not any(own):
        return section("loss", "Loss", note)
    return section(
        "loss",
        "Loss",
        "<p>The mean training loss of each epoch (figure 3 of the SNG paper): summed over a sentence's spans, the mean "
        "over sentences. Systems with other candidates or objectives have losses that cannot be compared.</p>",
        f'<figure class="wide">{_legend(names)}{figures.losses(own)}</figure>',
        note,
    )


def outputs(names: Sequence[str], own: Sequence[Outputs], labels: Sequence[str]) -> str:
    """Probabilities of gold spans: components (figure 4), violins (5) and discrepancy (6)."""
    if any(len(one.gold) < FEWEST for one in own):
        return section("outputs", "Label probabilities", f"<p>Fewer than {FEWEST} gold spans with known labels.</p>")
    shown = sorted({span.entity.label for one in own for span in one.spans})
    legend = " ".join(chip(label, labels) for label in shown)
    return section(
        "outputs",
        "Label probabilities",
        f"<p>What the head says of {len(own[0].gold):,} gold spans (figures 4 to 6 of the SNG paper). A span is right, "
        "▲, where its gold label is the likeliest of all labels, no entity among them where spans are not given; else "
        "it is wrong, ●. How entities that overlap are chosen comes after this and is not looked at.</p>",
        _counts(names, own),
        "<h3>Principal components</h3>"
        "<p>Each span's probabilities along the two directions in which they differ most. A span the model is sure of "
        "lies in a corner, one between two labels on an edge.</p>",
        f'<p class="legend">{legend}</p>',
        _grid(names, [_components(one, labels, number) for number, one in enumerate(own)]),
        "<h3>Probability of the gold label</h3>"
        "<p>By gold label, of right spans on the left and wrong ones on the right, the broader the more of them there "
        "are. The bars are medians.</p>",
        *(_figure(name, _violins(one, number)) for number, (name, one) in enumerate(zip(names, own, strict=True))),
        "<h3>Discrepancy</h3>"
        "<p>Across: log2 of the highest probability over the gold label's. It is 0 for a right span and above 0 for a "
        "wrong one; beyond the line at 1 the model prefers another label more than twice. It cannot be below 0. "
        "Upwards: log10 of the variance of the span's probabilities over the gold label's probability (the paper's "
        "D): high where the model is sure and the gold label has little. Probabilities below 1e-12 count as that.</p>",
        _grid(names, [_discrepancy(one, labels, number) for number, one in enumerate(own)]),
    )


def _counts(names: Sequence[str], own: Sequence[Outputs]) -> str:
    rows = []
    for name, one in zip(names, own, strict=True):
        wrong = ~one.right
        obvious = int((one.discrepancy > OBVIOUS).sum())
        sure = [np.median(one.gold_probability[some]) if some.any() else None for some in (one.right, wrong)]
        medians = ["–" if value is None else percent(float(value)) for value in sure]
        rows.append(
            [text(name), f"{int(one.right.sum()):,}", medians[0], f"{int(wrong.sum()):,}", medians[1], f"{obvious:,}"]
        )
    head = ["", "right", "median P(gold)", "wrong", "median P(gold)", "wrong by more than twice"]
    return table(head, rows)


def _components(one: Outputs, labels: Sequence[str], number: int) -> str:
    shares = [
        f"component {i}: {100 * share:.1f}% of the variance" for i, share in enumerate(one.components.explained, 1)
    ]
    return figures.marks(
        one.components.points, _groups(one, labels), one.right, _titles(one), f"outputs{number}", shares
    )


def _discrepancy(one: Outputs, labels: Sequence[str], number: int) -> str:
    points = np.stack([one.discrepancy, one.dispersion], axis=1).astype(np.float32)
    axes = ["log2 (highest P / P of gold)", "log10 (variance / P of gold)"]
    name = f"discrepancy{number}"
    return figures.marks(points, _groups(one, labels), one.right, _titles(one), name, axes, line=OBVIOUS)


def _violins(one: Outputs, number: int) -> str:
    groups = {
        label: [
            one.gold_probability[
                [i for i, span in enumerate(one.spans) if span.entity.label == label and one.right[i] == right]
            ]
            for right in (True, False)
        ]
        for label in sorted({span.entity.label for span in one.spans})
    }
    return figures.violins(groups, f"violins{number}")


def _groups(one: Outputs, labels: Sequence[str]) -> list[int]:
    number = {label: i for i, label in enumerate(labels)}
    return [number[span.entity.label] for span in one.spans]


def _titles(one: Outputs) -> list[str]:
    return [
        f"{span.entity.label}: {span.span.text(span.sentence.text)} ({likely:.3f})"
        for span, likely in zip(one.spans, one.gold_probability, strict=True)
    ]


def _legend(names: Sequence[str]) -> str:
    if len(names) == 1:
        return ""
    chips = (
        f'<span class="chip"><i style="color:{figures.colour(i)}">{figures.sign(i)}</i>{text(name)}</span>'
        for i, name in enumerate(names)
    )
    return f"<figcaption>{' '.join(chips)}</figcaption>"


def _grid(names: Sequence[str], pictures: Sequence[str]) -> str:
    drawn = (_figure(name, picture) for name, picture in zip(names, pictures, strict=True))
    return f'<div class="grid">{"".join(drawn)}</div>'


def _figure(name: str, picture: str) -> str:
    return f"<figure><figcaption>{text(name)}</figcaption>{picture}</figure>"
