"""Sections of the page on generators and bottlenecks: what is told of entities, and how the latents lie."""

from __future__ import annotations

from nearspan.report.elements import figure, legend, measured, section, table, text
from nearspan.report.figures import colour, scatter
from nearspan.report.findings import Findings
from nearspan.report.posteriors import COMPRESSED, INPUT, TOLD
from nearspan.report.projection import FEWEST

EXAMPLES = 20
TITLES = {
    INPUT: "the representation's vectors",
    TOLD: "z<sub>1</sub>, what words are told from",
    COMPRESSED: "z<sub>3</sub>, what the head reads",
}


def generation(found: Findings) -> str:
    """BLEU-2 of reconstructions, and some beside their originals (tables 7 and 8 of Nguyen et al., 2023)."""
    telling = [
        (i, subject.name, told)
        for i, (subject, told) in enumerate(zip(found.subjects, found.generations, strict=True))
        if told is not None
    ]
    if not telling:
        return ""
    scores = [
        [text(name), measured(told.bleu2, colour(i)), measured(told.ceiling, colour(i)), f"{len(told.told):,}"]
        for i, name, told in telling
    ]
    head, columns = ["original"], []
    for _, name, told in telling:
        own = {one.gold.key: one for one in told.told}
        head.append(f"{text(name)}: reconstruction")
        columns.append({key: one.reconstruction for key, one in own.items()})
        if any(one.synonym is not None for one in told.told):
            head.append(f"{text(name)}: synonym")
            columns.append({key: one.synonym or "" for key, one in own.items()})
    first = telling[0][2].told
    shown = {one.original: one for one in first if all(one.gold.key in column for column in columns)}
    step = max(1, len(shown) // EXAMPLES)
    rows = [
        [text(original), *(text(column[one.gold.key]) for column in columns)]
        for original, one in list(shown.items())[::step][:EXAMPLES]
    ]
    return section(
        "generation",
        "Generation",
        "<p>What the generators tell of gold entities, word by word the likeliest: BLEU-2 of the reconstructions, and "
        "what it would be if every word that the generators know were right (table 7 of Nguyen et al., 2023). Nothing "
        "of this runs when the model is used.</p>",
        table(["model", "BLEU-2", "highest possible", "entities"], scores),
        "<h3>Original, reconstruction and synonym</h3>" if rows else "",
        table(head, rows, numeric=len(head)) if rows else "",
    )


def posteriors(found: Findings) -> str:
    """The latents of gold spans by t-SNE."""
    if len(found.spans) < FEWEST or all(len(own.posteriors) == 1 for own in found.spaces):
        return ""
    groups = [found.labels.index(span.entity.label) for span in found.spans]
    titles = [f"{span.entity.label}: {span.span.text(span.sentence.text)}" for span in found.spans]
    rows = []
    for number, (subject, own) in enumerate(zip(found.subjects, found.spaces, strict=True)):
        pictures = [
            figure(f"{text(subject.name)}, {TITLES[key]}", scatter(points, groups, titles, f"posteriors{number}{key}"))
            for key, points in own.posteriors.items()
        ]
        rows.append(f'<div class="grid">{"".join(pictures)}</div>')
    return section(
        "posteriors",
        "Posteriors",
        f"<p>The vectors of {len(found.spans):,} gold spans on their way, each by t-SNE (figure 2 of Nguyen et al., "
        "2023): as the representation makes them, and the means of the distributions that are made of these. Labels "
        "that lie apart only in the last picture are parted by the bottleneck.</p>",
        legend(groups, found.labels),
        *rows,
    )
