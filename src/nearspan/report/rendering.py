"""Pages from the templates: HTML files that load nothing, in which every text is escaped."""

import base64
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from nearspan.colours import SIGNS, LabelColours, stylesheet
from nearspan.document import Span
from nearspan.evaluation import Counts
from nearspan.explain import Evidence
from nearspan.explain.render import describe_removal

CONTEXT = 48  # characters shown on each side of a span
TEMPLATES = Path(__file__).with_name("templates")
STRENGTHS = {
    "exact": "Exact: the label's probability is the sum of these training spans' shares.",
    "attended": "Attended: training occurrences of the words, with their weights in what each word recalled; that is a "
    "part of the words' states, from which the head decided.",
    "nearest": "Nearest: look-alikes by cosine, not the mechanism that decided.",
}


def render_page(template: str, labels: Iterable[str], **content: Any) -> str:
    """A page from a template; `labels` give the colours."""
    html = _environment().get_template(template).render(colours=LabelColours(labels), **content)
    return html.encode("utf-8", "replace").decode("utf-8")  # texts may hold what is no character


def explain_page(text: str, evidence: Sequence[Evidence], labels: Sequence[str]) -> str:
    """The evidence for spans of a text as a page of its own."""
    marks = [(explained.span, "predicted") for explained in evidence]
    return render_page("explain.html.j2", labels, text=text, marks=marks, evidence=evidence)


def percent(value: float, digits: int = 2) -> str:
    """A fraction as a percentage.

    >>> percent(0.8765), percent(0.5, 0)
    ('87.65', '50')
    """
    return f"{100 * value:.{digits}f}"


def weight(value: float, strength: str) -> str:
    """A training span's share as a percentage, or its likeness as a number.

    >>> weight(0.25, "exact"), weight(0.25, "nearest")
    ('25.0%', '0.250')
    """
    return f"{100 * value:.1f}%" if strength == "exact" else f"{value:.3f}"


def side_by_side(slices: Sequence[Mapping[str, Counts]]) -> list[tuple[str, list[Counts], int]]:
    """Counts of several models by something, with the most gold entities that any of them has.

    >>> side_by_side([{"PER": Counts(1, 2, 3)}, {}])
    [('PER', [Counts(correct=1, predicted=2, gold=3), Counts(correct=0, predicted=0, gold=0)], 3)]
    """
    keys = dict.fromkeys(key for counts in slices for key in counts)
    rows = ((key, [counts.get(key, Counts()) for counts in slices]) for key in keys)
    return [(key, row, max(counts.gold for counts in row)) for key, row in rows]


def excerpt(text: str, marks: Iterable[tuple[Span, str]], around: int = CONTEXT) -> list[tuple[str, str]]:
    """A part of a text in pieces, each with the names of the marks on it; spans may overlap and have gaps.

    >>> excerpt("pain in arms and legs", [(Span(((0, 7), (17, 21))), "gold")])
    [('pain in', 'gold'), (' arms and ', ''), ('legs', 'gold')]
    """
    marks = list(marks)
    begin = _word_start(text, min(span.start for span, _ in marks), around)
    last = max(span.end for span, _ in marks)
    stop = len(text) - _word_start(text[::-1], len(text) - last, around)
    edges = {edge for span, _ in marks for fragment in span.fragments for edge in fragment}
    pieces = [("…", "")] if begin else []
    for start, end in pairwise(sorted(edges | {begin, stop})):
        piece = Span.of(start, end)
        names = " ".join(dict.fromkeys(name for span, name in marks if span.covers(piece)))
        pieces.append((text[start:end], names))
    return pieces + ([("…", "")] if stop < len(text) else [])


def _word_start(text: str, start: int, around: int) -> int:
    """Where to begin so that at most `around` characters come before `start`, no word cut if that can be.

    >>> _word_start("one two three", 8, 5), _word_start("onetwothree", 8, 5), _word_start("one two", 4, 5)
    (4, 3, 0)
    """
    begin = max(0, start - around)
    if begin == 0 or text[begin - 1].isspace():
        return begin
    blank = next((i for i in range(begin, start) if text[i].isspace()), begin - 1)
    return blank + 1


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("nearspan.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    script = (TEMPLATES / "page.js").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    environment.globals |= {
        # a browser loads nothing and runs no script but ours, whatever a text says
        "policy": f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'",
        "style": Markup(stylesheet() + (TEMPLATES / "page.css").read_text(encoding="utf-8")),
        "script": Markup(script),
        "describe_removal": describe_removal,
        "excerpt": excerpt,
        "side_by_side": side_by_side,
        "signs": SIGNS,
        "strengths": STRENGTHS,
    }
    environment.filters |= {"percent": percent, "weight": weight, "number": "{:,}".format}
    return environment
