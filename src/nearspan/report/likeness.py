"""Sections of the page on the span vectors: how alike they are, and how they lie."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from nearspan.report.coupling import LEVELS, NEAR
from nearspan.report.elements import figure, legend, section, table, text
from nearspan.report.figures import scatter
from nearspan.report.findings import Findings
from nearspan.report.geometry import Cosine
from nearspan.report.projection import FEWEST
from nearspan.report.sections import names

RATIOS = ("0", "above 0, up to 0.5", "above 0.5, below 1")


def vectors(found: Findings) -> str:
    """Coupling, norms and cosines (tables 4 and 5 of Zhu et al., 2023)."""
    if not found.spans:
        return section("vectors", "Span vectors", "<p>No gold entity is in reach.</p>")
    unit = " or ".join(sorted({subject.model.recipe.suggester.unit for subject in found.subjects}))
    widest = min(subject.model.network.max_width for subject in found.subjects)
    return section(
        "vectors",
        "Span vectors",
        f"<p>How alike the vectors are from which the head decides, for {len(found.spans):,} gold entities: means of "
        "the cosine over pairs of spans (tables 4 and 5 of Zhu et al., 2023).</p>",
        "<h3>Entities and their neighbouring spans</h3>",
        _coupling(found),
        f'<p class="note">Neighbouring: any other span of up to {widest} {unit} that begins at most {NEAR} '
        f"before the entity and ends at most {NEAR} after it. α: the {unit} both spans have, as a part of those that "
        "either has. The less the cosine grows with α, the less coupled overlapping spans are.</p>",
        "<h3>Within and between labels</h3>",
        _geometry(found),
        _templates(found),
    )


def space(found: Findings) -> str:
    """The vectors of gold spans in two dimensions: t-SNE and principal components."""
    if len(found.spans) < FEWEST:
        return section("space", "Span space", f"<p>Fewer than {FEWEST} gold spans in reach: nothing to draw.</p>")
    groups = [found.labels.index(span.entity.label) for span in found.spans]
    titles = [f"{span.entity.label}: {span.span.text(span.sentence.text)}" for span in found.spans]
    placed, directed = [], []
    for number, (subject, own) in enumerate(zip(found.subjects, found.spaces, strict=True)):
        name, components = text(subject.name), own.components
        axes = [
            f"component {i}: {100 * share:.1f}% of the variance"
            for i, share in enumerate(components.explained, start=1)
        ]
        placed.append(figure(f"{name}, t-SNE", scatter(own.projection, groups, titles, f"space{number}")))
        picture = scatter(components.points, groups, titles, f"components{number}", axes)
        directed.append(figure(f"{name}, principal components", picture))
    rows = [[*placed, *directed]] if len(placed) == 1 else [placed, directed]
    return section(
        "space",
        "Span space",
        f"<p>The vectors of {len(found.spans):,} gold spans in two dimensions. By t-SNE (figure 3 of Ouchi et al., "
        "2020) near points are spans the model finds alike, and the axes mean nothing. The principal components "
        "(figure 4 of Zhu et al., 2023) are the two directions in which the vectors differ most: labels that lie apart "
        "here can be told apart by a linear rule. Point at one to read it.</p>",
        legend(groups, found.labels),
        *(f'<div class="grid">{"".join(row)}</div>' for row in rows),
    )


def _coupling(found: Findings) -> str:
    rows = []
    for level, ratio in zip(LEVELS, RATIOS, strict=True):
        own = [one.coupling[level] for one in found.spaces]
        rows.append([level, ratio, *(_number(cosine.mean) for cosine in own), _pairs(own)])
    return table(["overlap", "ratio α", *names(found), "pairs"], rows, numeric=2)


def _geometry(found: Findings) -> str:
    own = [one.geometry for one in found.spaces]
    norms = ["l2-norm of entities", *(_number(one.norm) for one in own), ""]
    rows = [
        ("cosine of entities of one label", [one.within for one in own]),
        ("cosine of entities of different labels", [one.between for one in own]),
        ("cosine of entities and spans that are none", [one.against for one in own]),
    ]
    return table(["", *names(found), "pairs"], [norms, *_cosines(rows)])


def _templates(found: Findings) -> str:
    """What the heads compare vectors with, where they have a vector a label."""
    own = [one.geometry.templates for one in found.spaces]
    without = [text(subject.name) for subject, one in zip(found.subjects, own, strict=True) if one is None]
    note = (
        f'<p class="note">No templates in {" and ".join(without)}: the head has no weight matrix with a row for each '
        "label.</p>"
        if without
        else ""
    )
    if not any(own):
        return note
    none = Cosine(None, 0)
    norms = ["l2-norm of templates", *(_number(one.norm if one else None) for one in own), ""]
    rows = [("absolute cosine of templates", [one.cosine if one else none for one in own])]
    if any(one and one.null.pairs for one in own):
        rows.append(("absolute cosine of templates and null's", [one.null if one else none for one in own]))
    return (
        "<h3>Templates</h3><p>The head's weight vectors, one for each label, which it compares span vectors with.</p>"
        + table(["", *names(found), "pairs"], [norms, *_cosines(rows)])
        + note
    )


def _cosines(rows: Iterable[tuple[str, Sequence[Cosine]]]) -> list[list[str]]:
    return [[title, *(_number(cosine.mean) for cosine in own), _pairs(own)] for title, own in rows]


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _pairs(own: Sequence[Cosine]) -> str:
    """How many pairs the models' means are over, once if they are the same."""
    counts = dict.fromkeys(f"{cosine.pairs:,}" for cosine in own if cosine.pairs)
    return " / ".join(counts) or "0"
