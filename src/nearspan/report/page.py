"""The page: all sections in one HTML file that loads nothing."""

from __future__ import annotations

import re
from collections.abc import Sequence

from nearspan.report import confidence, curves, evidence, generation_section, likeness, sections
from nearspan.report.elements import percent, text
from nearspan.report.findings import Findings
from nearspan.report.frame import frame


def page(found: Findings) -> str:
    """The report as HTML."""
    names = [subject.name for subject in found.subjects]
    body = [
        sections.scores(found),
        sections.model(found),
        sections.coverage(found),
        sections.slices(found),
        evidence.errors(found),
        evidence.retrieval(found),
        likeness.vectors(found),
        likeness.space(found),
        generation_section.posteriors(found),
        generation_section.generation(found),
        confidence.losses(names, [subject.losses for subject in found.subjects]),
        confidence.outputs(names, found.outputs, found.labels),
        curves.sizes(found),
        curves.occurrences(found),
    ]
    subject = found.subjects[0]
    against = f" against {text(found.subjects[1].name)}" if len(found.subjects) > 1 else ""
    scored = percent(subject.evaluation.scores.f1)
    said = f"F1 <b>{scored}</b> on {text(subject.evaluation.coverage)}. Corpus <code>{found.fingerprint}</code>."
    return framed(f"{text(subject.name)}{against}", said, body)


def framed(title: str, said: str, body: Sequence[str]) -> str:
    """Sections as a page, under a title and a line that says the most."""
    links = "".join(
        f'<a href="#{name}">{heading}</a>'
        for part in body
        for name, heading in re.findall(r'^<section id="(\w+)"><h2>(.*?)</h2>', part)
    )
    more = " The numbers of this page are in <code>report.json</code> beside it."
    return frame("report", title, f"<p>{said}</p>\n<nav>{links}</nav>", "".join(body), subject=title, more=more)
