"""Elements: the small pieces of HTML that the page is made of. Every text that enters is escaped here."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from itertools import pairwise

from nearspan.document import Span
from nearspan.report.figures import colour, sign

CONTEXT = 48  # characters shown on each side of a span


def text(value: object) -> str:
    """Any value as HTML text, also where it holds what is no character.

    >>> text('<b> & "q"')
    '&lt;b&gt; &amp; &quot;q&quot;'
    """
    return html.escape(str(value).encode("utf-8", "replace").decode("utf-8"))


def percent(value: float) -> str:
    """A fraction as a percentage with two digits.

    >>> percent(0.8765)
    '87.65'
    """
    return f"{100 * value:.2f}"


def bar(value: float, tone: str) -> str:
    """A bar of a share of the width, in a CSS colour."""
    width = 100 * min(1.0, max(0.0, value))
    return f'<span class="bar"><i style="width:{width:.1f}%;background:{tone}"></i></span>'


def measured(value: float, tone: str) -> str:
    """A score with its bar."""
    return f'<span class="measured">{bar(value, tone)}<b>{percent(value)}</b></span>'


def chip(label: str, labels: Sequence[str]) -> str:
    """A label in its colour and shape; the empty label is a span that is no entity."""
    if not label:
        return '<span class="chip none">no entity</span>'
    index = labels.index(label) if label in labels else len(labels)
    return f'<span class="chip"><i style="color:{colour(index)}">{sign(index)}</i>{text(label)}</span>'


def highlighted(whole: str, marks: Iterable[tuple[Span, str]], around: int = CONTEXT) -> str:
    """A part of a text with spans in it marked by CSS class; they may overlap and have gaps.

    >>> highlighted("pain in arms and legs", [(Span(((0, 7), (17, 21))), "gold")])
    '<span dir="auto" class="context"><mark class="gold">pain in</mark> arms and <mark class="gold">legs</mark></span>'
    """
    marks = list(marks)
    begin = _word_start(whole, min(span.start for span, _ in marks), around)
    last = max(span.end for span, _ in marks)
    stop = len(whole) - _word_start(whole[::-1], len(whole) - last, around)
    edges = {edge for span, _ in marks for fragment in span.fragments for edge in fragment}
    cuts = sorted(edges | {begin, stop})
    pieces = []
    for start, end in pairwise(cuts):
        here = Span.of(start, end)
        names = " ".join(dict.fromkeys(name for span, name in marks if span.covers(here)))
        piece = text(whole[start:end])
        pieces.append(f'<mark class="{names}">{piece}</mark>' if names else piece)
    left, right = "…" if begin else "", "…" if stop < len(whole) else ""
    return f'<span dir="auto" class="context">{left}{"".join(pieces)}{right}</span>'


def _word_start(whole: str, start: int, around: int) -> int:
    """Where to begin so that at most `around` characters come before `start`, no word cut if that can be.

    >>> _word_start("one two three", 8, 5), _word_start("onetwothree", 8, 5), _word_start("one two", 4, 5)
    (4, 3, 0)
    """
    begin = max(0, start - around)
    if begin == 0 or whole[begin - 1].isspace():
        return begin
    blank = next((i for i in range(begin, start) if whole[i].isspace()), begin - 1)
    return blank + 1


def table(head: Sequence[str], rows: Iterable[Sequence[str]], numeric: int = 1) -> str:
    """A table of HTML cells; columns from `numeric` on are numbers. It scrolls by itself on a narrow screen."""

    def cells(row: Sequence[str], tag: str) -> str:
        return "".join(
            f"<{tag}{' class=number' if position >= numeric else ''}>{cell}</{tag}>"
            for position, cell in enumerate(row)
        )

    body = "".join(f"<tr>{cells(row, 'td')}</tr>" for row in rows)
    return f'<div class="scroll"><table><thead><tr>{cells(head, "th")}</tr></thead><tbody>{body}</tbody></table></div>'


def figure(caption: str, picture: str) -> str:
    """A picture with a line of HTML above it."""
    return f"<figure><figcaption>{caption}</figcaption>{picture}</figure>"


def legend(groups: Sequence[int], labels: Sequence[str]) -> str:
    """The labels that a picture shows, by their numbers."""
    return f'<p class="legend">{" ".join(chip(labels[group], labels) for group in sorted(set(groups)))}</p>'


def section(name: str, title: str, *content: str) -> str:
    """A section with an anchor."""
    return f'<section id="{name}"><h2>{title}</h2>{"".join(content)}</section>'
