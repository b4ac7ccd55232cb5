"""The page: all sections in one HTML file that loads nothing."""

from __future__ import annotations

import re
from pathlib import Path

from nearspan.analysis import evidence, likeness, sections, telling
from nearspan.analysis.elements import percent, text
from nearspan.analysis.findings import Findings

STYLE = Path(__file__).with_name("page.css")
POLICY = "default-src 'none'; style-src 'unsafe-inline'"  # a browser refuses to load anything, whatever a text says


def page(found: Findings) -> str:
    """The report as HTML."""
    body = [
        sections.scores(found),
        sections.model(found),
        sections.coverage(found),
        sections.slices(found),
        evidence.errors(found),
        evidence.retrieval(found),
        likeness.vectors(found),
        likeness.space(found),
        telling.posteriors(found),
        telling.generation(found),
        sections.curve(found),
    ]
    links = "".join(
        f'<a href="#{name}">{title}</a>'
        for part in body
        for name, title in re.findall(r'^<section id="(\w+)"><h2>(.*?)</h2>', part)
    )
    subject = found.subjects[0]
    against = f" against {text(found.subjects[1].name)}" if len(found.subjects) > 1 else ""
    title = f"{text(subject.name)}{against}"
    seen = subject.evaluation.coverage
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<title>nearspan report: {title}</title>
<style>
{STYLE.read_text(encoding="utf-8")}</style>
</head>
<body>
<header>
<p class="brand">nearspan report</p>
<h1>{title}</h1>
<p>F1 <b>{percent(subject.evaluation.scores.f1)}</b> on {text(seen)}. Corpus <code>{found.fingerprint}</code>.</p>
<nav>{links}</nav>
</header>
<main>
{"".join(body)}
</main>
<footer>Made by nearspan. The numbers of this page are in <code>report.json</code> beside it.</footer>
</body>
</html>
"""
